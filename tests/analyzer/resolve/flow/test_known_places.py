"""Numbers of topic-partitions."""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.resolve.flow.known_places import UNKNOWN, KnownPlaces

MOST = (1 << 31) - 1


def known(*places: tuple[str, int]) -> KnownPlaces:
    return KnownPlaces(
        pa.array([topic for topic, _ in places], pa.string()), np.array([p for _, p in places], np.int64)
    )


def found(among: KnownPlaces, *places: tuple[str | None, int]) -> list[int]:
    topics = pa.array([topic for topic, _ in places], pa.string()).dictionary_encode()
    result: list[int] = among.find(topics, pa.chunked_array([[p for _, p in places]], pa.int64())).tolist()
    return result


def test_each_place_has_one_number_without_gaps() -> None:
    places = known(("a", 3), ("b", 0), ("a", 3), ("a", MOST))
    assert len(places) == 3
    assert sorted(set(places.of_rows.tolist())) == [0, 1, 2]
    assert places.of_rows[0] == places.of_rows[2]


def test_other_rows_find_the_same_number_or_none() -> None:
    """Topics have other codes there, and some have none."""
    places = known(("a", 3), ("b", 0), ("a", MOST))
    a3, b0, most = places.of_rows.tolist()
    asked = [("c", 3), ("b", 0), ("a", 3), (None, 3), ("a", 0), ("b", 3), ("a", MOST)]
    assert found(places, *asked) == [UNKNOWN, b0, a3, UNKNOWN, UNKNOWN, UNKNOWN, most]


def test_of_no_place_nothing_is_found() -> None:
    places = known()
    assert (len(places), found(places, ("a", 0))) == (0, [UNKNOWN])
