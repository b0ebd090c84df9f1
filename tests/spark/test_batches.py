"""Rows from Arrow batches, against what pyarrow itself reads in them."""

import gzip
import json
import pathlib
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_spark.batches import event_rows, values_of
from kafkascope_spark.rows import KINDS, event_row

RECORDED = sorted((pathlib.Path(__file__).parents[2] / "fixtures" / "recoveries").glob("*.json.gz"))
KEYS = ("client_ip", "section", "ts_ns", "rank")
LATE = {"touch": {"vain": False}}
"""Columns that came after the events were recorded."""


def recorded() -> list[dict[str, Any]]:
    rows = [row for path in RECORDED for row in json.loads(gzip.decompress(path.read_bytes()))["events"]]
    name = {"name": "b1", "ts_ns": 5, "answer_ns": None, "rcode": None, "addresses": ["10.0.0.1", "10.0.0.2"]}
    rows += [{"client_ip": "10.0.0.9", "section": 0, "ts_ns": 5, "rank": 5, "lookup": name}]
    for row in rows:
        kind = KINDS[row["section"], row["rank"]]
        row[kind] = row[kind] | LATE.get(kind, {})
    return [{"client_ip": ""} | row for row in rows]


def test_rows_of_a_batch_are_those_of_its_structs() -> None:
    rows = recorded()
    columns = {name: [row[name] for row in rows] for name in KEYS}
    for kind in KINDS.values():
        columns[kind] = [[row[kind]] if kind in row else None for row in rows]
    batch = pa.RecordBatch.from_pydict(columns)
    assert {kind for kind in KINDS.values() if any(columns[kind])} == set(KINDS.values())
    assert list(event_rows(batch)) == [event_row(row) for row in rows]
    assert list(event_rows(batch.slice(7, 400))) == [event_row(row) for row in rows[7:407]]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 1 << 62], pa.int64()),
        pa.array([1, -2], pa.int16()),
        pa.array([None, None], pa.int32()),
        pa.array([], pa.int64()),
        pa.array(["a", None, "\u00e9"], pa.string()),
        pa.array([True, None, False]),
        pa.array([True, False]),
        pa.array([[1, 2], None, [], [3]], pa.list_(pa.int64())),
        pa.array([["a", None], ["b"]], pa.list_(pa.string())),
        pa.array([["a"], None, ["b", "c"], ["d"]], pa.list_(pa.string())).slice(1, 2),
        pa.array([{"a": 1}, {"a": None}]),
    ],
    ids=str,
)
def test_values_are_those_that_pyarrow_gives(column: pa.Array) -> None:
    assert values_of(column) == column.to_pylist()
    assert [type(v) for v in values_of(column)] == [type(v) for v in column.to_pylist()]
