"""Groups in sorted rows and distinct values, against Python's own."""

import random

import numpy as np
import pytest

from kafkascope_analyzer.dataset.sorted_rows import distinct_sorted, first_of_runs, rank_in_group


@pytest.mark.parametrize("values", [[], [7], [3, 3, 3], [2, -1, 2, 0, -1], [2**62, -(2**62), 0]])
def test_distinct_values_are_sorted(values):
    assert distinct_sorted(np.array(values, np.int64)).tolist() == sorted(set(values))


def test_distinct_values_of_many():
    rng = random.Random(1)
    values = [rng.randrange(500) for _ in range(1000)]
    assert distinct_sorted(np.array(values, np.int64)).tolist() == sorted(set(values))


def test_runs_begin_where_any_column_changes():
    first = first_of_runs(np.array([1, 1, 2, 2]), np.array([0, 0, 0, 1]))
    assert first.tolist() == [True, False, True, True]
    assert rank_in_group(np.array([5, 5, 5, 6])).tolist() == [0, 1, 2, 0]
