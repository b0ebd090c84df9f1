"""Numbers for combinations of values: rows that are equal in all columns get the same number."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_MOST = 1 << 62
"""Limit of the combined codes; before they would exceed it, the combinations that occur are renumbered."""


def group_codes(columns: list[pa.Array | pa.ChunkedArray | NDArray[np.int64]]) -> tuple[NDArray[np.int64], int]:
    """Returns a number for each row, from 0 in order of appearance, and how many there are. A column is integers from 0
    on (numpy), or any Arrow column; null counts as a value."""
    key = np.zeros(len(columns[0]), np.int64)
    size = 1
    for column in columns:
        codes, n = _codes(column)
        if n <= 1:
            continue
        if size * n >= _MOST:
            key, size = _numbered(key)
        key = key * n + codes
        size *= n
    return _numbered(key)


def _codes(column: pa.Array | pa.ChunkedArray | NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    if isinstance(column, np.ndarray):
        return column, int(column.max()) + 1 if len(column) else 0
    if column.null_count == len(column):
        return np.zeros(len(column), np.int64), 1
    flat = pa.chunked_array(column).combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    coded = pc.dictionary_encode(flat, null_encoding="encode")
    return coded.indices.to_numpy().astype(np.int64), len(coded.dictionary)


def _numbered(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    coded = pa.array(key).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), len(coded.dictionary)
