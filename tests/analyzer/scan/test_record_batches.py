"""record_batches of real captures, against the requests and partitions tables, and against Kafka's own record sets in
frames that carry them."""

import gzip
import json
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.tables import CODECS, CONTROLS, RECORD_BATCHES
from kafkascope_analyzer.scan.record_batches import SET_SCHEMA, batch_rows, record_sets
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_parsers.machine import decode_messages
from kafkascope_parsers.records import CODECS as WIRE_CODECS
from kafkascope_parsers.records import CONTROL_TYPES
from kafkascope_parsers.schema import message_type

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.fixture(scope="module")
def txn(ingested):
    return ingested(FIXTURES / "captures" / "txn.pcap.zst", RecordDetail.BATCHES)


@pytest.fixture(scope="module")
def batches(txn):
    return pq.read_table(txn / "record_batches", partitioning=None)


def test_columns_are_the_contracts(batches):
    assert batches.schema.equals(RECORD_BATCHES.schema)
    assert CODECS == WIRE_CODECS
    assert (*CONTROL_TYPES, "other") == CONTROLS


def test_batches_add_up_to_the_partitions(txn, batches):
    partitions = pq.read_table(txn / "partitions").to_pylist()
    per_partition = Counter()
    for row in batches.to_pylist():
        key = row["request_id"], row["direction"], row["topic_id"], row["topic"], row["partition"]
        per_partition[key, "batches"] += 1
        per_partition[key, "records"] += row["n_records"]
        per_partition[key, "bytes"] += row["bytes"]
    want = Counter()
    for row in partitions:
        if row["n_batches"]:
            key = row["request_id"], row["direction"], row["topic_id"], row["topic"], row["partition"]
            want[key, "batches"] += row["n_batches"]
            want[key, "records"] += row["n_records"]
            want[key, "bytes"] += row["record_bytes"]
    assert per_partition == want
    assert len(want) > 1000


def test_real_batches_have_right_checksums_and_times(batches):
    assert set(batches["crc_ok"].to_pylist()) == {True}
    assert set(batches["magic"].to_pylist()) == {2}
    rows = batches.to_pylist()
    assert {row["control"] for row in rows} == {None, "commit", "abort"}
    produced = [row for row in rows if row["direction"] == "request" and row["first_timestamp_ms"] is not None]
    assert produced
    assert all(0 <= row["ts_ns"] // 1_000_000 - row["max_timestamp_ms"] < 60_000 for row in produced)
    assert all(row["transactional"] == (row["producer_id"] is not None) for row in rows if row["control"])


def test_markers_are_those_that_clients_asked_for(txn, batches):
    """Whoever ended a transaction one way, and whose markers are fetched, has a marker of that way."""
    requests = pq.read_table(txn / "requests").filter(pc.field("api_name") == "EndTxn").to_pylist()
    ended = {(r["producer_id"], "commit" if r["committed"] else "abort") for r in requests if r["error_code"] == 0}
    marked = {(r["producer_id"], r["control"]) for r in batches.to_pylist() if r["control"]}
    seen = {producer_id for producer_id, _ in marked}
    assert len(ended & marked) > 3
    assert {(p, how) for p, how in ended if p in seen} <= marked


def produce_v8(records: bytes) -> bytes:
    head = struct.pack(">hhih", 0, 8, 1, -1) + struct.pack(">hhi", -1, 1, 1000)
    topic = struct.pack(">ih", 1, 1) + b"t" + struct.pack(">iii", 1, 3, len(records))
    return head + topic + records


def rows_of(records: list[bytes]) -> list[dict]:
    raws = [produce_v8(r) for r in records]
    ends = np.cumsum([len(r) for r in raws]).astype(np.int64)
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
    buf = np.frombuffer(bytearray(b"".join(raws)), np.uint8)
    (columns,) = decode_messages(message_type(0, "request"), buf, starts, ends, np.full(len(raws), 8, np.int16))
    assert not columns.failures
    sets, found = record_sets(columns, np.arange(len(raws)) * 10)
    assert sets.schema.equals(SET_SCHEMA)
    given = {c.name: pa.nulls(len(sets), c.type) for c in RECORD_BATCHES.columns if c.name in SHARED}
    given |= {name: sets[name] for name in ("topic", "topic_id", "partition")} | {"ts_ns": sets["row"]}
    return batch_rows(pa.table(given), sets["n_batches"].to_numpy(), found).to_pylist()


SHARED = ("request_id", "conn_id", "cluster", "ts", "ts_ns", "api_key", "direction", "topic", "topic_id", "partition")


def test_rows_say_what_kafka_reads_in_the_headers():
    with gzip.open(FIXTURES / "vectors" / "record_sets.jsonl.gz", "rt", encoding="utf-8") as f:
        vectors = [json.loads(line) for line in f]
    rows = rows_of([bytes.fromhex(v["records_hex"]) for v in vectors])
    want = [(i, b) for i, v in enumerate(vectors) for b in v["batches"]]
    assert len(rows) == len(want)
    for row, (i, b) in zip(rows, want, strict=True):
        assert (row["ts_ns"], row["topic"], row["partition"]) == (i * 10, "t", 3)
        known = {-1: None}
        assert row["magic"] == b["magic"]
        assert row["codec"] == b["codec"]
        assert row["bytes"] == b["size_bytes"]
        assert row["crc_ok"] == b["crc_valid"]
        assert row["producer_id"] == known.get(b["producer_id"], b["producer_id"])
        assert row["producer_epoch"] == known.get(b["producer_epoch"], b["producer_epoch"])
        assert row["base_sequence"] == known.get(b["base_sequence"], b["base_sequence"])
        assert row["leader_epoch"] == known.get(b["partition_leader_epoch"], b["partition_leader_epoch"])
        assert row["max_timestamp_ms"] == known.get(b["max_timestamp"], b["max_timestamp"])
        assert row["transactional"] == b["is_transactional"]
        assert row["timestamp_type"] == KAFKA_TIMES[b["timestamp_type"]]
        assert row["control"] == ((b["control_type"] or "OTHER").lower() if b["is_control"] else None)
        whole = b["magic"] == 2 or not b["compressed"]
        assert row["n_records"] == (b["n_records"] if whole else None)
        if b["delete_horizon_ms"] is not None:
            assert row["first_timestamp_ms"] is None


KAFKA_TIMES = {"NoTimestampType": None, "CreateTime": "create", "LogAppendTime": "log_append"}


def test_hostile_sets_are_no_rows_and_the_others_stay_where_they_are():
    good = rows_source()
    rows = rows_of([b"", good[:-1], good, b"\xff" * 100, good + good])
    assert [row["ts_ns"] for row in rows] == [20, 40, 40]


def rows_source() -> bytes:
    body = struct.pack(">ibIhiqqqhii", -1, 2, 0, 0, 0, 5, 6, -1, -1, -1, 1) + bytes(10)
    return struct.pack(">qi", 0, len(body)) + body
