"""Slices of produced and fetched records as events, from spilled counts made by hand."""

from pathlib import Path

import pyarrow as pa
from tests.analyzer.resolve.by_hand import Row, connections, context, events, no_messages, only, rows_of, spilled

from kafkascope_analyzer.dataset.latency_histogram import HISTOGRAM
from kafkascope_analyzer.resolve.flow.counts import FETCH_SLICES, PRODUCE_SLICES
from kafkascope_analyzer.resolve.flow.events import FlowEvents

ROWS = connections({"client_ip": "10.0.0.1", "node_id": 1}, {"client_ip": "10.0.0.2"})
NUMBERS = ("ts_ns", "slice_ms", "first_ns", "last_ns", "n_records", "n_again", "record_bytes")
NUMBERS += ("end_offset", "next_offset", "lag_first", "lag_last", "lag_max")
SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in NUMBERS),
        ("latencies", HISTOGRAM),
    ]
)
TABLES = {"produced": PRODUCE_SLICES, "fetched": f"{FETCH_SLICES}.0", "fetched_elsewhere": f"{FETCH_SLICES}.1"}


def found(folder: Path, **counts: list[Row]) -> list[tuple[str, Row]]:
    """The kind of each event, and the event."""
    tables = {TABLES[name].replace(".", "__"): rows_of(SCHEMA, rows) for name, rows in counts.items()}
    source = FlowEvents(context(ROWS, spilled(folder / "0", **tables)))
    made = [table for table in source.finish(ROWS, no_messages) if table.num_rows]
    return [(table.column_names[-1], row) for table in made for row in events([table])]


def counts(conn: int, at: int, **more: object) -> Row:
    return {"conn": conn, "topic": "t", "partition": 2**31 - 1, "ts_ns": at, "n_records": 4} | more


def test_counts_are_events_of_their_topic_partition_and_connection(tmp_path: Path) -> None:
    latencies = [{"from_us": 8, "n": 4}]
    rows = found(
        tmp_path,
        produced=[counts(1, 5, latencies=latencies, end_offset=2**63 - 1)],
        fetched=[counts(0, 6, lag_max=-1)],
        fetched_elsewhere=[counts(1, 7, n_again=3)],
    )
    assert [kind for kind, _ in rows] == ["produce_slice", "fetch_slice", "fetch_slice"]
    names = ("key", "client_ip", "conn_id", "at_ns", "node_id", "n_records", "end_offset")
    assert only([row for _, row in rows], *names) == [
        ("t-2147483647", "10.0.0.2", "c1", 5, None, 4, 2**63 - 1),
        ("t-2147483647", "10.0.0.1", "c0", 6, 1, 4, None),
        ("t-2147483647", "10.0.0.2", "c1", 7, None, 4, None),
    ]
    assert (rows[0][1]["latencies"], rows[1][1]["lag_max"], rows[2][1]["n_again"]) == (latencies, -1, 3)


def test_counts_of_one_slice_are_one_event(tmp_path: Path) -> None:
    """The records of another slice came in between."""
    rows = found(tmp_path, produced=[counts(0, 5, last_ns=8), counts(0, 9, last_ns=9), counts(0, 5, last_ns=7)])
    assert sorted(only([row for _, row in rows], "at_ns", "n_records", "last_ns")) == [(5, 8, 8), (9, 4, 9)]


def test_a_bucket_without_records_has_no_slices(tmp_path: Path) -> None:
    assert found(tmp_path) == []
