"""Rows that are copied as bytes are the rows that numpy copies field by field."""

import numpy as np

from kafkascope_parsers.framing.layout import FRAME
from kafkascope_parsers.row_copies import copy_rows, joined_rows


def _rows(n: int) -> np.ndarray:
    """Rows with other values in each field."""
    rows = np.zeros(n, FRAME)
    for place, name in enumerate(FRAME.names or ()):
        rows[name] = np.arange(n) + place
    return rows


def test_rows_are_written_over_the_first_ones_alone() -> None:
    target, want = np.zeros(7, FRAME), np.zeros(7, FRAME)
    copy_rows(target, _rows(5))
    want[:5] = _rows(5)
    assert target.tolist() == want.tolist()


def test_joined_rows_are_those_of_numpy() -> None:
    parts = [_rows(3), _rows(0), _rows(4)[1:]]
    joined = joined_rows(parts)
    assert joined.dtype == FRAME
    assert joined.tolist() == np.concatenate(parts).tolist()
