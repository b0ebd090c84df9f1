"""Rows of `records`: the records in the batches of Produce and Fetch, opened in plain Python because this is optional
and rare.

A batch that cannot be opened is one row with the reason; its checksum is in record_batches. Keys, values and header
values are included only at RecordDetail.PAYLOADS.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.ranges import column_range
from kafkascope_analyzer.dataset.tables import RECORDS
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_analyzer.scan.value_ranges import RECORDS as RECORDS_PATH
from kafkascope_analyzer.scan.value_ranges import OutOfRange
from kafkascope_parsers.records import INFLATE_LIMIT, OpenLimits, Record, open_batch

_OF_SET = ("conn", "number", "ts_ns", "api_key", "direction", "topic", "topic_id", "partition")
_OWN = tuple(name for name in RECORDS.schema.names if name not in {*_OF_SET, "request_id", "conn_id", "ts"})
_SCHEMA = pa.schema([(name, RECORDS.column(name).type) for name in _OWN])
_ROWS_AT_ONCE, _BYTES_AT_ONCE = 20_000, 8 << 20
"""Most rows, and most bytes in them, that are held before they are written: few records may be as long as their batch
inflates to."""
_RANGES = {
    name: column_range(name, RECORDS.column(name).type) for name in ("batch_offset", "record_offset", "timestamp_ms")
}


@dataclass(frozen=True, slots=True, eq=False)
class OpenedBatches:
    """Batches to be opened. buf: holds them; batches: BATCH; frames: the frame of each; payloads: whether keys and
    values are included; inflated_bytes: the most bytes that a batch may inflate to.
    """

    buf: NDArray[np.uint8]
    batches: NDArray[np.void]
    frames: NDArray[np.int64]
    payloads: bool
    inflated_bytes: int = INFLATE_LIMIT


class _Numbers:
    """Numbers of records, each within the range of its column."""

    def __init__(self) -> None:
        self._outside: dict[str, list[tuple[int, int]]] = {}

    def within(self, name: str, value: int, frame: int) -> int | None:
        """Returns the value, None where it is outside of its range."""
        allowed = _RANGES[name]
        if allowed.least <= value <= allowed.greatest:
            return value
        self._outside.setdefault(name, []).append((frame, min(max(value, -(2**63)), 2**63 - 1)))
        return None

    def note(self, found: OutOfRange) -> None:
        """Notes the values that were out of range."""
        for name, outside in self._outside.items():
            frames, values = np.array(outside, np.int64).T
            found.note(f"{RECORDS_PATH}.{name}", _RANGES[name], frames, values)
        self._outside.clear()


def spill_records(spill: Spill, sets: pa.Table, opened: OpenedBatches, found: OutOfRange) -> None:
    """Opens the batches of record sets (sets with their frames) and adds their records to the spill, some at a time.
    found: collects numbers that are out of range."""
    numbers = _Numbers()
    set_of_batch = np.repeat(np.arange(sets.num_rows), sets["n_batches"].to_numpy())
    shared = sets.select(_OF_SET)
    rows: list[dict[str, Any]] = []
    of_set: list[int] = []
    held = 0
    places = zip(opened.batches, set_of_batch.tolist(), opened.frames.tolist(), strict=True)
    for batch, which, frame in places:
        for row in _rows(batch, opened, frame, numbers):
            rows.append(row)
            of_set.append(which)
            held += _bytes_in(row)
            if len(rows) == _ROWS_AT_ONCE or held >= _BYTES_AT_ONCE:
                _flush(spill, shared, rows, of_set)
                numbers.note(found)
                held = 0
    _flush(spill, shared, rows, of_set)
    numbers.note(found)


def _flush(spill: Spill, shared: pa.Table, rows: list[dict[str, Any]], of_set: list[int]) -> None:
    own = pa.Table.from_pylist(rows, _SCHEMA)
    table = shared.take(pa.array(of_set, pa.int64()))
    for name in _OWN:
        table = table.append_column(name, own[name])
    spill.write("records", table.combine_chunks())
    rows.clear()
    of_set.clear()


def _bytes_in(row: dict[str, Any]) -> int:
    """Returns the size of the fields that come from the record itself, and may be long."""
    texts = (row.get("key"), row.get("value"), *row.get("header_names", ()), *row.get("header_values", ()))
    return sum(len(text) for text in texts if text)


def _rows(row: np.void, opened: OpenedBatches, frame: int, numbers: _Numbers) -> Iterator[dict[str, Any]]:
    batch = open_batch(row, opened.buf, OpenLimits(opened.inflated_bytes))
    head = {"batch_offset": numbers.within("batch_offset", batch.base_offset, frame)}
    if batch.error is not None:
        yield head | {"problem": str(batch.error)}
    for record in batch.records:
        own = {
            "record_offset": numbers.within("record_offset", record.offset, frame),
            "timestamp_ms": None if record.timestamp == -1 else numbers.within("timestamp_ms", record.timestamp, frame),
        }
        yield head | own | _row(record) | (_payload(record) if opened.payloads else {})


def _row(record: Record) -> dict[str, Any]:
    return {
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
