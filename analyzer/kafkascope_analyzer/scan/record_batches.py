"""Rows of `record_batches`: the batches in the records fields of Produce, Fetch and ShareFetch, from their headers.

FetchSnapshot is left out: its records are any slice of a snapshot, and need not begin with a batch.

There may be many batches in a frame, so their common columns are kept once: the spill holds record sets (one row per
records field with batches, SET_SCHEMA) and beside them the batches in their memory layout, and texts are written to the
table dictionary-encoded.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import RECORD_BATCHES
from kafkascope_analyzer.scan.message_fields import PartitionField, partition_fields
from kafkascope_analyzer.scan.partitions import outer_text
from kafkascope_analyzer.scan.spill import Spill, read_spill
from kafkascope_parsers.api_keys import FETCH, PRODUCE, SHARE_FETCH
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.records import BATCH, CODECS, CONTROL_TYPES, TIMESTAMP_TYPES, read_batches
from kafkascope_parsers.records.layout import CODEC_BITS, DELETE_HORIZON_BIT, LOG_APPEND_BIT, TRANSACTIONAL_BIT

_APIS = frozenset({PRODUCE, FETCH, SHARE_FETCH})
_NONE = -1
RANGED_HEADERS = (
    "base_offset",
    "last_offset",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "leader_epoch",
    "base_sequence",
    "producer_epoch",
)
"""Fields of BATCH that have a range."""
_TEXT = pa.dictionary(pa.int32(), pa.string())

SET_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("n_batches", pa.int32()),
    ]
)
"""Columns of record sets; `row` is the index of the decoded message's frame."""

RECORD_SETS = ("record_sets", "record_batches")
"""Spilled tables: the record sets, and the batches of each in their memory layout."""
RecordSets = tuple[pa.Table, NDArray[np.void]]
"""Record sets (SET_SCHEMA) and their batches (BATCH), in the same order."""

WRITTEN_SCHEMA = pa.schema([f.with_type(_TEXT) if pa.types.is_string(f.type) else f for f in RECORD_BATCHES.schema])
"""The table's columns as batch_rows makes them; in the file dictionaries become plain texts."""


def record_sets(columns: Columns, frames: NDArray[np.int64]) -> RecordSets:
    """Returns the batches in decoded messages, from their headers. frames[i] is the frame of decoded row i."""
    found = [
        _of_field(columns, field, frames)
        for field in (partition_fields(columns.message) if columns.message.api_key in _APIS else ())
        if field.records is not None and columns.has(field.records)
    ]
    return joined(found)


def joined(found: list[RecordSets]) -> RecordSets:
    """Concatenates record sets."""
    found = [(sets, batches) for sets, batches in found if len(batches)]
    if len(found) == 1:
        return found[0]  # the usual case; batches take long to copy
    tables = pa.concat_tables([SET_SCHEMA.empty_table(), *(sets for sets, _ in found)]).combine_chunks()
    return tables, np.concatenate([np.zeros(0, BATCH), *(batches for _, batches in found)])


def _of_field(columns: Columns, field: PartitionField, frames: NDArray[np.int64]) -> RecordSets:
    leaf, records = field.partition, field.records
    if records is None:
        raise ValueError(f"{leaf.path}: no records beside it")
    filled = np.flatnonzero(columns.lengths(records) > 0)
    batches = read_batches(columns.buf, columns.offsets(records)[filled], columns.lengths(records)[filled])
    n_batches = np.bincount(batches["record_set"], minlength=len(filled)).astype(np.int32)
    filled, n_batches = filled[n_batches > 0], n_batches[n_batches > 0]
    out = {
        "row": pa.array(frames[columns.row(leaf)[filled]]),
        "topic": outer_text(columns, leaf, field.topic, filled),
        "topic_id": outer_text(columns, leaf, field.topic_id, filled),
        "partition": pa.array(columns.values(leaf)[filled].astype(np.int32), mask=columns.is_null(leaf)[filled]),
        "n_batches": pa.array(n_batches),
    }
    return pa.table([out[f.name] for f in SET_SCHEMA], SET_SCHEMA), batches


def spill_record_sets(spill: Spill, sets: pa.Table, batches: NDArray[np.void]) -> None:
    """Adds record sets and their batches to the spill."""
    spill.write(RECORD_SETS[0], sets)
    raw = [None, pa.py_buffer(batches.view(np.uint8))]
    spill.write(RECORD_SETS[1], pa.table({"batch": pa.Array.from_buffers(_RAW, len(batches), raw)}))


_RAW = pa.binary(BATCH.itemsize)


def read_record_sets(directory: Path, part: int | None = None) -> Iterator[RecordSets]:
    """Yields the record sets that spill_record_sets wrote, piece by piece. part: as in read_spill."""
    pieces = zip(*(read_spill(directory, name, part=part) for name in RECORD_SETS), strict=True)
    for sets, raw in pieces:
        data = raw["batch"].combine_chunks().buffers()[1]
        yield sets, np.frombuffer(data, BATCH, raw.num_rows)


def batch_rows(of_sets: pa.Table, n_batches: NDArray[np.int32], batches: NDArray[np.void]) -> pa.Table:
    """Returns rows of `record_batches` (WRITTEN_SCHEMA). of_sets: the table's columns that the batches of a record set
    share, one row per set."""
    index = pa.array(np.repeat(np.arange(len(n_batches), dtype=np.int32), n_batches))
    columns = {name: _spread(of_sets[name], index) for name in of_sets.column_names} | _of_batches(batches)
    return pa.Table.from_arrays([columns[f.name] for f in WRITTEN_SCHEMA], schema=WRITTEN_SCHEMA)


def _spread(values: pa.ChunkedArray, index: pa.Array) -> pa.Array:
    if values.type != pa.string() and values.type != _TEXT:
        return values.take(index).combine_chunks()
    encoded = values.combine_chunks()
    encoded = encoded if values.type == _TEXT else encoded.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.take(index), encoded.dictionary)


def _of_batches(batches: NDArray[np.void]) -> dict[str, pa.Array]:
    attributes, kind = batches["attributes"], batches["control_type"]
    columns: dict[str, pa.Array] = {
        name: _known(batches[name]) for name in ("producer_id", "producer_epoch", "base_sequence", "leader_epoch")
    }
    first = np.where(attributes & DELETE_HORIZON_BIT, _NONE, batches["base_timestamp"])
    codec = attributes & CODEC_BITS
    return columns | {
        "base_offset": _known(batches["base_offset"]),
        "n_records": _known(batches["n_records"]),
        "magic": pa.array(batches["magic"].astype(np.int16)),
        "codec": _named(CODECS, codec, codec < len(CODECS)),
        "bytes": pa.array(np.ascontiguousarray(batches["size"])),
        "crc_ok": pa.array(batches["crc_valid"] != 0),
        "timestamp_type": _named(
            TIMESTAMP_TYPES, (attributes & LOG_APPEND_BIT) // LOG_APPEND_BIT, batches["magic"] > 0
        ),
        "first_timestamp_ms": _known(first),
        "max_timestamp_ms": _known(batches["max_timestamp"]),
        "transactional": pa.array(attributes & TRANSACTIONAL_BIT != 0),
        "control": _named((*CONTROL_TYPES, "other"), np.where(kind < 0, len(CONTROL_TYPES), kind), kind != _NONE),
    }


def _known(values: NDArray[np.generic]) -> pa.Array:
    """Returns the values with null for -1, which Kafka writes for a missing value."""
    values = np.ascontiguousarray(values)
    return pa.array(values, mask=values == _NONE)


def _named(names: tuple[str, ...], index: NDArray[np.integer], valid: NDArray[np.bool_]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32), mask=~valid), pa.array(names))
