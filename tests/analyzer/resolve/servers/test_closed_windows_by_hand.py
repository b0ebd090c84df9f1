"""Times in which a side did not read: events of TCP made by hand, in seconds."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import SECOND, hosts_of, only, runs_of, spilled_connections

from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_analyzer.resolve.servers.closed_windows import closed_windows
from kafkascope_analyzer.scan.liveness_spans import RUNS
from kafkascope_parsers.framing.layout import HTTP
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD
from kafkascope_parsers.tcp.state import E_KEEPALIVE, E_WINDOW_OPEN, E_ZERO_WINDOW

ZERO, OPEN = E_ZERO_WINDOW, E_WINDOW_OPEN
CLIENT, SERVER = 0, 1
"""Sides of the connections."""
Event = tuple[int, int, int, float]
"""Connection, side, kind, second; the number of the packet is the millisecond."""


def found(
    folder: Path, *events: Event, runs: pa.Table | None = None, uncovered: Uncovered = NOTHING_UNCOVERED
) -> list[tuple[Any, ...]]:
    """conn, side, then sent, first, shown and last in seconds. Connection 2 speaks HTTP; all end after 9 seconds."""
    conn, side, kind, at = (np.array(each) for each in (zip(*events, strict=True) if events else [()] * 4))
    table = pa.table(
        {
            "conn": conn.astype(np.int64),
            "ts_ns": (at * SECOND).astype(np.int64),
            "packet_no": (at * 1_000).astype(np.int64),
            "side": side.astype(np.int8),
            "kind": kind.astype(np.uint8),
        }
    )
    rows = spilled_connections({}, {}, {"protocol": HTTP, "server_port": 80})
    tables = {"tcp_events": table, RUNS.replace(".", "__"): runs_of() if runs is None else runs}
    other = spilled_connections({"conn_id": "f" * 16, "last_ns": 2 * SECOND})
    hosts = hosts_of(folder, (other, {}), (rows, tables))
    out = []
    for row in closed_windows(hosts, uncovered).to_pylist():
        assert row["first_packet"] == row["first_ns"] // 1_000_000
        assert row["last_packet"] == (None if row["last_ns"] is None else row["last_ns"] // 1_000_000)
        times = (row[f"{name}_ns"] for name in ("sent", "first", "shown", "last"))
        (numbers,) = only([row], "conn_id", "side")
        out.append((int(numbers[0], 16), numbers[1], *(None if at is None else at / SECOND for at in times)))
    return out


@pytest.mark.parametrize(
    ("opened", "expected"), [(3.0, [(0, "client", None, 2.0, 2.0, 3.0)]), (2.999, [])], ids=["a second", "less"]
)
def test_a_window_that_stays_closed_for_a_second_means_something(
    tmp_path: Path, opened: float, expected: list[tuple[Any, ...]]
) -> None:
    assert found(tmp_path, (0, CLIENT, ZERO, 2.0), (0, CLIENT, OPEN, opened)) == expected


def test_each_side_has_its_own_window(tmp_path: Path) -> None:
    events = [(0, CLIENT, ZERO, 2), (0, SERVER, OPEN, 3), (1, CLIENT, OPEN, 4), (0, SERVER, ZERO, 5)]
    events += [(0, CLIENT, E_KEEPALIVE, 6), (0, SERVER, OPEN, 7), (0, CLIENT, OPEN, 8)]
    assert sorted(found(tmp_path, *events)) == [
        (0, "client", None, 2, 2, 8),
        (0, "server", None, 5, 5, 7),
    ]


@pytest.mark.parametrize(("closed", "n"), [(8.0, 1), (8.001, 0)])
def test_a_window_that_nothing_opens_is_closed_until_the_end_of_the_connection(
    tmp_path: Path, closed: float, n: int
) -> None:
    assert found(tmp_path, (0, SERVER, ZERO, closed)) == [(0, "server", None, closed, closed, None)] * n


def test_another_sides_window_that_opens_is_not_this_ones(tmp_path: Path) -> None:
    events = [(0, SERVER, ZERO, 5), (0, CLIENT, OPEN, 7), (1, SERVER, OPEN, 8)]
    assert found(tmp_path, *events) == [(0, "server", None, 5, 5, None)]


def test_a_window_may_close_again(tmp_path: Path) -> None:
    events = [(0, CLIENT, ZERO, 2), (0, CLIENT, OPEN, 4), (0, CLIENT, ZERO, 4.5), (0, CLIENT, OPEN, 5)]
    events += [(0, CLIENT, ZERO, 6)]
    assert [row[3:] for row in found(tmp_path, *events)] == [(2, 2, 4), (6, 6, None)]


def test_what_the_side_sent_before_and_showed_meanwhile(tmp_path: Path) -> None:
    """Payload until second 1.5 comes before; segments until second 4 show the closed window."""
    runs = [(0, CLIENT, PAYLOAD, 1, 1.5), (0, SERVER, PAYLOAD, 1, 1.9), (1, CLIENT, PAYLOAD, 1, 1.8)]
    runs += [(0, CLIENT, PACKETS, 2.1, 4), (0, CLIENT, PAYLOAD, 5.5, 6), (0, CLIENT, PACKETS, 5.5, 6)]
    table = runs_of(*((conn, side, layer, int(a * SECOND), int(b * SECOND)) for conn, side, layer, a, b in runs))
    events = [(0, CLIENT, ZERO, 2), (0, CLIENT, OPEN, 5)]
    assert found(tmp_path, *events, runs=table) == [(0, "client", 1.5, 2, 4, 5)]


def test_of_a_time_that_no_file_covers_nothing_is_known(tmp_path: Path) -> None:
    uncovered = Uncovered(((3 * SECOND, 4 * SECOND),))
    events = [(0, CLIENT, ZERO, 2), (0, CLIENT, OPEN, 5), (1, CLIENT, ZERO, 5), (1, CLIENT, OPEN, 7)]
    assert [row[0] for row in found(tmp_path, *events, uncovered=uncovered)] == [1]


def test_connections_to_others_than_servers_do_not_count(tmp_path: Path) -> None:
    assert found(tmp_path, (2, CLIENT, ZERO, 2), (2, CLIENT, OPEN, 5)) == []


def test_a_window_that_only_opens_was_not_seen_closed(tmp_path: Path) -> None:
    assert found(tmp_path, (0, CLIENT, OPEN, 5)) == []
    assert found(tmp_path) == []
