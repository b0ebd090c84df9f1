from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.cut.spans import SpanIndex, merged, spans

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(-3, 20)), max_size=25)


def members(rows: list[tuple[int, int, int]]) -> set[tuple[int, int]]:
    return {(owner, t) for owner, start, length in rows for t in range(start, start + length + 1)}


@given(ROWS)
def test_merged_spans_hold_the_same_times_and_do_not_touch(rows: list[tuple[int, int, int]]) -> None:
    columns = zip(*((owner, start, start + length) for owner, start, length in rows), strict=True)
    found = merged([spans(*columns) if rows else spans([], [], [])])
    kept = list(zip(found.owner.tolist(), found.start_ns.tolist(), found.end_ns.tolist(), strict=True))
    assert members([(owner, start, end - start) for owner, start, end in kept]) == members(rows)
    assert kept == sorted(kept)
    assert all(a[0] != b[0] or a[2] < b[1] for a, b in pairwise(kept))


@given(ROWS)
def test_index_finds_every_time_in_its_span(rows: list[tuple[int, int, int]]) -> None:
    columns = zip(*((owner, start, start + length) for owner, start, length in rows), strict=True)
    index = SpanIndex(merged([spans(*columns) if rows else spans([], [], [])]))
    asked = [(owner, t) for owner in range(-1, 5) for t in range(-5, 90)]
    owners, times = (np.array(column, np.int64) for column in zip(*asked, strict=True))
    inside = index.find(owners, times) >= 0
    assert {pair for pair, found in zip(asked, inside.tolist(), strict=True) if found} == members(rows)


def test_times_near_the_ends_of_int64_do_not_wrap() -> None:
    index = SpanIndex(merged([spans([0, 70_000], [-(1 << 62), 5], [1 << 62, 1 << 62])]))
    owners = np.array([0, 0, 70_000, 70_000, 69_999], np.int64)
    times = np.array([1 << 61, -(1 << 61), 4, 1 << 62, 6], np.int64)
    assert (index.find(owners, times) >= 0).tolist() == [True, True, False, True, False]


@pytest.mark.parametrize("ends", [[], [(3, 9)]])
def test_bounds(ends: list[tuple[int, int]]) -> None:
    found = merged([spans([0] * len(ends), [a for a, _ in ends], [b for _, b in ends])])
    assert SpanIndex(found).bounds == (ends[0] if ends else (0, -1))
