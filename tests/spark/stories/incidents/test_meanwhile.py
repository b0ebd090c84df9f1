"""The filter for several spans of time."""

from itertools import pairwise

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.incidents.packets import meanwhile
from kafkascope_spark.stories.incidents.packets.meanwhile import within

TIMES = st.integers(0, 60)
ROWS = pa.table({"ts_ns": pa.array(range(61), pa.int64())})
SPANS = st.lists(st.tuples(TIMES, st.integers(0, 6)).map(lambda pair: (pair[0], pair[0] + pair[1])), min_size=1)


def rows_of(spans: list[tuple[int, int]]) -> list[int]:
    found: list[int] = ds.dataset(ROWS).to_table(filter=within("ts_ns", spans))["ts_ns"].to_pylist()
    return found


@settings(max_examples=40, deadline=None)
@given(SPANS)
def test_the_rows_of_the_spans_are_found(spans: list[tuple[int, int]]) -> None:
    assert rows_of(spans) == [time for time in range(61) if any(start <= time <= end for start, end in spans)]


@settings(max_examples=40, deadline=None)
@given(SPANS, st.integers(1, 3))
def test_many_spans_are_few_ranges_that_hold_them(spans: list[tuple[int, int]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(meanwhile, "MOST_SPANS", most)
        found = rows_of(spans)
    assert {time for time in range(61) if any(start <= time <= end for start, end in spans)} <= set(found)
    assert sum(after - before > 1 for before, after in pairwise(found)) < most


def test_the_nearest_spans_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanwhile, "MOST_SPANS", 2)
    assert rows_of([(1, 2), (5, 6), (50, 51)]) == [1, 2, 3, 4, 5, 6, 50, 51]


def test_a_span_without_an_end_goes_on() -> None:
    assert rows_of([(58, 2 * FOREVER)]) == [58, 59, 60]
