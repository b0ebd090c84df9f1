"""Times of requests, looked up by connection and number."""

import numpy as np

from kafkascope_analyzer.resolve.requests.times_of_requests import TimesOfRequests


def test_each_request_that_is_asked_for_has_its_time() -> None:
    """One is asked for twice, one never comes; responses without a request have numbers below zero."""
    times = TimesOfRequests(np.array([2, 1, 2, 9, 3]), np.array([7, 7, 7, 0, 0]))
    times.take(np.array([1, 1, 2]), np.array([6, 7, 7]), np.array([10, 11, 12]))
    times.take(np.array([3, 4, 3]), np.array([-1, 0, 5]), np.array([13, 14, 15]))
    assert times.times().to_pylist() == [12, 11, 12, None, None]
    assert TimesOfRequests(np.array([], np.int64), np.array([], np.int64)).times().to_pylist() == []
