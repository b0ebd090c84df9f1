"""What the readers of requests and of responses share: writing frames and stretches, and questions about packets and
gaps.

A run's bytes are data[start:end]; a piece is the part of them that one packet brought (tcp.Streams).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.header import int32_at
from kafkascope_parsers.framing.layout import (
    CUT_BY_END,
    CUT_BY_GAP,
    CUT_BY_SNAPLEN,
    HUNT,
    REASON_END,
    REASON_GAP,
    REASON_MID_STREAM,
    REASON_SNAPLEN,
    START,
    SYNC,
    UNDECIDED_LIMIT,
)
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.streams import GAP_NONE, GAP_SNAPLEN, Streams


class Cut(NamedTuple):
    """What kernels write: frames and stretches, with their numbers in n[0] and n[1]; n[2]: the piece in which the last
    frame ends; entered: uint8 per run, 1 when the gap before it was noted; mode, reason: uint8 per run, those of its
    direction when it was entered; consumed: int64 per run, how far it was read in data, shared by the readers of
    requests and of responses.
    """

    frames: NDArray[np.void]
    stretches: NDArray[np.void]
    n: NDArray[np.int64]
    entered: NDArray[np.uint8]
    mode: NDArray[np.uint8]
    reason: NDArray[np.uint8]
    consumed: NDArray[np.int64]


class Framing(NamedTuple):
    """State that the kernels change (DIRECTION and CONNECTION rows), and the known versions of APIs (int16[n_keys,
    2])."""

    directions: NDArray[np.void]
    connections: NDArray[np.void]
    versions: NDArray[np.int16]


@kernel
def piece_at(s: Streams, at: int) -> int:
    """Index of the packet piece that holds the byte at `at`."""
    return piece_between(s, at, 0, len(s.piece_start))


@kernel
def piece_between(s: Streams, at: int, low: int, high: int) -> int:
    """Returns the index of the piece that holds the byte at `at`, which is one of low .. high - 1."""
    while low < high:
        middle = (low + high) >> 1
        if s.piece_start[middle] <= at:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


@kernel
def piece_from(s: Streams, near: int, at: int) -> int:
    """Returns the index of the piece that holds the byte at `at`, searching from the piece `near` on: frames follow
    each other, so it is that one or one of the next few."""
    low, step = near if s.piece_start[near] <= at else 0, 1
    while low + step < len(s.piece_start) and s.piece_start[low + step] <= at:
        low += step
        step *= 2
    return piece_between(s, at, low, min(low + step, len(s.piece_start)))


@kernel
def begins_packet(s: Streams, run: int, at: int) -> bool:
    """Whether a packet or the run begins at `at`, or the run ends there."""
    return at == s.start[run] or at == s.end[run] or s.piece_start[piece_at(s, at)] == at


@kernel
def add_stretch(s: Streams, cut: Cut, run: int, at: int, to: int, reason: int) -> None:
    """Writes data[at:to] of the run as a stretch; adjoining stretches of one reason become one."""
    if to <= at:
        return
    offset = s.stream_offset[run] + at - s.start[run]
    n = cut.n[1]
    if n > 0:
        last = cut.stretches[n - 1]
        if (
            last.direction == s.direction[run]
            and last.reason == reason
            and last.stream_offset + last.length == offset
            and last.start + last.length == at
        ):
            cut.stretches[n - 1].length += to - at
            return
    piece = piece_at(s, at)
    row = cut.stretches[n]
    row.direction = s.direction[run]
    row.stream_offset = offset
    row.start = at
    row.length = to - at
    row.ts_ns = s.piece_ts_ns[piece]
    row.packet_no = s.piece_packet[piece]
    row.reason = reason
    cut.n[1] = n + 1


@kernel
def add_frame(s: Streams, cut: Cut, run: int, at: int, to: int, wholeness: int) -> int:
    """Writes data[at:to] as a frame, its API fields still empty, and returns its index."""
    n = cut.n[0]
    first = piece_from(s, cut.n[2], at)
    last = piece_from(s, first, to - 1)
    cut.n[2] = last
    row = cut.frames[n]
    row.direction = s.direction[run]
    row.start = at
    row.end = to
    row.size = 4 + int32_at(s.data, at)
    row.ts_ns = s.piece_ts_ns[first]
    row.last_ns = s.piece_ts_ns[last]
    row.packet_no = s.piece_packet[first]
    row.number = 0
    row.row = -1
    row.correlation_id = 0
    row.in_flight = 0
    row.api_key = -1
    row.api_version = -1
    row.client_id_length = -1
    row.before_ns = 0
    row.out_of_order = 0
    row.wholeness = wholeness
    cut.n[0] = n + 1
    return n


@kernel
def has_later_run(s: Streams, run: int) -> bool:
    """Whether the same direction continues in this block, after a gap."""
    return run + 1 < len(s.direction) and s.direction[run + 1] == s.direction[run]


@kernel
def is_ended(s: Streams, run: int) -> bool:
    """Whether bytes after the run are known to be missing."""
    return has_later_run(s, run) or s.gap_after[run] != GAP_NONE


@kernel
def cut_reason(s: Streams, run: int) -> tuple[int, int]:
    """(wholeness, reason) of a frame that is cut by the end of this run."""
    if not is_ended(s, run):
        return CUT_BY_END, REASON_END
    kind = s.gap_kind[run + 1] if has_later_run(s, run) else s.gap_after[run]
    if kind == GAP_SNAPLEN:
        return CUT_BY_SNAPLEN, REASON_SNAPLEN
    return CUT_BY_GAP, REASON_GAP


@kernel
def enter_run(s: Streams, run: int, d: NDArray[np.void], k: int) -> None:
    """Sets the mode of the direction at the start of a run: a gap before it ends SYNC; a stream that does not start
    with the connection's first byte is searched (HUNT)."""
    if s.gap_before[run] > 0:
        if d[k].mode == SYNC or d[k].mode == START:
            d[k].mode = HUNT
            d[k].reason = REASON_SNAPLEN if s.gap_kind[run] == GAP_SNAPLEN else REASON_GAP
        elif d[k].mode == HUNT and d[k].reason == REASON_MID_STREAM:
            d[k].reason = REASON_GAP


@kernel
def pass_over_expected(s: Streams, cut: Cut, run: int, at: int, d: NDArray[np.void]) -> int:
    """EXPECT: skips bytes up to the expected frame and returns the new place; changes to HUNT when that place is
    already past.
    """
    k = s.direction[run]
    here = s.stream_offset[run] + at - s.start[run]
    if d[k].expect < here:
        d[k].mode = HUNT
        return at
    to = min(s.end[run], at + d[k].expect - here)
    add_stretch(s, cut, run, at, to, d[k].reason)
    return to


@kernel
def enter_once(s: Streams, cut: Cut, run: int, d: NDArray[np.void]) -> None:
    """Notes the gap before a run, once in a block."""
    if not cut.entered[run]:
        k = s.direction[run]
        cut.entered[run] = 1
        enter_run(s, run, d, k)
        cut.mode[run], cut.reason[run] = d[k].mode, d[k].reason


@kernel
def return_to(s: Streams, cut: Cut, run: int, d: NDArray[np.void]) -> None:
    """Restores the state that a direction had when the run was entered. A search looks at all runs of a block before it
    is known which of them are read, and gaps after the run that is read first must not be noted before it."""
    k = s.direction[run]
    enter_once(s, cut, run, d)
    d[k].mode, d[k].reason = cut.mode[run], cut.reason[run]
    later = run + 1
    while later < len(s.direction) and s.direction[later] == k:
        cut.entered[later] = 0
        later += 1


@kernel
def packet_start(s: Streams, run: int, at: int) -> int:
    """The first byte of the packet with the byte at `at`. A search that waits for more bytes restarts there, so that
    results do not depend on where blocks end.
    """
    return max(s.start[run], s.piece_start[piece_at(s, at)])


@kernel
def pass_over(s: Streams, cut: Cut, run: int, to: int, f: Framing) -> None:
    """Gives up the bytes before `to` of an undecided run that was entered."""
    d = f.directions[s.direction[run]]
    if to > cut.consumed[run]:
        add_stretch(s, cut, run, cut.consumed[run], to, cut.reason[run])
        cut.consumed[run] = to
        if d.mode == START:
            d.mode = HUNT


@kernel
def keep_recent(s: Streams, cut: Cut, run: int, to: int, f: Framing) -> None:
    """Gives up whole packets that lie UNDECIDED_LIMIT before `to` or earlier."""
    if to - UNDECIDED_LIMIT > s.start[run]:
        pass_over(s, cut, run, packet_start(s, run, to - UNDECIDED_LIMIT), f)


@kernel
def pass_over_before(s: Streams, cut: Cut, run: int, at: int, f: Framing) -> None:
    """Gives up the bytes that the direction of an undecided run brought before `at`, also those of earlier runs, which
    a smaller block would have given up."""
    first = run
    while first > 0 and s.direction[first - 1] == s.direction[run]:
        first -= 1
    for earlier in range(first, run):
        enter_once(s, cut, earlier, f.directions)
        pass_over(s, cut, earlier, s.end[earlier], f)
    return_to(s, cut, run, f.directions)
    pass_over(s, cut, run, at, f)
