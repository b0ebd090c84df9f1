"""Columns of Arrow tables as single arrays."""

import pyarrow as pa


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Returns the column as one array, without a copy where it is one chunk."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column
