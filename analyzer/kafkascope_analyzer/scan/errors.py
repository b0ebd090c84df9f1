"""Rows of `errors`: every non-zero error code of a decoded response, with its subject."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.message_fields import ErrorField, error_fields
from kafkascope_analyzer.scan.partitions import outer_text
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.schema import Node, error_codes, error_name, is_retriable

SPILL_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("field_path", pa.string()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("group_id", pa.string()),
        ("transactional_id", pa.string()),
        ("error_code", pa.int16()),
        ("message", pa.string()),
        ("is_result", pa.bool_()),
    ]
)
"""Columns of `error_rows`; `row` is the index of the frame; is_result: whether it is the result of the request, as
opposed to a remark.
"""
NO_ERRORS = SPILL_SCHEMA.empty_table()
_CODE_OF = {error_name(code): code for code in error_codes()}


_ANSWERS_NONE = {("OffsetFetch", 0): "UNKNOWN_TOPIC_OR_PARTITION"}
"""Codes that are not an error in a version of an API: OffsetFetch v0 reads from ZooKeeper, and returns this code where
there is no offset yet (KafkaApis.handleOffsetFetchRequest)."""


def error_rows(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
    """Returns the errors in decoded responses. frames[i] is the frame of decoded row i. Columns: SPILL_SCHEMA."""
    tables = []
    for field in error_fields(columns.message):
        if columns.has(field.code):
            keep = np.flatnonzero((columns.values(field.code) != 0) & ~columns.is_null(field.code))
            keep = keep[~_answers_none(columns, field.code, keep)]
            if len(keep):
                tables.append(_of_field(columns, field, frames, keep))
    return pa.concat_tables(tables) if tables else NO_ERRORS


def _answers_none(columns: Columns, code: Node, keep: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of these codes is one of _ANSWERS_NONE."""
    is_none = np.zeros(len(keep), np.bool_)
    for (name, version), none in _ANSWERS_NONE.items():
        if columns.message.name == f"{name}Response":
            versions = columns.version_used[columns.row(code)[keep]]
            is_none |= (versions == version) & (columns.values(code)[keep] == _CODE_OF[none])
    return is_none


def _of_field(columns: Columns, field: ErrorField, frames: NDArray[np.int64], keep: NDArray[np.int64]) -> pa.Table:
    code = field.code
    return pa.table(
        [
            pa.array(frames[columns.row(code)[keep]]),
            pa.array([code.path]).take(pa.array(np.zeros(len(keep), np.int64))),
            outer_text(columns, code, field.topic, keep),
            outer_text(columns, code, field.topic_id, keep),
            _outer_int32(columns, code, field.partition, keep),
            outer_text(columns, code, field.group, keep),
            outer_text(columns, code, field.transactional_id, keep),
            pa.array(columns.values(code)[keep].astype(np.int16)),
            outer_text(columns, code, field.message, keep),
            pa.repeat(field.is_result, len(keep)),
        ],
        SPILL_SCHEMA,
    )


def _outer_int32(columns: Columns, leaf: Node, node: Node | None, keep: NDArray[np.int64]) -> pa.Array:
    """Returns an int32 field at leaf's level or above, for the kept instances."""
    if node is None or not columns.has(node) or node.level != leaf.level:
        return pa.nulls(len(keep), pa.int32())
    return pa.array(columns.values(node)[keep].astype(np.int32), mask=columns.is_null(node)[keep])


_CODES = np.array(error_codes(), np.int64)
_FIRST = int(_CODES.min())
_NAMES = pa.array([error_name(code) for code in range(_FIRST, int(_CODES.max()) + 1)])
_RETRIABLE = np.array([is_retriable(code) for code in range(_FIRST, int(_CODES.max()) + 1)])


def error_names(codes: pa.Array) -> pa.Array:
    """Returns Kafka's names of error codes (int16, nulls stay null); UNKNOWN_<code> for a code of a newer release."""
    numbers = codes.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    known = (numbers >= _FIRST) & (numbers - _FIRST < len(_NAMES))
    names = _NAMES.take(pa.array(np.where(known, numbers - _FIRST, 0), mask=np.asarray(codes.is_null())))
    if known.all():
        return names
    return pa.array(
        [name if ok else f"UNKNOWN_{code}" for name, ok, code in zip(names.to_pylist(), known, numbers, strict=True)]
    )


def coded_error_names(codes: pa.Array) -> pa.DictionaryArray:
    """Returns Kafka's names of error codes, dictionary-encoded."""
    numbers = codes.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32)
    if len(numbers) and (numbers.min() < _FIRST or numbers.max() - _FIRST >= len(_NAMES)):
        return error_names(codes).dictionary_encode()
    return pa.DictionaryArray.from_arrays(pa.array(numbers - _FIRST, mask=np.asarray(codes.is_null())), _NAMES)


def retriable(codes: pa.Array) -> pa.Array:
    """Whether Kafka's clients may retry after each error code (int16 without nulls)."""
    numbers = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    known = (numbers >= _FIRST) & (numbers - _FIRST < len(_NAMES))
    return pa.array(known & _RETRIABLE[np.where(known, numbers - _FIRST, 0)])


def worst_errors(errors: pa.Table, n: int) -> tuple[pa.Array, pa.Array]:
    """Returns for each of n frames its worst error code (a fatal one before a retriable one, then the first), null
    where there is none, and the number of its errors.
    """
    n_errors = pa.array(np.bincount(errors["row"].to_numpy(), minlength=n).astype(np.int32))
    errors = errors.filter(errors["is_result"])
    rows = errors["row"].to_numpy()
    codes = errors["error_code"].combine_chunks()
    worst, valid = np.zeros(n, np.int16), np.zeros(n, np.bool_)
    if len(rows):
        order = np.lexsort((np.arange(len(rows)), np.asarray(retriable(codes)), rows))
        first = order[np.unique(rows[order], return_index=True)[1]]
        worst[rows[first]] = codes.to_numpy()[first]
        valid[rows[first]] = True
    return pa.array(worst, mask=~valid), n_errors
