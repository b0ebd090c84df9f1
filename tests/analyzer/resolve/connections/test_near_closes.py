"""What happened at a server around the end of a connection: expected values are counted by hand."""

from typing import Any

import pyarrow as pa

from kafkascope_analyzer.resolve.connections.near_closes import CLOSE_COLUMNS, near_closes, with_near_closes

MS = 1_000_000
TYPES = dict(zip(CLOSE_COLUMNS, (pa.string(), pa.int32(), pa.string(), pa.int64(), pa.int64()), strict=True))
Row = tuple[int, str, int | None, int | None]


def connections(*rows: Row) -> pa.Table:
    """Port of the server, how the connection ended, when in milliseconds, and how long it had been idle."""
    listed: list[dict[str, Any]] = [
        {
            "server_ip": "10.0.0.1",
            "server_port": port,
            "close_kind": kind,
            "close_ns": None if at is None else at * MS,
            "idle_before_close_ms": idle,
        }
        for port, kind, at, idle in rows
    ]
    return pa.Table.from_pylist(listed, pa.schema(TYPES))


def around(*rows: Row) -> list[tuple[int | None, int | None]]:
    """Of each connection: the shortest idle time near its end, and how many were refused soon after it."""
    table = connections(*rows)
    found = with_near_closes(table, near_closes([table.slice(0, 1), table.slice(1)]))
    return list(zip(found["near_idle_ms"].to_pylist(), found["refused_after"].to_pylist(), strict=True))


def test_the_shortest_idle_time_within_half_a_second() -> None:
    """At 10.0, 10.5 and 11.25 s: the last is three quarters of a second behind the second."""
    ended = [(9092, "fin_server", 10_000, 600_000), (9092, "rst_server", 10_500, 40), (9092, "fin_server", 11_250, 900)]
    assert [idle for idle, _ in around(*ended)] == [40, 40, 900]


def test_a_connection_that_its_client_closed_counts_for_none_and_sees_the_others() -> None:
    ended = [(9092, "fin_client", 10_000, 5), (9092, "fin_server", 10_250, 700), (9092, "fin_client", 60_000, 5)]
    assert [idle for idle, _ in around(*ended)] == [700, 700, None]


def test_refused_connections_count_for_the_five_seconds_before_them() -> None:
    """What is refused counts for itself too; nothing counts for what came after."""
    ended: list[Row] = [
        (9092, "fin_server", 10_000, 1),
        (9092, "refused", 15_000, None),
        (9092, "refused", 15_500, None),
    ]
    ended += [(9092, "fin_server", 20_000, 1)]
    assert [refused for _, refused in around(*ended)] == [1, 2, 1, 0]


def test_another_port_is_another_server() -> None:
    ended = [(9092, "fin_server", 10_000, 600_000), (9093, "fin_server", 10_000, 40), (9093, "refused", 11_000, None)]
    assert around(*ended) == [(600_000, 0), (40, 1), (None, 1)]


def test_a_connection_without_an_end_has_neither() -> None:
    assert around((9092, "open", None, None), (9092, "fin_server", 10_000, 3)) == [(None, None), (3, 0)]


def test_no_connection_at_all() -> None:
    assert near_closes([]).num_rows == 0
