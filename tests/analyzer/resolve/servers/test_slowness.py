"""Slow processes: the medians of slices against plain Python, and sums of them against numbers made up."""

import statistics

import numpy as np
import pytest

from kafkascope_analyzer.resolve.servers.kernels import slow_stretches
from kafkascope_analyzer.resolve.servers.slowness import (
    LEAST_SCORE,
    MOST_DOUBLINGS,
    TENTH_DOUBLINGS,
    UPPER_DOUBLINGS,
    USUAL_DOUBLINGS,
    _of_others,
    _own,
)

LIMITS = (USUAL_DOUBLINGS, MOST_DOUBLINGS, LEAST_SCORE)


def found(*processes):
    rows = np.zeros((99, 3), np.int64)
    return [tuple(row) for row in rows[: slow_stretches(np.array(processes, np.float64), LIMITS, rows)].tolist()]


@pytest.mark.parametrize("seed", range(20))
def test_the_median_of_the_others(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 9, (rng.integers(1, 7), 30)).astype(np.float64)
    values[rng.random(values.shape) < 0.3] = np.nan
    others = _of_others(values)
    for process, at in np.ndindex(values.shape):
        rest = [v for v in np.delete(values[:, at], process).tolist() if v == v]
        assert others[process, at] == (statistics.median_low(rest) if rest else 0)


def test_ten_times_as_slow_for_six_seconds_is_slow():
    assert found([0, 0, 3.3, 3.3, 3.3, 0, 0, 0]) == [(0, 2, 4)]
    assert found([0, 0, 3.3, 3.3, 0, 0, 0]) == []


def test_a_single_slice_is_never_slow_and_a_little_never_adds_up():
    assert found([0, 60, 0, 0]) == []
    assert found([1.1] * 500) == []


def test_a_quick_slice_in_between_does_not_end_it_and_a_long_pause_does():
    nan = float("nan")
    assert found([3, 3, 3, 0.2, nan, 3, 3, 3, 0]) == [(0, 0, 7)]
    assert found([3, 3, 3, 3, 0, 0, 0, 0, 3, 3, 3, 3]) == [(0, 0, 3), (0, 8, 11)]


def test_each_process_is_looked_at_by_itself():
    slow = [4.0] * 5
    assert found([0.0] * 5, slow, [0.0] * 5) == [(1, 0, 4)]


def test_a_process_that_runs_in_turns_is_slow_by_its_upper_quartile_beside_others():
    """Recorded of a broker that ran for 50 of every 500 ms: clients that were served at once asked again at once."""
    median, upper, tenth = np.array([[0.5] * 9, [0.8] * 9]), np.array([[5.8] * 9, [1.8] * 9]), np.full((2, 9), np.nan)
    own, doublings = _own([median, upper, tenth])
    assert own[0].tolist() == pytest.approx([5.8 - 1.8 - UPPER_DOUBLINGS] * 9)
    assert doublings.tolist() == [[5.8] * 9, [0.8] * 9]
    assert found(*own) == [(0, 0, 8)]
    assert found(*_own([median[:1], upper[:1], tenth[:1]])[0]) == [], "there is nobody to compare it with"


def test_a_follower_that_seldom_runs_is_slow_by_its_upper_tenth():
    """Recorded of a broker that led nothing and ran for 70 of every 700 ms: a few fetches in a row, then a pause."""
    median, upper = np.array([[0.8] * 9, [0.5] * 9, [0.6] * 9]), np.array([[2.2] * 9, [1.5] * 9, [1.8] * 9])
    tenth = np.array([[5.8] * 9, [2.8] * 9, [2.0] * 9])
    own, doublings = _own([median, upper, tenth])
    assert own[0].tolist() == pytest.approx([5.8 - 2.0 - TENTH_DOUBLINGS] * 9)
    assert doublings[0].tolist() == [5.8] * 9
    assert found(*own) == [(0, 0, 8)]
