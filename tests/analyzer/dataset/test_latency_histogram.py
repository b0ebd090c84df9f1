"""Classes of latencies and percentiles, against sorted lists."""

import itertools
import math
from collections import Counter

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.latency_histogram import (
    MIDDLE_SQL,
    N_CLASSES,
    added_up,
    histogram_of,
    lowest_us,
    percentile_us,
    width_us,
)

LATENCIES = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 1 << 36)), min_size=1, max_size=50)


def test_each_class_begins_where_the_one_before_it_ends():
    edges = [lowest_us(number) for number in range(N_CLASSES)]
    assert edges[0] == 0
    assert all(low + width_us(low) == high for low, high in itertools.pairwise(edges))
    assert all(width_us(low) <= max(low / 8, 1) for low in edges)
    assert edges[-1] + width_us(edges[-1]) > 3 * 24 * 3600 * 10**6 * 0.99


def class_of(us):
    return max(low for low in map(lowest_us, range(N_CLASSES)) if low <= us)


@given(LATENCIES, st.sampled_from([0.5, 0.99, 1.0]))
def test_a_percentile_is_near_that_of_the_sorted_latencies(latencies, share):
    counts = Counter(class_of(us) for us in latencies)
    true = sorted(latencies)[math.ceil(share * len(latencies)) - 1]
    assert abs(percentile_us(counts, share) - true) <= max(true / 16, 0.5) + 0.5


@given(LATENCIES, LATENCIES)
def test_histograms_add_up(one, other):
    parts = [histogram_of(Counter(map(class_of, each))) for each in (one, other)]
    assert added_up([*parts, None]) == Counter(map(class_of, one + other))


def test_without_latencies_there_is_no_percentile():
    assert percentile_us({}, 0.5) is None


def test_duckdb_has_the_middle_of_every_class_too():
    for low in map(lowest_us, range(N_CLASSES)):
        ((middle,),) = duckdb.sql(f"select {MIDDLE_SQL.format(from_us=low)}").fetchall()
        assert middle == percentile_us({low: 1}, 0.5)
