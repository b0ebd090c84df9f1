"""Times that no file covers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered

TIMES = Uncovered.of([[40, 50], [10, 20]])


def test_what_is_covered_is_the_rest_of_the_capture():
    assert TIMES.covered((0, 90)) == ((0, 10), (20, 40), (50, 90))
    assert NOTHING_UNCOVERED.covered((3, 7)) == ((3, 7),)


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_stretch_is_asked_alone_or_with_others(begin, end):
    inside = [one for one, other in TIMES.times if begin <= one and other <= end]
    assert TIMES.first_in(begin, end) == (inside[0] if inside else None)
    assert TIMES.lie_in(np.array([begin]), np.array([end])).tolist() == [bool(inside)]
    assert NOTHING_UNCOVERED.lie_in(np.array([begin]), np.array([end])).tolist() == [False]
