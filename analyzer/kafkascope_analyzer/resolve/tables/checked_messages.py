"""Range checks for messages that the second pass reads: the tables of messages hold Kafka's own values, and those
outside of the ranges of their fields become null before anything is computed with them; in an array of numbers they are
left out.

These values were counted when they were decoded (scan.value_ranges).
"""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.dataset.ranges import field_range


def checked_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the batch of a table of messages, with null for values outside of the ranges of their fields, and arrays
    of numbers without them."""
    columns = [_checked(column, field.name) for column, field in zip(batch.columns, batch.schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _checked(values: pa.Array, name: str) -> pa.Array:
    """Returns values of a field of that name, or of the elements of an array of that name; the same array where all are
    in range.
    """
    kind = values.type
    if pa.types.is_list(kind):
        inner = values.values
        checked = _checked(inner, name)
        null = pa.array(np.asarray(values.is_null())) if values.null_count else None
        if checked is inner:
            return values
        ends = values.offsets.to_numpy()
        if pa.types.is_integer(inner.type):
            kept = np.asarray(checked.is_valid())
            ends = np.append(0, np.cumsum(kept))[ends].astype(ends.dtype)
            checked = checked.filter(pa.array(kept))
        # a new array of offsets, because a slice of an array cannot get a mask
        return pa.ListArray.from_arrays(pa.array(ends), checked, kind, mask=null)
    if pa.types.is_struct(kind):
        inner = [values.field(at) for at in range(kind.num_fields)]
        checked = [_checked(child, field.name) for child, field in zip(inner, kind, strict=True)]
        if all(new is old for new, old in zip(checked, inner, strict=True)):
            return values
        null = pa.array(np.asarray(values.is_null())) if values.null_count else None
        return pa.StructArray.from_arrays(checked, fields=list(kind), mask=null)
    return _checked_numbers(values, name) if pa.types.is_integer(kind) else values


def _checked_numbers(values: pa.Array, name: str) -> pa.Array:
    allowed = field_range(name)
    if allowed is None or values.null_count == len(values):
        return values
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False) if values.null_count else values.to_numpy()
    outside = allowed.outside(numbers)
    if outside is None:
        return values
    return pa.array(numbers, values.type, mask=outside | np.asarray(values.is_null()))
