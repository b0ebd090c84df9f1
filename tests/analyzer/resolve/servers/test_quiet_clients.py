"""When clients that are seldom quiet were quiet, from waits written by hand. Times are seconds."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.resolve.servers.quiet_clients import MOST_QUIET, quiet_times
from kafkascope_analyzer.resolve.servers.run_union import Runs

S = 1_000_000_000
END = 100


def quiet(
    connections: list[tuple[int, float, float]], waits: list[tuple[int, float, float]]
) -> list[tuple[int, float, float]]:
    """Client, begin and end of each time. connections: client, first and last packet; waits: connection, when the
    server had responded, when the client sent something again."""
    columns = np.array(connections, np.float64).T
    first_ns, last_ns = ((column * S).astype(np.int64) for column in columns[1:])
    hosts: Any = SimpleNamespace(connections=pa.table({"first_ns": first_ns, "last_ns": last_ns}))
    conn, begin, end = np.array(waits, np.float64).reshape(-1, 3).T
    zeros = np.zeros(len(conn), np.int64)
    rows = Runs(conn.astype(np.int64), (begin * S).astype(np.int64), zeros, (end * S).astype(np.int64), zeros)
    found = quiet_times(rows, columns[0].astype(np.int64), hosts, END * S)
    return list(zip(found.subject.tolist(), (found.first_ns / S).tolist(), (found.last_ns / S).tolist(), strict=True))


def test_a_client_is_quiet_where_all_its_connections_are() -> None:
    connections = [(0, 0, 99), (0, 1, 99), (1, 0, 99)]
    assert quiet(connections, [(0, 10, 14), (1, 9, 13), (2, 10, 14)]) == [(0, 10, 13), (1, 10, 14)]
    assert quiet(connections, [(0, 10, 14), (1, 20, 24)]) == []
    assert quiet(connections, [(0, 10, 14), (1, 13.5, 18)]) == []


def test_times_that_overlap_one_after_the_other_are_apart() -> None:
    """A connection with a long wait beside one with two short ones."""
    assert quiet([(0, 0, 99), (0, 0, 99)], [(0, 10, 20), (1, 9, 12), (1, 15, 30)]) == [(0, 10, 12), (0, 15, 20)]


def test_a_connection_counts_while_it_is_open() -> None:
    """The second one opens in the middle of the wait of the first."""
    assert quiet([(0, 0, 99), (0, 12, 99)], [(0, 10, 20)]) == [(0, 10, 12)]
    assert quiet([(0, 0, 99), (0, 0, 9)], [(0, 10, 20)]) == [(0, 10, 20)]


def test_a_client_that_is_often_quiet_says_nothing() -> None:
    """More than half of its life is too much, and more than a quarter where some of it is short; connections of no
    client do not count."""
    assert quiet([(0, 0, 99)], [(0, 10, 59)]) == [(0, 10, 59)]
    assert quiet([(0, 0, 99)], [(0, 10, 60)]) == []
    assert len(quiet([(0, 0, 99)], [(0, 10, 30), (0, 40, 41.5)])) == 2
    assert quiet([(0, 0, 99)], [(0, 10, 34), (0, 40, 41.5)]) == []
    assert quiet([(-1, 0, 99)], [(0, 10, 14)]) == []
    assert quiet([(0, 0, 99)], []) == []


def test_the_longest_times_of_a_client_are_kept() -> None:
    """The first is the shortest."""
    waits = [(1, at, at + (1.5 if at > 10 else 1)) for at in range(10, 12 + 3 * MOST_QUIET, 3)]
    found = quiet([(0, 0, 99), (1, 0, 999)], [(0, 10, 11), *waits])
    assert found == [(0, 10, 11), *((1, begin, end) for _, begin, end in waits[1:])]
