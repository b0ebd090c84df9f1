"""Slots of a capture's time, against their definition."""

from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.report.model.request_counts.slots import MOST_SLOTS, SHORTEST_NS, Slots

STARTS = st.integers(0, 2**61)
LENGTHS = st.integers(1, 2**60)


def slots_of(start_ns: int, length_ns: int) -> Slots:
    slots = Slots(start_ns, start_ns + length_ns)
    while slots.n > MOST_SLOTS:
        slots = slots.doubled
    return slots


@given(STARTS, LENGTHS)
def test_slots_follow_each_other_and_cover_the_capture(start_ns: int, length_ns: int) -> None:
    slots = slots_of(start_ns, length_ns)
    times = [slots.times(number) for number in range(slots.n)]
    assert times[0][0] == start_ns
    assert times[-1][1] >= start_ns + length_ns
    assert all(end == begin for (_, end), (begin, _) in pairwise(times))
    assert {end - begin for begin, end in times[:-1]} <= {slots.length_ns}
    assert slots.length_ns <= times[-1][1] - times[-1][0] < 2 * slots.length_ns
    assert slots.n <= MOST_SLOTS
    assert slots.n >= MOST_SLOTS // 2 or slots.length_ns == SHORTEST_NS


@given(STARTS, LENGTHS, LENGTHS)
def test_each_slot_of_a_longer_capture_is_made_of_whole_slots(start_ns: int, first: int, more: int) -> None:
    shorter, longer = slots_of(start_ns, first), slots_of(start_ns, first + more)
    begins = {shorter.start_ns + number * shorter.length_ns for number in range(shorter.n)}
    assert not longer.length_ns % shorter.length_ns
    assert {
        begin for begin, _ in map(longer.times, range(longer.n)) if begin < shorter.times(shorter.n - 1)[0]
    } <= begins


@given(st.integers(1, 10**12), st.lists(st.floats(-0.1, 1), min_size=1, max_size=3))
def test_sql_finds_the_slot_of_a_time(length_ns: int, shares: list[float]) -> None:
    slots = slots_of(1_795_235_288_000_000_000, length_ns)
    begins = [slots.times(number)[0] for number in range(slots.n)]
    for share in shares:
        ts_ns = slots.start_ns + min(int(share * length_ns), length_ns - 1)
        query = f"select {slots.number_sql(slots.counted_sql)} from (select {ts_ns}::bigint as ts_ns)"
        ((number,),) = CONNECTION.execute(query).fetchall()
        assert number == max(bisect_right(begins, ts_ns) - 1, 0)


def test_slots_of_half_the_number_are_found_from_the_others() -> None:
    slots = replace(slots_of(0, 10**12), end_ns=10**12)
    query = f"select {slots.doubled.number_sql('7', parts=slots)}"
    assert CONNECTION.execute(query).fetchall() == [(3,)]


CONNECTION = duckdb.connect()
