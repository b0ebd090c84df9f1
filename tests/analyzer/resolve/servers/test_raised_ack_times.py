"""Slices of time whose acknowledgments are later than usual, by hand: a process is no path."""

import numpy as np
import pytest

from kafkascope_analyzer.resolve.servers import raised_ack_times as raised

MS = 1_000_000
USUAL = [(1, 44)] * 6
"""Of slices of time: the shortest time until an acknowledgment, and the longest of one without payload; ms."""


class Hosts:
    """One server, and one host that talks to it."""

    hosts, servers = ("10.0.0.21",), (("10.0.0.1", 9092),)
    pair_server = pair_host = np.zeros(1, np.int64)


def late(slices, way=0):
    """Which of the slices, that follow each other, are late."""
    least, most = (np.array(column, np.int64) * MS for column in zip(*slices, strict=True))
    n = len(slices)
    cells = raised._Cells(np.full(n, way), np.arange(n), np.full(n, 8), least, most)
    return raised._is_late(Hosts, cells).tolist()


@pytest.mark.parametrize(
    ("least_ms", "most_ms", "is_late"),
    [
        (150, 195, True),
        (70, 115, True),
        (30, 74, True),
        (44, 44, False),
        (40, 48, False),
        (30, 44, False),
        (1, 195, False),
        (300, 350, False),
    ],
    ids=[
        "a path of 150 ms",
        "a path of 70 ms",
        "a path shorter than the kernel waits, which shows in what it delays",
        "a process so slow that its kernel acknowledges everything",
        "the same, with timers that are late",
        "a process that takes 30 ms",
        "one is soon",
        "single waits show it",
    ],
)
@pytest.mark.parametrize("way", [0, 1], ids=["of the host", "of the server"])
def test_a_kernel_that_waits_for_its_process_is_no_path(least_ms, most_ms, is_late, way):
    assert late([*USUAL, *[(least_ms, most_ms)] * 4], way) == [False] * 6 + [is_late] * 4


def test_how_long_a_kernel_waits_has_to_be_known():
    """Some wait for 200 ms."""
    assert not any(late([*[(1, 0)] * 6, *[(150, 195)] * 4]))
    assert late([*[(1, 0)] * 6, *[(215, 219)] * 4])[6:] == [True] * 4


def test_runs_need_several_slices_and_acknowledgments():
    def runs(is_late, n=8, at=None):
        size = len(is_late)
        where = np.arange(size) if at is None else np.array(at)
        zeros = np.zeros(size, np.int64)
        return raised._runs(raised._Cells(zeros, where, np.full(size, n), zeros, zeros), np.array(is_late)).tolist()

    assert runs([False, True, True, True, False, True, True, True]) == [-1, 0, 0, 0, -1, 1, 1, 1]
    assert runs([True, True, False, True]) == [-1] * 4
    assert runs([True, True, True], n=3) == [-1] * 3
    assert runs([True, True, True], at=[0, 3, 9]) == [0, 0, 0]
    assert runs([True, True, True], at=[0, 3, 10]) == [-1, -1, -1]
