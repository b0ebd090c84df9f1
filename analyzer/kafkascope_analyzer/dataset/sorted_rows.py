"""Groups in sorted rows: where each begins, and the position of a row in its group; distinct values."""

import numpy as np
from numpy.typing import NDArray


def first_of_runs(*columns: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Whether each row differs from the previous one in any of the columns, which have equal length; true for the first
    row."""
    first = np.zeros(len(columns[0]), np.bool_)
    first[:1] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


def distinct_sorted(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns each value once, sorted. For few distinct values np.unique is faster, which hashes them; for many, like
    times and offsets, it takes ten times as long as this."""
    ordered = np.sort(values)
    return np.asarray(ordered[first_of_runs(ordered)], np.int64)


def rank_in_group(*keys: NDArray[np.generic]) -> NDArray[np.int64]:
    """Returns the position of each row in its group, from 0. The rows of a group have the same keys."""
    place = np.arange(len(keys[0]))
    return np.asarray(place - np.maximum.accumulate(np.where(first_of_runs(*keys), place, 0)), np.int64)
