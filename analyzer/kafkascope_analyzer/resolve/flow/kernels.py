"""Kernels that follow records through topic-partitions: from the response that accepts them to the response that
delivers them to each group.

For each topic-partition they keep ranges of offsets with the time of their acceptance (ACCEPTANCE), in a bounded number
of pieces: adjacent pieces are joined as soon as they are much older than they are apart, so that a latency stays within
a class of the histogram. For each group and topic-partition they keep the read position. Everything else is counted in
cells, one for each connection and topic-partition, which are emptied at the end of each time slice.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.latency_histogram import N_CLASSES, STEPS_LOG2
from kafkascope_parsers.kernels import inlined, kernel

NONE = -1
"""Stands for an unknown offset, time or latency."""
US = 1_000
ACCEPTED = np.dtype(
    [
        ("ts_ns", np.int64),
        ("cell", np.int64),
        ("place", np.int64),
        ("first_offset", np.int64),
        ("n_records", np.int64),
        ("record_bytes", np.int64),
        ("oldest_us", np.int64),
        ("youngest_us", np.int64),
    ]
)
"""Records of a topic-partition that a response accepted at ts_ns. oldest_us, youngest_us: age of the first and the last
of them at that time; NONE where it is not known."""
FETCHED = np.dtype(
    [
        ("ts_ns", np.int64),
        ("cell", np.int64),
        ("place", np.int64),
        ("reader", np.int64),
        ("first_offset", np.int64),
        ("last_offset", np.int64),
        ("n_records", np.int64),
        ("record_bytes", np.int64),
        ("high_watermark", np.int64),
    ]
)
"""A topic-partition in a response to Fetch. reader: number of group and topic-partition; first_offset, last_offset:
NONE without records (first_offset: where there are only transaction markers)."""
CELL = np.dtype(
    [
        ("n_responses", np.int64),
        ("first_ns", np.int64),
        ("last_ns", np.int64),
        ("n_records", np.int64),
        ("n_again", np.int64),
        ("record_bytes", np.int64),
        ("end_offset", np.int64),
        ("next_offset", np.int64),
        ("lag_first", np.int64),
        ("lag_last", np.int64),
        ("lag_max", np.int64),
    ]
)
"""The counts of a connection and topic-partition in a time slice; columns of ProduceSlice and FetchSlice. n_again: of
FetchSlice only."""
READER = np.dtype([("next_offset", np.int64), ("position", np.int64)])
"""The read position of a group in a topic-partition: the first offset that no response has delivered, and the offset
after the latest response, which is lower where the group has gone back."""
ACCEPTANCE = np.dtype(
    [("first_offset", np.int64), ("next_offset", np.int64), ("from_ns", np.int64), ("to_ns", np.int64)]
)
"""Offsets of a topic-partition that were accepted between two times."""
MOST_PIECES = 256
"""Most pieces of one topic-partition. With an age of a day and pieces that are apart by an eighth of their age 160
suffice."""
_AGE_SHIFT = 3
_MOST_MARKERS = 2
"""Most offsets between two pieces that are joined: a transaction marker takes an offset, but is not a record."""
_MOST_STEPS = 8
"""Most latencies over which the records of a batch are spread, evenly from the oldest to the youngest."""


class FlowState(NamedTuple):
    """The state of follow_flow between two calls. cells: CELL; counts: histograms, int32[n cells, N_CLASSES]; readers:
    READER; pieces: ACCEPTANCE[n places, MOST_PIECES], the first n_pieces of which are used, by offset; slices: one
    number, the current slice, or NONE."""

    cells: NDArray[np.void]
    counts: NDArray[np.int32]
    readers: NDArray[np.void]
    pieces: NDArray[np.void]
    n_pieces: NDArray[np.int64]
    slices: NDArray[np.int64]


class ProduceState(NamedTuple):
    """The state of count_produced between two calls, as in FlowState."""

    cells: NDArray[np.void]
    counts: NDArray[np.int32]
    slices: NDArray[np.int64]


@kernel
def latency_class(latency_us):  # type: ignore[no-untyped-def]
    """Returns the class of a latency (dataset.latency_histogram); a negative one counts as 0."""
    value = max(np.int64(latency_us), np.int64(0))
    shift = np.int64(0)
    while (value >> shift) >= (2 << STEPS_LOG2):
        shift += 1
    return min((shift << STEPS_LOG2) + (value >> shift), np.int64(N_CLASSES - 1))


@kernel
def follow_flow(accepted, fetched, times, places, state):  # type: ignore[no-untyped-def]
    """Counts fetched records, and keeps when records were accepted, in order of time, until a time slice has ended.

    accepted, fetched: ACCEPTED and FETCHED by time. times: length of a slice, and the delay with which responses to
    Fetch are processed, because the producer may get its response a little later than a consumer gets the records.
    places: the next row of each, which is advanced. Returns False at the end of both, True where the slice has ended:
    the caller has to empty its cells and set its number to NONE.
    """
    while places[0] < len(accepted) or places[1] < len(fetched):
        i, j = places[0], places[1]
        is_fetch = i >= len(accepted)
        if not is_fetch and j < len(fetched):
            is_fetch = fetched[j]["ts_ns"] + times[1] < accepted[i]["ts_ns"]
        if is_fetch:
            number = fetched[j]["ts_ns"] // times[0]
            if state.slices[0] != number:
                if state.slices[0] != NONE:
                    return True
                state.slices[0] = number
            _fetch(fetched[j], state)
        elif accepted[i]["first_offset"] >= 0 and accepted[i]["n_records"] > 0:
            _keep(accepted[i], accepted[i]["first_offset"] + accepted[i]["n_records"], state)
        places[1 if is_fetch else 0] += 1
    return False


@kernel
def count_produced(accepted, slice_ns, start, state):  # type: ignore[no-untyped-def]
    """Counts accepted records (ACCEPTED) from the row `start` on, until a time slice has ended: the caller then has to
    empty its cells and set its number in the state (ProduceState) to NONE. Returns the next row."""
    for i in range(start, len(accepted)):
        number = accepted[i]["ts_ns"] // slice_ns
        if state.slices[0] != number:
            if state.slices[0] != NONE:
                return i
            state.slices[0] = number
        _accept(accepted[i], state)
    return len(accepted)


@kernel
def _accept(row, state):  # type: ignore[no-untyped-def]
    """Counts accepted records."""
    cell = state.cells[row["cell"]]
    _note_response(cell, row["ts_ns"])
    cell["n_records"] += row["n_records"]
    cell["record_bytes"] += row["record_bytes"]
    if row["oldest_us"] != NONE:
        counts = state.counts[row["cell"]]
        steps = min(row["n_records"], _MOST_STEPS)
        for step in range(steps):
            n = row["n_records"] * (step + 1) // steps - row["n_records"] * step // steps
            younger = (row["oldest_us"] - row["youngest_us"]) * (2 * step + 1) // (2 * steps)
            counts[latency_class(row["oldest_us"] - younger)] += n
    if row["first_offset"] >= 0 and row["n_records"] > 0:
        cell["end_offset"] = max(cell["end_offset"], row["first_offset"] + row["n_records"])


@inlined
def _note_response(cell, ts_ns):  # type: ignore[no-untyped-def]
    """Counts one more response in a cell, which gets its first time if it is new."""
    if cell["n_responses"] == 0:
        cell["first_ns"] = ts_ns
        cell["end_offset"] = NONE
        cell["next_offset"] = NONE
        cell["lag_first"] = NONE
        cell["lag_last"] = NONE
        cell["lag_max"] = NONE
    cell["n_responses"] += 1
    cell["last_ns"] = ts_ns


@kernel
def _keep(row, next_offset, state):  # type: ignore[no-untyped-def]
    """Keeps when offsets were accepted. For a batch that was sent and accepted twice the first time counts."""
    pieces, n = state.pieces[row["place"]], state.n_pieces[row["place"]]
    if n == MOST_PIECES:
        n = _join_pieces(pieces, n, row["ts_ns"])
    at = n
    while at > 0 and pieces[at - 1]["first_offset"] >= next_offset:
        at -= 1
    if at == 0 or pieces[at - 1]["next_offset"] <= row["first_offset"]:
        for k in range(n, at, -1):
            _copy(pieces[k], pieces[k - 1])
        pieces[at]["first_offset"] = row["first_offset"]
        pieces[at]["next_offset"] = next_offset
        pieces[at]["from_ns"] = row["ts_ns"]
        pieces[at]["to_ns"] = row["ts_ns"]
        n += 1
    state.n_pieces[row["place"]] = n


@inlined
def _copy(to, piece):  # type: ignore[no-untyped-def]
    """Copies one piece over another."""
    to["first_offset"] = piece["first_offset"]
    to["next_offset"] = piece["next_offset"]
    to["from_ns"] = piece["from_ns"]
    to["to_ns"] = piece["to_ns"]


@kernel
def _join_pieces(pieces, n, now_ns):  # type: ignore[no-untyped-def]
    """Joins adjacent pieces that are older than eight times the distance between their times; where there are none,
    drops the piece with the lowest offsets. Returns the number of pieces."""
    kept = 0
    for k in range(1, n):
        begun_ns = min(pieces[kept]["from_ns"], pieces[k]["from_ns"])
        ended_ns = max(pieces[kept]["to_ns"], pieces[k]["to_ns"])
        is_next = pieces[k]["first_offset"] - pieces[kept]["next_offset"] <= _MOST_MARKERS
        if is_next and ended_ns - begun_ns <= (now_ns - ended_ns) >> _AGE_SHIFT:
            pieces[kept]["next_offset"] = pieces[k]["next_offset"]
            pieces[kept]["from_ns"] = begun_ns
            pieces[kept]["to_ns"] = ended_ns
        else:
            kept += 1
            _copy(pieces[kept], pieces[k])
    kept += 1
    if kept == n:
        for k in range(1, n):
            _copy(pieces[k - 1], pieces[k])
        kept -= 1
    return kept


@kernel
def _fetch(row, state):  # type: ignore[no-untyped-def]
    """Counts the new and the repeated records of a response to Fetch for its group, and the lag after it."""
    cell, reader = state.cells[row["cell"]], state.readers[row["reader"]]
    _note_response(cell, row["ts_ns"])
    if row["last_offset"] >= 0:
        end = row["last_offset"] + 1
        first = max(row["first_offset"], reader["next_offset"])
        if row["first_offset"] >= 0:
            cell["n_again"] += min(row["n_records"], max(min(end, reader["next_offset"]) - row["first_offset"], 0))
        if row["first_offset"] >= 0 and first < end:
            cell["n_records"] += min(row["n_records"], end - first)
            cell["record_bytes"] += row["record_bytes"]
            _count_fetched(row, first, end, state)
        reader["next_offset"] = max(reader["next_offset"], end)
        reader["position"] = end
        cell["next_offset"] = end
    if row["high_watermark"] >= 0:
        cell["end_offset"] = max(cell["end_offset"], row["high_watermark"])
        if reader["position"] >= 0:
            lag = max(row["high_watermark"] - reader["position"], 0)
            cell["next_offset"] = reader["position"]
            cell["lag_last"] = lag
            cell["lag_max"] = max(cell["lag_max"], lag)
            if cell["lag_first"] == NONE:
                cell["lag_first"] = lag


@kernel
def _count_fetched(row, first, end, state):  # type: ignore[no-untyped-def]
    """Counts the latencies of offsets from first to before end, for those whose acceptance time is known."""
    pieces, n = state.pieces[row["place"]], state.n_pieces[row["place"]]
    low, high = np.int64(0), n
    while low < high:
        middle = (low + high) // 2
        if pieces[middle]["next_offset"] > first:
            high = middle
        else:
            low = middle + 1
    counts = state.counts[row["cell"]]
    while low < n and pieces[low]["first_offset"] < end:
        piece = pieces[low]
        n_records = min(piece["next_offset"], end) - max(piece["first_offset"], first)
        accepted_ns = piece["from_ns"] + (piece["to_ns"] - piece["from_ns"]) // 2
        counts[latency_class((row["ts_ns"] - accepted_ns) // US)] += n_records
        low += 1
