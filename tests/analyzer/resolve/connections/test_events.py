"""Events of connections as a whole: each connection, the facts that its messages tell, and look-ups of names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.analyzer.resolve.by_hand import MS, SECOND, connections, context, events, no_messages, only, rows_of, spilled

from kafkascope_analyzer.dataset.tables import DNS
from kafkascope_analyzer.resolve.connections.events import ConnectionEvents, lookup_events
from kafkascope_analyzer.resolve.connections.near_closes import near_closes

SERVER = {"server_ip": "10.0.0.1", "server_port": 9092}
CLOSED = {"first_ns": SECOND, "close_kind": "fin_server", "close_ns": 5 * SECOND, "idle_before_close_ms": 700}
REFUSED = {"first_ns": 2 * SECOND, "close_kind": "refused", "close_ns": 6 * SECOND}
OPEN = {"first_ns": 3 * SECOND, "close_kind": "open", "client_ip": None}


def test_each_connection_is_an_event_with_the_ends_of_others_nearby(tmp_path: Path) -> None:
    """One connection is closed by the server, the next one is refused a second later, the third stays open."""
    rows = connections(*(SERVER | row for row in (CLOSED, REFUSED, OPEN)))
    source = ConnectionEvents(context(rows, tmp_path, near_closes=near_closes([rows])))
    found = events(source.finish(rows, no_messages))
    names = ("key", "conn_id", "at_ns", "close_kind", "near_idle_ms", "refused_after")
    assert only(found, *names) == [
        ("10.0.0.9", "c0", SECOND, "fin_server", 700, 1),
        ("10.0.0.9", "c1", 2 * SECOND, "refused", None, 1),
        ("", "c2", 3 * SECOND, "open", None, None),
    ]


def test_what_messages_tell_is_an_event_of_the_connections_that_carried_them(tmp_path: Path) -> None:
    def read_messages(name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        if name == "Metadata/response":
            brokers: list[dict[str, Any]] = [{"host": "b", "port": 9092}, {"host": "a", "port": 2**31 - 1}]
            yield pa.RecordBatch.from_pydict({"conn_id": ["c1", "c1"], "brokers": [brokers, brokers[:1]]})

    produced = pa.table({"conn": [0, 0, 0, 1], "producer_id": [2**63 - 1, 7, 7, None]})
    spill = spilled(tmp_path / "0", partitions__0__request=produced)
    rows = connections(*({"first_ns": n * MS} for n in range(3)))
    source = ConnectionEvents(context(rows, spill, near_closes=near_closes([])))
    learned = events(list(source.finish(rows, read_messages))[1:])
    assert sorted(only(learned, "conn_id", "at_ns", "servers", "producer_ids", "session_timeout_ms")) == [
        ("c0", 0, [], [7, 2**63 - 1], None),
        ("c1", MS, ["a:2147483647", "b:9092"], [], None),
    ]


def test_a_bucket_of_silent_connections_has_no_facts_from_messages(tmp_path: Path) -> None:
    source = ConnectionEvents(context(connections({}), tmp_path, near_closes=near_closes([])))
    assert [table.column_names[-1] for table in source.finish(connections({}), no_messages)] == ["connection"]


def test_a_look_up_has_no_connection() -> None:
    names = {"client_ip": "10.0.0.9", "ts_ns": 5, "packet_no": 3, "name": "kafka", "addresses": ["10.0.0.1"]}
    (found,) = events([lookup_events(rows_of(DNS.schema, [names]))])
    expected = ("10.0.0.9", "", 5, 3, "kafka", ["10.0.0.1"], None)
    assert only([found], "key", "conn_id", "at_ns", "packet_no", "name", "addresses", "answer_ns") == [expected]
    assert lookup_events(DNS.schema.empty_table()).num_rows == 0
