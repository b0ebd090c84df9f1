"""The kernel that follows records through topic-partitions, against plain Python that keeps every offset."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.latency_histogram import N_CLASSES, lowest_us, width_us
from kafkascope_analyzer.resolve.flow.kernels import (
    ACCEPTANCE,
    ACCEPTED,
    CELL,
    FETCHED,
    MOST_PIECES,
    NONE,
    READER,
    FlowState,
    ProduceState,
    count_produced,
    follow_flow,
    latency_class,
)

MS = 1_000_000
SLICE_NS = 10**15
"""Longer than any of these examples."""


def state_of(n_cells, n_places, n_readers):
    readers = np.zeros(n_readers, READER)
    readers["position"] = NONE
    return FlowState(
        np.zeros(n_cells, CELL),
        np.zeros((n_cells, N_CLASSES), np.int32),
        readers,
        np.zeros((n_places, MOST_PIECES), ACCEPTANCE),
        np.zeros(n_places, np.int64),
        np.full(1, NONE),
    )


def follow(accepted, fetched, state, slice_ns=SLICE_NS, late_ns=0):
    rows = np.array(accepted, ACCEPTED), np.array(fetched, FETCHED)
    places = np.zeros(2, np.int64)
    ended = follow_flow(*rows, np.array([slice_ns, late_ns], np.int64), places, state)
    return ended, places.tolist()


def histogram(counts):
    return {lowest_us(int(number)): int(counts[number]) for number in np.flatnonzero(counts)}


def class_of(us):
    """The lowest latency of the class that has it, found by looking through all classes."""
    return max(lowest_us(number) for number in range(N_CLASSES) if lowest_us(number) <= us)


BATCH = st.tuples(st.integers(0, 1), st.integers(1, 5), st.integers(0, 400))
"""Topic-partition, records, milliseconds since the batch before."""
FETCH = st.tuples(
    st.integers(0, 1),  # topic-partition
    st.integers(0, 1),  # reader
    st.integers(0, 3000),  # milliseconds since the beginning
    st.integers(-4, 4),  # first offset, from where the reader is
    st.integers(0, 12),  # offsets, 0 for none
)


@given(st.lists(BATCH, max_size=12), st.lists(FETCH, max_size=12))
def test_latency_and_lag_are_those_of_each_offset(batches, fetches):
    accepted_at, end, accepted, now = {}, [0, 0], [], 0
    for place, n, pause in batches:
        now += pause * MS
        accepted.append((now, place, place, end[place], n, 100 * n, NONE, NONE))
        accepted_at |= {(place, offset): now for offset in range(end[place], end[place] + n)}
        end[place] += n
    fetched, latencies, lags = [], defaultdict(Counter), defaultdict(list)
    has, position, again = defaultdict(set), {}, Counter()
    for place, reader, ms, step, n in sorted(fetches, key=lambda each: each[2]):
        key, now = 2 * place + reader, ms * MS
        first = max(position.get(key, 0) + step, 0)
        high = sum(1 for (of, _), at in accepted_at.items() if of == place and at <= now)
        offsets = [offset for offset in range(first, first + n) if offset < high]
        if offsets:
            for offset in offsets:
                if offset >= max(has[key], default=-1) + 1:
                    latencies[key][class_of((now - accepted_at[place, offset]) // 1000)] += 1
                else:
                    again[key] += 1
            has[key] |= set(range(max(offsets) + 1))
            position[key] = offsets[-1] + 1
        bounds = (offsets[0], offsets[-1]) if offsets else (NONE, NONE)
        fetched.append((now, key, place, key, *bounds, len(offsets), 10, high))
        if key in position:
            lags[key].append(max(high - position[key], 0))
    state = state_of(4, 2, 4)
    assert follow(accepted, fetched, state) == (False, [len(accepted), len(fetched)])
    for key in range(4):
        cell = state.cells[key]
        assert histogram(state.counts[key]) == latencies[key]
        assert cell["n_records"] == sum(latencies[key].values())
        assert cell["n_again"] == again[key]
        if lags[key]:
            assert (cell["lag_first"], cell["lag_last"], cell["lag_max"]) == (
                lags[key][0],
                lags[key][-1],
                max(lags[key]),
            )


def produced(*rows, slice_ns=SLICE_NS):
    """The state when these rows of one cell were counted, and the row before which a slice had ended."""
    state = ProduceState(np.zeros(1, CELL), np.zeros((1, N_CLASSES), np.int32), np.full(1, NONE))
    return state, count_produced(np.array(list(rows), ACCEPTED), slice_ns, 0, state)


def test_a_batch_is_spread_from_its_oldest_record_to_its_youngest():
    state, _ = produced((1000 * MS, 0, 0, 0, 4, 100, 80_000, 0))
    expected = Counter(class_of(us) for us in (70_000, 50_000, 30_000, 10_000))
    assert histogram(state.counts[0]) == expected
    assert state.cells[0]["end_offset"] == 4


def test_a_batch_that_is_accepted_twice_was_accepted_the_first_time():
    state = state_of(1, 1, 1)
    again = [(t * MS, 0, 0, 0, 2, 100, NONE, NONE) for t in (1000, 4000)]
    follow(again, [(5000 * MS, 0, 0, 0, 0, 1, 2, 10, 2)], state)
    assert histogram(state.counts[0]) == {class_of(4_000_000): 2}


def test_a_response_of_the_consumer_may_come_before_that_of_the_producer():
    state = state_of(1, 1, 1)
    accepted, fetched = [(1002 * MS, 0, 0, 0, 1, 100, NONE, NONE)], [(1000 * MS, 0, 0, 0, 0, 0, 1, 10, 1)]
    follow(accepted, fetched, state, late_ns=250 * MS)
    assert histogram(state.counts[0]) == {0: 1}


def test_the_end_of_a_slice_stops_the_count_of_fetched_records():
    state = state_of(1, 1, 1)
    accepted = [(t * MS, 0, 0, i, 1, 1, NONE, NONE) for i, t in enumerate((100, 900, 1100))]
    fetched = [(t * MS, 0, 0, 0, 0, 1, 2, 10, 2) for t in (950, 1050)]
    assert follow(accepted, fetched, state, slice_ns=1000 * MS) == (True, [2, 1])
    assert (state.slices.tolist(), state.cells[0]["n_records"]) == ([0], 2)


def test_the_end_of_a_slice_stops_the_count_of_accepted_records():
    rows = [(t * MS, 0, 0, i, 1, 1, NONE, NONE) for i, t in enumerate((100, 900, 1100))]
    state, end = produced(*rows, slice_ns=1000 * MS)
    assert (end, state.slices.tolist(), state.cells[0]["n_records"]) == (2, [0], 2)


@pytest.mark.parametrize("n", [300, 5000])
def test_more_batches_than_pieces_keep_their_latency_within_a_class(n):
    """A group that comes an hour late to a partition with a batch each 20 ms."""
    state = state_of(1, 1, 1)
    step = 20 * MS
    accepted = [(i * step, 0, 0, 3 * i, 3, 1, NONE, NONE) for i in range(n)]
    now = n * step + 3600 * 1000 * MS
    follow(accepted, [], state)
    assert state.n_pieces[0] <= MOST_PIECES
    follow([], [(now, 0, 0, 0, 0, 3 * n - 1, 3 * n, 10, 3 * n)], state)
    found = histogram(state.counts[0])
    expected = Counter()
    for i in range(n):
        expected[class_of((now - i * step) // 1000)] += 3
    assert sum(found.values()) == 3 * n
    near = {us + side * width_us(us) for us in expected for side in (-1, 0, 1)}
    assert set(found) <= {class_of(us) for us in near}


@given(st.integers(0, 1 << 37))
def test_the_kernel_has_the_classes_of_the_contract(us):
    number = int(latency_class(us))
    assert lowest_us(number) <= us < lowest_us(number) + width_us(lowest_us(number))
