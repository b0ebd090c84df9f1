"""Detectors that raise an error: the others still run, and nothing is said that they might have explained."""

from collections.abc import Iterator

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.stories.incidents.detectors import INCIDENT_DETECTOR, Detectors
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.path import PATH
from kafkascope_spark.stories.stalls.table import Stall

from .conftest import NS, MakeStall


def cut() -> Failure:
    return Failure(PATH, "10.0.0.21 to node 1", 5 * NS, 9 * NS)


def test_what_a_detector_finds_is_returned() -> None:
    detectors = Detectors(FailedParts())
    assert [failure.subject for failure in detectors.found("paths", lambda: [cut()])] == ["10.0.0.21 to node 1"]
    assert detectors.is_complete
    assert detectors.failed_parts.taken() == ()


def test_a_detector_that_raises_an_error_leaves_what_it_found_before_it() -> None:
    def find() -> Iterator[Failure]:
        yield cut()
        raise KeyError("10.0.0.22")

    detectors = Detectors(FailedParts())
    found = detectors.found("paths", find)
    assert [failure.start_ns for failure in found] == [5 * NS]
    assert not detectors.is_complete
    (part,) = detectors.failed_parts.taken()
    assert (part.kind, part.names) == (INCIDENT_DETECTOR, ("paths",))
    assert "10.0.0.22" not in part.sentence


def test_a_row_that_raises_an_error_is_dropped_and_the_others_are_attributed(stall: MakeStall) -> None:
    failure = cut()
    odd, own, other = stall("produce", 20, 1, 5, 8), stall("produce", 21, 1, 5, 8), stall("produce", 22, 1, 5, 8)

    def attribute(rows: list[Stall], known: dict[str, Failure]) -> list[Stall]:
        left = []
        for row in rows:
            if row is odd:
                raise ValueError
            if row is own:
                known["cut"].stalls.append(row)
            else:
                left.append(row)
        return left

    detectors = Detectors(FailedParts())
    left = detectors.left(attribute, [own, odd, other], [failure], lambda failures: {"cut": failures[0]})
    assert left == [other]
    assert failure.stalls == [own]
    assert not detectors.is_complete


def test_rows_are_not_attributed_without_an_index_of_the_failures(stall: MakeStall) -> None:
    def index(_failures: list[Failure]) -> dict[str, Failure]:
        raise IndexError

    detectors = Detectors(FailedParts())
    assert detectors.left(lambda rows, _: rows, [stall("produce", 21, 1, 5, 8)], [cut()], index) == []
    assert not detectors.is_complete


def test_without_rows_no_index_is_made() -> None:
    detectors = Detectors(FailedParts())
    assert detectors.left(lambda rows, _: rows, [], [cut()], lambda _: 1 / 0) == []
    assert detectors.is_complete
