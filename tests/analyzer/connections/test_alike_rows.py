"""Rows of a matrix that are alike. Oracle: numpy's unique rows."""

import numpy as np
import pytest

from kafkascope_analyzer.connections.alike_rows import distinct_rows


@pytest.mark.parametrize(("kind", "n_columns"), [(np.uint64, 2), (np.int16, 180), (np.int16, 1)])
@pytest.mark.parametrize("n_rows", [0, 1, 1000])
def test_each_row_once(kind: type[np.generic], n_columns: int, n_rows: int) -> None:
    matrix = np.random.default_rng(n_rows + n_columns).integers(0, 3, (n_rows, n_columns)).astype(kind)
    matrix[: n_rows // 2] = matrix[n_rows - n_rows // 2 :]
    found, which = distinct_rows(matrix)
    assert found.dtype == matrix.dtype
    assert np.array_equal(found[which], matrix)
    assert np.array_equal(np.unique(found, axis=0), np.unique(matrix, axis=0))
    assert len(found) == len(np.unique(matrix, axis=0))


def test_rows_of_a_part_of_a_matrix() -> None:
    matrix = np.arange(12).reshape(3, 4)[::2, ::-1]
    found, which = distinct_rows(matrix)
    assert found.tolist() == [[3, 2, 1, 0], [11, 10, 9, 8]]
    assert which.tolist() == [0, 1]
