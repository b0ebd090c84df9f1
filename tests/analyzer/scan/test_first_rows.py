"""The first row of each combination: compared with NumPy's own search by rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.scan.first_rows import first_rows

SMALL = st.integers(-3, 3)


@given(st.lists(st.tuples(SMALL, SMALL, SMALL), max_size=40), st.integers(1, 3))
def test_rows_are_those_of_numpy(rows: list[tuple[int, int, int]], n_columns: int) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3)[:, :n_columns]
    found = first_rows(*columns.T)
    distinct, first = np.unique(columns, axis=0, return_index=True)
    assert found.tolist() == first.tolist()
    assert columns[found].tolist() == distinct.tolist()


@pytest.mark.parametrize("kind", [np.int16, np.int64])
def test_extreme_values_are_told_apart(kind: type[np.integer]) -> None:
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    assert first_rows(np.array([most, least, most, least], kind), np.array([0, 0, 0, 1])).tolist() == [1, 3, 0]
