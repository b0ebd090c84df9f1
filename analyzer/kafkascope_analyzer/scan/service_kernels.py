"""Kernels that follow the responses for each topic-partition, one after the other."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.stall_limit import LEAST_STALL_MS
from kafkascope_analyzer.scan.places import spread
from kafkascope_parsers.kernels import inlined, kernel

MILLISECOND = 1_000_000
LEAST_PAUSE_NS = LEAST_STALL_MS * MILLISECOND
"""Shortest pause or wait that is an event."""
UNKNOWN_DELAY = np.iinfo(np.int64).max
NO_MATCH = -1
"""The result of match_requests for a response without a request."""
FETCHED = np.dtype(
    [
        ("ts_ns", np.int64),
        ("number", np.int64),
        ("first_offset", np.int64),
        ("last_offset", np.int64),
        ("timestamp_ms", np.int64),
        ("n_records", np.int64),
    ]
)
"""Records of one topic-partition in a response to Fetch: the time of its last byte, the number of the request on the
connection, offsets (first_offset -1: only transaction markers), time of the first record (-1: not known)."""
RUN = np.dtype(
    [
        ("first_ns", np.int64),
        ("last_ns", np.int64),
        ("number", np.int64),
        ("last_number", np.int64),
        ("n", np.int64),
        ("n_records", np.int64),
        ("first_offset", np.int64),
        ("next_offset", np.int64),
        ("created_ns", np.int64),
        ("n_young", np.int64),
        ("last_answer_offset", np.int64),
        ("before_last_ns", np.int64),
        ("least_delay_ns", np.int64),
    ]
)
"""Consecutive responses with records of a topic-partition on a connection, without a wait between them. next_offset:
offset after the last record; created_ns: when the first record was created, assuming that the quickest record so far
took no time; n_young: number of responses whose first record took less than LEAST_PAUSE_NS longer than that one;
last_answer_offset: the first offset of the last response; before_last_ns: time of the previous response, 0 for none;
least_delay_ns: the shortest time between the time of a record and its response; n is 0 where there was no response yet.
"""


@inlined
def _extend(run, row, late_ns):  # type: ignore[no-untyped-def]
    """Adds a response to a run, or begins the run where n is 0. late_ns: how much longer its first record took than the
    quickest one."""
    next_offset = row["last_offset"] + 1
    run["before_last_ns"] = run["last_ns"] if run["n"] > 0 else 0
    run["last_answer_offset"] = row["first_offset"]
    if run["n"] == 0:
        run["first_ns"] = row["ts_ns"]
        run["number"] = row["number"]
        run["first_offset"] = row["first_offset"]
        run["next_offset"] = next_offset
        run["created_ns"] = row["ts_ns"] - late_ns
        run["n_young"] = 0
    run["n"] += 1
    run["n_young"] += late_ns < LEAST_PAUSE_NS
    run["n_records"] += row["n_records"]
    run["last_ns"] = row["ts_ns"]
    run["last_number"] = row["number"]
    run["next_offset"] = max(run["next_offset"], next_offset)


@kernel
def follow_fetched(slots, rows, runs, ended, ended_slots):  # type: ignore[no-untyped-def]
    """Adds responses to the runs of their connections and topic-partitions; returns the number of runs that ended.

    slots[i]: the index in `runs` of rows[i] (FETCHED), in order of time for each. ended, ended_slots: the runs (RUN)
    that ended, and their indices. A run ends before a response that comes LEAST_PAUSE_NS or more after the previous
    one, unless the response continues without a gap with a record of the usual age: then there were no records to
    deliver.
    """
    n_ended = 0
    for i in range(len(slots)):
        row, run = rows[i], runs[slots[i]]
        next_offset = row["last_offset"] + 1
        if row["first_offset"] < 0:
            if run["n"] > 0 and next_offset > run["next_offset"]:
                run["next_offset"] = next_offset
            continue
        delay = UNKNOWN_DELAY
        if row["timestamp_ms"] >= 0:
            delay = row["ts_ns"] - row["timestamp_ms"] * MILLISECOND
        if run["n"] == 0:
            run["least_delay_ns"] = UNKNOWN_DELAY
        run["least_delay_ns"] = min(run["least_delay_ns"], delay)
        late_ns = delay - run["least_delay_ns"]
        if run["n"] > 0 and row["ts_ns"] - run["last_ns"] >= LEAST_PAUSE_NS:
            is_young = delay != UNKNOWN_DELAY and late_ns < LEAST_PAUSE_NS
            if not (is_young and row["first_offset"] <= run["next_offset"]):
                ended[n_ended] = run
                ended_slots[n_ended] = slots[i]
                n_ended += 1
                run["n"] = 0
                run["n_records"] = 0
        _extend(run, row, late_ns if delay != UNKNOWN_DELAY else 0)
    return n_ended


@kernel
def measure_clocks(
    conn: NDArray[np.int64], distance_ns: NDArray[np.int64], edges: NDArray[np.int64], clocks: NDArray[np.int64]
) -> None:
    """Adds the distances between creation and sending of batches to the clocks of their connections.

    distance_ns[i]: UNKNOWN_DELAY where it is not known. clocks[conn]: the shortest distance; the number of distances
    that exceeded the shortest so far by at most each edge, and more than the previous edge; last, the shortest distance
    with which the others are compared. When the shortest has fallen below that by more than the last edge, all earlier
    distances exceed every edge: create times that run faster than the clock (a mirror that catches up) make it fall
    again and again.
    """
    for i in range(len(conn)):
        if distance_ns[i] == UNKNOWN_DELAY:
            continue
        clock = clocks[conn[i]]
        clock[0] = min(clock[0], distance_ns[i])
        if clock[-1] == UNKNOWN_DELAY:
            clock[-1] = clock[0]
        elif clock[-1] - clock[0] > edges[-1]:
            for below in range(len(edges)):
                clock[1 + len(edges)] += clock[1 + below]
                clock[1 + below] = 0
            clock[-1] = clock[0]
        above = distance_ns[i] - clock[0]
        place = 0
        while place < len(edges) and above > edges[place]:
            place += 1
        clock[1 + place] += 1


@kernel
def match_requests(sent, answered, table, matches):  # type: ignore[no-untyped-def]
    """Finds the request of each response: matches[i] is the row of `sent` with both numbers of answered[i], or
    NO_MATCH. sent, answered: int64[n, 2], connection with request, and topic-partition; table: its size a power of two,
    at least twice the length of `sent`, all NO_MATCH."""
    mask = len(table) - 1
    for i in range(len(sent)):
        at = spread(sent[i, 0], sent[i, 1]) & mask
        while table[at] != NO_MATCH:
            at = (at + 1) & mask
        table[at] = i
    for i in range(len(answered)):
        at = spread(answered[i, 0], answered[i, 1]) & mask
        matches[i] = NO_MATCH
        while table[at] != NO_MATCH:
            k = table[at]
            if sent[k, 0] == answered[i, 0] and sent[k, 1] == answered[i, 1]:
                matches[i] = k
                break
            at = (at + 1) & mask
