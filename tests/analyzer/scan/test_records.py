"""records: only when asked for, without contents unless asked for those too; what they hold against Kafka's own
classes."""

import gzip
import json
from base64 import b64decode
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.ranges import OFFSET, TIME_MS
from kafkascope_analyzer.dataset.tables import RECORDS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.scan.record_batches import record_sets
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_analyzer.scan.records import OpenedBatches, spill_records
from kafkascope_analyzer.scan.spill import Spill, read_spill
from kafkascope_analyzer.scan.value_ranges import OutOfRange
from kafkascope_parsers.machine import decode_messages
from kafkascope_parsers.schema import message_type

from .test_record_batches import produce_v8

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURE = FIXTURES / "captures" / "txn.pcap.zst"


@pytest.fixture(scope="module", params=[RecordDetail.RECORDS, RecordDetail.PAYLOADS], ids=["records", "payloads"])
def dataset(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("datasets") / "txn.kscope"
    ingest([CAPTURE], out, IngestOptions(detail=request.param))
    return out, request.param


def test_there_are_as_many_as_the_batches_say(dataset):
    records, batches = (pq.read_table(dataset[0] / name).to_pylist() for name in ("records", "record_batches"))
    keys = ("request_id", "direction", "topic", "topic_id", "partition")
    have = Counter((*(r[k] for k in keys), r["batch_offset"]) for r in records)
    want: Counter = Counter()
    for b in batches:
        want[*(b[k] for k in keys), b["base_offset"]] += b["n_records"]
    assert have == +want
    assert {r["problem"] for r in records} == {None}
    assert {r["control"] for r in records} == {None, "commit", "abort"}


def test_contents_are_there_only_when_asked_for(dataset):
    out, detail = dataset
    table = pq.read_table(out / "records", partitioning=None)
    assert table.schema.equals(RECORDS.schema)
    contents = [table[name].null_count for name in ("key", "value", "header_values")]
    if detail == RecordDetail.PAYLOADS:
        rows = table.to_pylist()
        assert all((r["value"] is None) == (r["value_length"] is None) for r in rows)
        assert all(len(r["key"]) == r["key_length"] for r in rows if r["key"] is not None)
        assert contents[2] == 0
    else:
        assert contents == [len(table)] * 3
    assert table["value_length"].null_count < len(table)


def test_none_by_default(ingested):
    assert pq.read_table(ingested(CAPTURE) / "records").num_rows == 0


def opened(records: list[bytes], folder: Path, *, payloads: bool = True, found: OutOfRange | None = None) -> list[dict]:
    raws = [produce_v8(r) for r in records]
    ends = np.cumsum([len(r) for r in raws]).astype(np.int64)
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
    buf = np.frombuffer(bytearray(b"".join(raws)), np.uint8)
    (columns,) = decode_messages(message_type(0, "request"), buf, starts, ends, np.full(len(raws), 8, np.int16))
    sets, batches = record_sets(columns, np.arange(len(raws)))
    for name, values in (("conn", sets["row"]), ("number", sets["row"]), ("ts_ns", sets["row"])):
        sets = sets.append_column(name, values)
    sets = sets.append_column("api_key", pa.array([0] * len(sets), pa.int16()))
    sets = sets.append_column("direction", pa.array(["request"] * len(sets)))
    spill = Spill(folder)
    frames = np.repeat(sets["row"].to_numpy(), sets["n_batches"].to_numpy())
    spill_records(spill, sets, OpenedBatches(columns.buf, batches, frames, payloads), found or OutOfRange())
    spill.close()
    return [row for table in read_spill(folder, "records") for row in table.to_pylist()]


def test_records_are_those_kafka_reads(tmp_path):
    with gzip.open(FIXTURES / "vectors" / "record_sets.jsonl.gz", "rt", encoding="utf-8") as f:
        vectors = [json.loads(line) for line in f]
    found = OutOfRange()
    rows = opened([bytes.fromhex(v["records_hex"]) for v in vectors], tmp_path, found=found)
    want = [(i, b, r) for i, v in enumerate(vectors) for b in v["batches"] for r in b["records"]]
    assert len(rows) == len(want) > 300
    for row, (i, b, r) in zip(rows, want, strict=True):
        assert row["conn"] == i
        assert (row["batch_offset"], row["record_offset"]) == (
            within(OFFSET, b["base_offset"]),
            within(OFFSET, r["offset"]),
        )
        assert row["timestamp_ms"] == (None if r["timestamp"] == -1 else within(TIME_MS, r["timestamp"]))
        assert row["key_length"] == (None if r["key"] is None else r["key_length"])
        for name in ("key", "value"):
            assert row[name] == (None if r[name] is None else b64decode(r[name]))
        assert row["header_names"] == [h["key"] for h in r["headers"]]
        assert row["control"] == (r["control_type"].lower() if "control_type" in r else None)

    noted = sum(row["n"] for row in found.table().to_pylist() if row["field"] == "records.record_offset")
    assert noted == sum(within(OFFSET, r["offset"]) is None for _, _, r in want) > 0


def within(allowed, value):
    return value if allowed.least <= value <= allowed.greatest else None


def test_a_batch_that_cannot_be_opened_is_a_row_that_says_why(tmp_path):
    with gzip.open(FIXTURES / "vectors" / "record_sets.jsonl.gz", "rt", encoding="utf-8") as f:
        good = next(bytes.fromhex(v["records_hex"]) for v in map(json.loads, f) if "magic 2 gzip" in v["name"])
    bad = good[:70] + bytes(len(good) - 70)
    rows = opened([bad, good], tmp_path)
    assert rows[0]["conn"] == 0
    assert "malformed_compression" in rows[0]["problem"]
    assert rows[0]["record_offset"] is None
    assert {row["problem"] for row in rows[1:]} == {None}
    assert {row["conn"] for row in rows[1:]} == {1}


def test_payloads_without_records_is_wrong_usage(tmp_path):
    result = CliRunner().invoke(app, ["ingest", str(CAPTURE), "-o", str(tmp_path / "x.kscope"), "--payloads"])
    assert result.exit_code == 2
    assert "--records" in result.stderr
    assert not (tmp_path / "x.kscope").exists()
