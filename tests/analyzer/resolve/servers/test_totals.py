"""The sums over all buckets: by hand, and pauses against plain Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analyzer.resolve.by_hand import SECOND, hosts_of, spilled_connections

from kafkascope_analyzer.resolve.servers.cells import Cells
from kafkascope_analyzer.resolve.servers.run_union import NO_RUNS, Runs
from kafkascope_analyzer.resolve.servers.spilled_runs import NEVER_NS
from kafkascope_analyzer.resolve.servers.totals import Activity, Contacts, capture_of, cells_of, held_up

Row = tuple[int, ...]
NAMES = ("served", "listeners", "sent.0", "sent.1", "of_hosts", "contacts", "answered", "first_payload")


def runs(*rows: Row) -> Runs:
    """Subject, then the seconds of the first and the last packet, whose numbers are those seconds."""
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return Runs(columns[0], columns[1] * SECOND, columns[1], columns[2] * SECOND, columns[2])


def plain(found: Runs) -> list[Row]:
    """Subject, first and last second, first and last packet."""
    columns = (found.subject, found.first_ns // SECOND, found.last_ns // SECOND, found.first_packet, found.last_packet)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def bucket(**more: Runs) -> dict[str, Any]:
    named = {name.replace("__", "."): list(each) for name, each in more.items()}
    return {name: list(NO_RUNS) for name in NAMES} | named


def activity(folder: Path, *found: dict[str, Any]) -> Activity:
    """Of buckets of two connections each, from second 1 to 9."""
    return Activity(hosts_of(folder, *((spilled_connections({}, {}), {}) for _ in found)), found)


def test_runs_of_all_buckets_are_joined(tmp_path: Path) -> None:
    first = bucket(served=runs((0, 1, 3), (1, 2, 2)), sent__1=runs((0, 1, 1)))
    second = bucket(served=runs((0, 3, 5), (0, 7, 8)), sent__1=runs((4, 1, 1)), of_hosts=runs((2, 5, 6)))
    found = activity(tmp_path, first, second)
    assert plain(found.served) == [(0, 1, 5, 1, 5), (0, 7, 8, 7, 8), (1, 2, 2, 2, 2)]
    assert [plain(each) for each in found.sent] == [[], [(0, 1, 1, 1, 1), (4, 1, 1, 1, 1)]]
    assert (plain(found.of_hosts), plain(found.listeners)) == ([(2, 5, 6, 5, 6)], [])
    assert found.capture_ns == (SECOND, 9 * SECOND)


def test_contacts_are_from_the_first_packet_to_the_last_whatever_lies_between(tmp_path: Path) -> None:
    first = bucket(contacts=runs((0, 7, 8)), answered=runs())
    second = bucket(contacts=runs((0, 2, 3)), answered=runs((0, 3, 3)))
    contacts = activity(tmp_path, first, second).contacts
    ends = [contacts.first_ns, contacts.first_packet, contacts.last_ns, contacts.last_packet]
    assert [each.tolist() for each in ends] == [[2 * SECOND], [2], [8 * SECOND], [8]]
    assert contacts.served.tolist() == [True]


def test_a_pair_without_packets_of_the_server_was_never_in_contact() -> None:
    contacts = Contacts(2, runs((1, 2, 3)), NO_RUNS)
    assert contacts.first_ns.tolist() == [NEVER_NS, 2 * SECOND]
    assert contacts.last_ns.tolist() == [-1, 3 * SECOND]
    assert contacts.served.tolist() == [False, False]


def test_the_first_payload_is_that_of_the_connection_of_its_bucket(tmp_path: Path) -> None:
    found = activity(tmp_path, bucket(first_payload=runs((1, 5, 6))), bucket(first_payload=runs((0, 4, 6))))
    assert found.first_payload_ns.tolist() == [NEVER_NS, 5 * SECOND, 4 * SECOND, NEVER_NS]


def test_pauses_reach_from_the_beginning_to_the_end_of_the_capture(tmp_path: Path) -> None:
    found = activity(tmp_path, bucket())
    assert plain(found.gaps(runs((3, 2, 4), (3, 6, 7), (5, 1, 9)))) == [
        (3, 1, 2, 0, 2),
        (3, 4, 6, 4, 6),
        (3, 7, 9, 7, 0),
        (5, 1, 1, 0, 1),
        (5, 9, 9, 9, 0),
    ]
    assert plain(found.gaps(NO_RUNS)) == []


@pytest.mark.parametrize("seed", range(4))
def test_pauses_by_chance(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for subject in range(int(rng.integers(1, 6))):
        times = np.sort(rng.choice(np.arange(1, 10), 2 * int(rng.integers(1, 5)), replace=False)).reshape(-1, 2)
        rows += [(subject, *pair) for pair in times.tolist()]
    expected = []
    for subject in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == subject]
        begins, ends = [1, *(row[2] for row in mine)], [*(row[1] for row in mine), 9]
        packets = [[0, *begins[1:]], [*ends[:-1], 0]]
        expected += list(zip([subject] * len(begins), begins, ends, *packets, strict=True))
    assert plain(activity(tmp_path, bucket()).gaps(runs(*rows))) == sorted(expected)


def cells(*rows: Row) -> Any:
    """Counted samples of subject, slice and code."""
    counted = Cells()
    counted.count(*np.array(rows, np.int64).reshape(-1, 3).T)
    return counted.found()


def counts(found: Cells) -> dict[Row, int]:
    total: dict[Row, int] = {}
    for each in found.each():
        for *cell, n in zip(*(column.tolist() for column in each), strict=True):
            total[tuple(cell)] = total.get(tuple(cell), 0) + n
    return total


def test_samples_of_all_buckets_are_counted_by_their_new_numbers() -> None:
    found = [{"clients": {"cells": cells((0, 5, 7), (1, 5, 7))}}, {"clients": {"cells": cells((0, 5, 7), (0, 6, 7))}}]
    assert counts(cells_of("clients", found)) == {(0, 5, 7): 2, (1, 5, 7): 1, (0, 6, 7): 1}
    assert counts(cells_of("clients", found, np.array([4, 4]))) == {(4, 5, 7): 3, (4, 6, 7): 1}
    assert counts(cells_of("clients", [])) == {}


def test_a_client_is_held_up_from_the_slice_of_its_start_to_that_of_its_end() -> None:
    """Client 0 is held up twice at a time, by requests of two buckets; client 2 until the last slice."""
    first = {"starts": cells((0, 1, 0), (2, 4, 0)), "ends": cells((0, 2, 0), (2, 5, 0))}
    second = {"starts": cells((0, 2, 0)), "ends": cells((0, 3, 0))}
    found = held_up([{"held_up": first}, {"held_up": second}], (3, 6))
    marks = ["".join("x" if each else "." for each in row) for row in found.tolist()]
    assert marks == [".xxx..", "......", "....xx"]
    assert not held_up([], (1, 2)).any()


def test_each_request_holds_up_until_its_own_end() -> None:
    """Two begin in one slice, and end in two."""
    found = {"starts": cells((0, 1, 0), (0, 1, 0)), "ends": cells((0, 1, 0), (0, 3, 0))}
    assert held_up([{"held_up": found}], (1, 5)).tolist() == [[False, True, True, True, False]]


def test_a_capture_is_from_the_first_packet_to_the_last_of_any_connection(tmp_path: Path) -> None:
    rows = spilled_connections({"first_ns": 5, "last_ns": 6}, {"first_ns": 3, "last_ns": 4})
    assert capture_of(hosts_of(tmp_path, (rows, {}))) == (3, 6)


def test_a_capture_without_connections_has_no_length(tmp_path: Path) -> None:
    assert capture_of(hosts_of(tmp_path, (spilled_connections(), {}))) == (0, 0)
