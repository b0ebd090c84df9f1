"""Rows of `partitions`: every topic-partition in a decoded message, with its neighbouring fields.

Rows are kept by message, with only the columns that the message can fill, and topics dictionary-encoded: this table has
the most rows of all, and most of its columns are null.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_analyzer.scan.message_fields import PartitionField, partition_fields
from kafkascope_analyzer.scan.value_ranges import OutOfRange, headers_within_ranges
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import fixed, strings
from kafkascope_parsers.records import CODECS, summarize_record_sets
from kafkascope_parsers.records.summary import UNKNOWN
from kafkascope_parsers.schema import MessageType, Node

CODED_TEXT = pa.dictionary(pa.int32(), pa.string())
_INTS = (
    "partition_offset",
    "leader_epoch",
    "leader_id",
    "current_leader_id",
    "current_leader_epoch",
    "preferred_read_replica",
    "high_watermark",
    "last_stable_offset",
    "log_start_offset",
    "error_code",
)
_MINUS_ONE_IS_NONE = frozenset(_INTS) - {"partition_offset", "error_code"}
"""Columns in which Kafka writes -1 for an unknown leader, epoch or offset. In a requested offset, -1 and -2 mean latest
and earliest.
"""
_RECORD_COUNTS = ("record_bytes", "n_batches", "n_records")
_RECORD_HEADERS = ("first_timestamp_ms", "max_timestamp_ms", "codec")
_SENT_RECORDS, _FETCHED_RECORDS = ("producer_id",), ("first_offset", "last_offset")
"""Columns that only sent records have, and only fetched ones: offsets are not known yet when a producer sends records;
records that a consumer gets may come from several producers."""
_RANGED_HEADERS = ("first_offset", "last_offset", "first_timestamp_ms", "max_timestamp_ms", "producer_id")
Kept = NDArray[np.int64] | slice
"""Instances of a level that hold a partition: all, or these."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The partitions in one field of a message. row: the frame of each; columns: of the same length, in part_schema."""

    row: NDArray[np.int64]
    columns: dict[str, pa.Array]

    def numbers(self, name: str) -> NDArray[np.int64] | None:
        """Returns a column without nulls as numpy; None where the field does not have it."""
        return self.columns[name].to_numpy() if name in self.columns else None


def spill_name(api_key: int, direction: str) -> str:
    """Returns the name of the spilled table of a message's partitions."""
    return f"partitions.{api_key}.{direction}"


def message_of_spill(name: str) -> tuple[int, str] | None:
    """Returns API key and direction of a spilled table; None where it does not hold partitions."""
    table, _, message = name.partition(".")
    api_key, _, direction = message.partition(".")
    return (int(api_key), direction) if table == "partitions" and direction else None


@cache
def part_schema(message: MessageType) -> pa.Schema:
    """Returns the columns of `partitions` that a message can fill, with topics as CODED_TEXT."""
    entries = partition_fields(message)
    filled = {name for field in entries for name in field.fields} & set(_INTS)
    names: tuple[str, ...] = ("partition", *_INTS)
    if any(field.records is not None for field in entries):
        filled |= set(_record_columns_of(message))
        names += _record_columns_of(message)
    kinds = {name: PARTITIONS.column(name).type for name in names if name in filled or name == "partition"}
    numbers = [(name, CODED_TEXT if pa.types.is_string(kind) else kind) for name, kind in kinds.items()]
    return pa.schema([("topic", CODED_TEXT), ("topic_id", CODED_TEXT), *numbers])


def _record_columns_of(message: MessageType) -> tuple[str, ...]:
    """Returns the columns of `partitions` that records in the message fill."""
    own = _SENT_RECORDS if message.direction == "request" else _FETCHED_RECORDS
    return (*_RECORD_COUNTS, *own, *_RECORD_HEADERS)


def partition_rows(columns: Columns, frames: NDArray[np.int64], found: OutOfRange) -> list[PartitionRows]:
    """Returns the partitions in decoded messages, by the field that holds them. frames[i] is the frame of decoded row
    i. found: collects values of record batches that are out of range.
    """
    return [
        _of_field(columns, field, frames, found)
        for field in partition_fields(columns.message)
        if columns.size(field.partition)
    ]


def _of_field(columns: Columns, field: PartitionField, frames: NDArray[np.int64], found: OutOfRange) -> PartitionRows:
    leaf = field.partition
    null = columns.is_null(leaf)
    kept: Kept = np.flatnonzero(~null) if null.any() else slice(None)
    row = frames[columns.row(leaf)[kept]]
    out = {
        "topic": _outer_codes(columns, leaf, field.topic, kept),
        "topic_id": _outer_codes(columns, leaf, field.topic_id, kept),
        "partition": pa.array(columns.values(leaf)[kept].astype(np.int32, copy=False)),
    }
    for name, nodes in field.fields.items():
        if name in _INTS:
            out[name] = _int_column(columns, name, nodes, kept)
    if field.records is not None and columns.has(field.records):
        lengths = np.maximum(columns.lengths(field.records)[kept].astype(np.int64), 0)
        sets = summarize_record_sets(columns.buf, columns.offsets(field.records)[kept], lengths)
        headers_within_ranges(sets, _RANGED_HEADERS, row, found)
        out |= _record_columns(columns.message, sets)
    return PartitionRows(row, {k: v for k, v in out.items() if v is not None})


def outer_text(columns: Columns, leaf: Node, node: Node | None, keep: NDArray[np.int64]) -> pa.Array:
    """Returns a string or uuid field at or above leaf's level, for the kept instances of leaf's level; nulls where
    there is none.
    """
    if node is None or not columns.has(node):
        return pa.nulls(len(keep), pa.string())
    texts = strings(columns, node)
    index = columns.outer(leaf, node.level)[keep]
    return texts.take(pa.array(index))


def _outer_codes(columns: Columns, leaf: Node, node: Node | None, kept: Kept) -> pa.Array | None:
    """Returns a string or uuid field at or above leaf's level, dictionary-encoded; None where there is none."""
    if node is None or not columns.has(node):
        return None
    texts = strings(columns, node).dictionary_encode()
    codes = texts.indices.take(pa.array(columns.outer(leaf, node.level)[kept]))
    return pa.DictionaryArray.from_arrays(codes, texts.dictionary)


def _int_column(columns: Columns, name: str, nodes: tuple[Node, ...], kept: Kept) -> pa.Array | None:
    kind = PARTITIONS.column(name).type
    nodes = tuple(node for node in nodes if columns.has(node))
    if not nodes:
        return None
    values, nulls = columns.values(nodes[0])[kept], columns.is_null(nodes[0])[kept]
    for node in nodes[1:]:
        values = np.where(nulls, columns.values(node)[kept], values)
        nulls = nulls & columns.is_null(node)[kept]
    if name in _MINUS_ONE_IS_NONE:
        nulls = nulls | (values == -1)
    return fixed(values.astype(kind.to_pandas_dtype(), copy=False), nulls, kind)


def _record_columns(message: MessageType, sets: NDArray[np.void]) -> dict[str, pa.Array]:
    out = {name: pa.array(np.ascontiguousarray(sets[name])) for name in _RECORD_COUNTS}
    for name in _record_columns_of(message)[len(_RECORD_COUNTS) :]:
        values = np.ascontiguousarray(sets[name])
        out[name] = _codecs(values) if name == "codec" else fixed(values, values == UNKNOWN, pa.int64())
    return out


def _codecs(numbers: NDArray[np.int8]) -> pa.DictionaryArray:
    """Returns names of compression codecs; null for a number that Kafka does not have."""
    known = (numbers >= 0) & (numbers < len(CODECS))
    codes = pa.array(np.where(known, numbers, 0).astype(np.int32), mask=~known)
    return pa.DictionaryArray.from_arrays(codes, pa.array(CODECS))
