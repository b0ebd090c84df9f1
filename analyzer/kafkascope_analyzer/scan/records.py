"""Rows of `records`: the records in the batches of Produce and Fetch, opened in plain Python because somebody asked.

A batch that cannot be opened is one row that says why; its checksum is in record_batches. Keys, values and header
values only at RecordDetail.PAYLOADS.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import RECORDS
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_parsers.records import Record, open_batch

_OF_SET = ("conn", "number", "ts_ns", "api_key", "direction", "topic", "topic_id", "partition")
_OWN = tuple(name for name in RECORDS.schema.names if name not in {*_OF_SET, "request_id", "conn_id", "ts"})
_SCHEMA = pa.schema([(name, RECORDS.column(name).type) for name in _OWN])
_ROWS_AT_ONCE = 20_000


def spill_records(
    spill: Spill, buf: NDArray[np.uint8], sets: pa.Table, batches: NDArray[np.void], *, payloads: bool
) -> None:
    """Opens the batches of record sets (sets with their frames; BATCH) and adds their records to the spill, some at a
    time."""
    set_of_batch = np.repeat(np.arange(sets.num_rows), sets["n_batches"].to_numpy())
    shared = sets.select(_OF_SET)
    rows: list[dict[str, Any]] = []
    of_set: list[int] = []
    for batch, which in zip(batches, set_of_batch.tolist(), strict=True):
        for row in _rows(batch, buf, payloads):
            rows.append(row)
            of_set.append(which)
            if len(rows) == _ROWS_AT_ONCE:
                _flush(spill, shared, rows, of_set)
    _flush(spill, shared, rows, of_set)


def _flush(spill: Spill, shared: pa.Table, rows: list[dict[str, Any]], of_set: list[int]) -> None:
    own = pa.Table.from_pylist(rows, _SCHEMA)
    table = shared.take(pa.array(of_set, pa.int64()))
    for name in _OWN:
        table = table.append_column(name, own[name])
    spill.write("records", table.combine_chunks())
    rows.clear()
    of_set.clear()


def _rows(row: np.void, buf: NDArray[np.uint8], payloads: bool) -> Iterator[dict[str, Any]]:
    batch = open_batch(row, buf)
    head = {"batch_offset": batch.base_offset}
    if batch.error is not None:
        yield head | {"problem": str(batch.error)}
    for record in batch.records:
        yield head | _row(record) | (_payload(record) if payloads else {})


def _row(record: Record) -> dict[str, Any]:
    return {
        "record_offset": record.offset,
        "timestamp_ms": None if record.timestamp == -1 else record.timestamp,
        "key_length": None if record.key is None else len(record.key),
        "value_length": None if record.value is None else len(record.value),
        "header_names": [name for name, _ in record.headers],
        "control": record.control_type,
    }


def _payload(record: Record) -> dict[str, Any]:
    return {
        "key": record.key,
        "value": record.value,
        "header_values": [value for _, value in record.headers],
    }
