"""The kernels that follow producers and consumers, against plain Python that keeps every response."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.scan.clock_samples import CLOCK_EDGES_NS
from kafkascope_analyzer.scan.service_kernels import (
    FETCHED,
    LEAST_PAUSE_NS,
    MILLISECOND,
    NO_MATCH,
    RUN,
    UNKNOWN_DELAY,
    follow_fetched,
    match_requests,
    measure_clocks,
)

RESPONSE = st.tuples(
    st.integers(0, 1),  # slot
    st.integers(0, 900),  # milliseconds since the response before
    st.integers(-3, 3),  # first offset, from where the last response ended
    st.integers(0, 4),  # records after the first
    st.integers(-1, 1200),  # age of the first record in milliseconds, -1: not known
    st.booleans(),  # only transaction markers
)


def rows_of(drawn):
    rows, slots, ms, offset = np.zeros(len(drawn), FETCHED), [], 10_000, 50
    for i, (slot, pause, step, more, age, control) in enumerate(drawn):
        ms += pause
        first = offset + step
        offset = first + more + 1
        rows[i] = (ms * MILLISECOND, i, -1 if control else first, offset - 1, -1 if age < 0 else ms - age, more + 1)
        slots.append(slot)
    return np.array(slots, np.int64), rows


def runs_in_python(slots, rows):
    """(slot, times, offsets) of each run, from lists of all its responses."""
    runs, least = {0: [], 1: []}, {0: None, 1: None}
    for slot, row in zip(slots.tolist(), rows, strict=True):
        ts, first, last, stamp = (int(row[n]) for n in ("ts_ns", "first_offset", "last_offset", "timestamp_ms"))
        mine = runs[slot]
        if first < 0:
            if mine:
                mine[-1]["next"] = max(mine[-1]["next"], last + 1)
            continue
        age = None if stamp < 0 else ts - stamp * MILLISECOND
        known = [a for a in (age, least[slot]) if a is not None]
        young = age is not None and age - min(known) < LEAST_PAUSE_NS
        waited = bool(mine) and ts - mine[-1]["times"][-1] >= LEAST_PAUSE_NS
        if not mine or (waited and not (young and first <= mine[-1]["next"])):
            late = age - min(known) if age is not None else 0
            mine.append({"times": [], "first": first, "next": last + 1, "created": ts - late, "young": 0})
        mine[-1]["times"].append(ts)
        mine[-1]["young"] += age is None or age - min(known) < LEAST_PAUSE_NS
        mine[-1]["answer"] = first
        mine[-1]["next"] = max(mine[-1]["next"], last + 1)
        least[slot] = min(known) if known else None
    return sorted((slot, *fields_of(run)) for slot in runs for run in runs[slot])


def fields_of(run):
    times, young = run["times"], (run["created"], run["young"])
    offsets = run["first"], run["next"], run["answer"]
    return times[0], times[-1], len(times), *offsets, ([0, *times])[-2], *young


def as_tuple(slot, run):
    fields = ("first_ns", "last_ns", "n", "first_offset", "next_offset", "last_answer_offset", "before_last_ns")
    return slot, *(int(run[name]) for name in (*fields, "created_ns", "n_young"))


@settings(max_examples=300)  # a kernel may have to be compiled first
@given(st.lists(RESPONSE, max_size=40), st.integers(0, 40))
def test_runs_are_those_of_plain_python(drawn, cut):
    slots, rows = rows_of(drawn)
    runs, found = np.zeros(2, RUN), []
    for part in (slice(0, cut), slice(cut, None)):
        ended, places = np.empty(len(slots[part]), RUN), np.empty(len(slots[part]), np.int64)
        n = follow_fetched(slots[part], rows[part], runs, ended, places)
        found += [as_tuple(int(places[i]), ended[i]) for i in range(n)]
    found += [as_tuple(slot, run) for slot, run in enumerate(runs) if run["n"]]
    assert sorted(found) == runs_in_python(slots, rows)


@given(st.lists(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(-2000, 3000))), max_size=30))
def test_clocks_are_those_of_plain_python(batches):
    conn = np.array([c for c, _ in batches], np.int64)
    distance = np.array([UNKNOWN_DELAY if d is None else d * MILLISECOND for _, d in batches], np.int64)
    clocks = np.zeros((3, len(CLOCK_EDGES_NS) + 3), np.int64)
    clocks[:, [0, -1]] = UNKNOWN_DELAY
    measure_clocks(conn, distance, CLOCK_EDGES_NS, clocks)
    want = np.zeros_like(clocks)
    want[:, [0, -1]] = UNKNOWN_DELAY
    for c, d in zip(conn.tolist(), distance.tolist(), strict=True):
        if d != UNKNOWN_DELAY:
            want[c, 0] = min(want[c, 0], d)
            if int(want[c, -1]) - int(want[c, 0]) > CLOCK_EDGES_NS[-1]:
                want[c, -2] = want[c, 1:-1].sum()
                want[c, 1:-2] = 0
                want[c, -1] = want[c, 0]
            above = d - want[c, 0]
            want[c, 1 + sum(above > edge for edge in CLOCK_EDGES_NS)] += 1
    assert clocks.tolist() == want.tolist()


def test_create_times_that_run_faster_than_the_clock_are_far_from_the_shortest_distance():
    """At a thousand batches a second and twice the clock's rate, each is only 1 ms nearer than the one before."""
    clocks = np.zeros((2, len(CLOCK_EDGES_NS) + 3), np.int64)
    clocks[:, [0, -1]] = UNKNOWN_DELAY
    n = 10_000
    falling = np.arange(n, 0, -1) * MILLISECOND
    measure_clocks(np.zeros(n, np.int64), falling, CLOCK_EDGES_NS, clocks)
    measure_clocks(np.ones(n, np.int64), np.full(n, 3 * MILLISECOND), CLOCK_EDGES_NS, clocks)
    assert clocks[0, -2] > 0.9 * n
    assert clocks[1, 1] == n


PAIR = st.tuples(st.integers(0, 1 << 40), st.integers(0, 6))


@given(st.lists(PAIR, unique=True, max_size=40), st.lists(PAIR, max_size=20))
def test_responses_find_their_requests(sent, others):
    answered = [*sent[::2], *others]
    table, matches = np.full(128, NO_MATCH), np.empty(len(answered), np.int64)
    as_rows = (np.array(rows, np.int64).reshape(-1, 2) for rows in (sent, answered))
    match_requests(*as_rows, table, matches)
    assert matches.tolist() == [sent.index(pair) if pair in sent else NO_MATCH for pair in answered]
