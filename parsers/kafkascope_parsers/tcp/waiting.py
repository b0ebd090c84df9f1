"""Keeps payload that is not in sequence: parts that wait behind a hole until it is filled or given up.

Rules: of overlapping data the first is used. A hole is given up, as a gap with its length, when the peer acknowledged
all of it and sends payload (so a request that waits is out before its response), or the peer acknowledged all of it,
ACKED_SEGMENTS of the connection ago, or more waits behind it than the limits allow (buffer_limit), or the connection is
reset, its ports are taken by another one, or the capture ends. All of this except WAITING_BYTES_IN_ALL depends only on
the connection's own segments, so results do not depend on blocks and buckets.

The parts of a direction are a list through rows of PART, sorted and without overlaps; free rows are a list too.
Arguments are records: seg a SEGMENT_ROW, me a SIDE, n the COUNTERS; work has all arrays that are written.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.assemble import copy_bytes
from kafkascope_parsers.tcp.events import Event, note_event
from kafkascope_parsers.tcp.first_copies import FirstCopy, delivered_differences, differences
from kafkascope_parsers.tcp.state import (
    ACKED_SEGMENTS,
    E_DIFFERS,
    E_GAP,
    E_LIMIT,
    E_RETRANSMIT,
    FAR_LIMIT,
    FAR_SEGMENTS,
    FIRST_COPY_BYTES,
    FROM_BLOCK,
    FROM_WAITING,
    NOWHERE,
    RST,
    UNUSED,
    WAITING_BYTES,
    WAITING_SEGMENTS,
    Payloads,
)
from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_NONE, GAP_SNAPLEN

NEEDED_BY_A_SEGMENT = 8
"""Rows of chunks, events or parts that a segment needs if nothing waits."""


class Work(NamedTuple):
    """Arrays that are written: rows of PART, CHUNK, EVENT, COUNTERS; and the buffers that the rows point into."""

    parts: NDArray[np.void]
    chunks: NDArray[np.void]
    events: NDArray[np.void]
    n: NDArray[np.void]
    held: Payloads


@kernel
def rows_needed(me: Any, peer: Any) -> Any:
    """Rows of chunks, events or parts that a segment may need: each waiting part may be taken and leave two holes, each
    of them with one or two events."""
    return 4 * (np.int64(me.waiting) + np.int64(peer.waiting)) + NEEDED_BY_A_SEGMENT


@kernel
def move_on(me: Any, to: int) -> None:
    """Sets the stream offset of the direction's next byte."""
    me.next_seq = np.uint32((np.int64(me.next_seq) + to - me.next) & 0xFFFFFFFF)
    me.next = to


@kernel
def append_chunk(me: Any, n: Any, chunk: Any, direction: int) -> None:
    """Numbers the row of CHUNK that is written next; the caller fills it in."""
    chunk.direction, chunk.previous = direction, me.last_chunk
    me.last_chunk = n.first_chunk + n.chunks
    n.chunks += 1
    chunk.stream_offset = me.next
    chunk.gap_kind = me.gap_kind
    me.gap_kind = GAP_NONE


@kernel
def deliver_first(me: Any, direction: int, work: Work) -> None:
    """Takes the first part that waits, which is next in its stream."""
    n, p = work.n[0], me.first_waiting
    part = work.parts[p]
    size = part.end - part.start
    if part.source == NOWHERE:
        if me.gap_kind == GAP_NONE:
            me.gap_kind = GAP_SNAPLEN
    else:
        chunk = work.chunks[n.chunks]
        append_chunk(me, n, chunk, direction)
        chunk.at, chunk.length, chunk.source, chunk.position = part.at, size, part.source, part.position
        chunk.ts_ns, chunk.packet_no = part.ts_ns, part.packet_no
    move_on(me, part.end)
    me.first_waiting = part.following
    if me.first_waiting < 0:
        me.last_waiting = -1
    me.waiting -= 1
    me.waiting_bytes -= size
    n.waiting_bytes -= size
    n.parts_used -= 1
    part.source, part.following = UNUSED, np.int32(n.free_part)
    n.free_part = np.int64(p)


@kernel
def deliver_ready(me: Any, direction: int, work: Work) -> None:
    """Takes the parts that are next in their stream."""
    while me.first_waiting >= 0 and work.parts[me.first_waiting].start == me.next:
        deliver_first(me, direction, work)


@kernel
def give_up_hole(seg: Any, me: Any, direction: int, work: Work) -> None:
    """Makes the first hole a gap, at the time of the segment, and continues after it."""
    n, to = work.n[0], work.parts[me.first_waiting].start
    note_event(seg, n, work.events[n.events], Event(E_GAP, direction, me.next, to - me.next))
    move_on(me, to)
    me.gap_kind = GAP_LOST
    deliver_ready(me, direction, work)


@kernel
def give_up_all(seg: Any, me: Any, direction: int, work: Work) -> None:
    """Gives up every hole of a direction."""
    while me.first_waiting >= 0:
        give_up_hole(seg, me, direction, work)


@kernel
def give_up_acknowledged(seg: Any, answers: bool, me: Any, direction: int, work: Work) -> None:
    """Gives up the holes that the peer acknowledged. Once per segment of the connection; answers: the segment brings
    payload of the peer."""
    if me.first_waiting < 0 or me.acked < work.parts[me.first_waiting].start:
        me.acked_for = 0
        return
    me.acked_for += 1
    if answers or me.acked_for >= ACKED_SEGMENTS:
        me.acked_for = 0
        while me.first_waiting >= 0 and me.acked >= work.parts[me.first_waiting].start:
            give_up_hole(seg, me, direction, work)


@kernel
def hold_limits(seg: Any, me: Any, direction: int, work: Work) -> None:
    """Gives up holes until no more waits than the limits allow."""
    n = work.n[0]
    while me.first_waiting >= 0 and (
        me.waiting_bytes > WAITING_BYTES or me.waiting > WAITING_SEGMENTS or n.waiting_bytes > n.waiting_limit
    ):
        note_event(seg, n, work.events[n.events], Event(E_LIMIT, direction, me.next, me.waiting_bytes))
        give_up_hole(seg, me, direction, work)


@kernel
def is_far(ahead: int, me: Any) -> Any:
    """Whether a segment that far from the next byte is ignored. Many of them in a row are accepted."""
    if abs(ahead) <= FAR_LIMIT:
        me.far = 0
        return False
    me.far += 1
    return me.far < FAR_SEGMENTS


@kernel
def jump(seg: Any, ahead: int, me: Any, direction: int, work: Work) -> Any:
    """Continues with a far segment that is accepted; one that seems to be behind is ahead. Returns its offset."""
    n, to = work.n[0], me.next + ahead + (0 if ahead > 0 else 1 << 32)
    me.far = 0
    give_up_all(seg, me, direction, work)
    if to > me.next:
        note_event(seg, n, work.events[n.events], Event(E_GAP, direction, me.next, to - me.next))
        move_on(me, to)
        me.gap_kind = GAP_LOST
    return to


@kernel
def insert_part(seg: Any, start: int, stretch: tuple[int, int, int], me: Any, work: Work) -> Any:
    """Inserts bytes [a, b) of the segment, whose payload begins at start, behind the part `before` (-1: first).
    Returns its row."""
    a, b, before = stretch
    n, parts = work.n[0], work.parts
    p = n.free_part
    if p >= 0:
        n.free_part = np.int64(parts[p].following)
    else:
        p = n.parts
        n.parts += 1
    part = parts[p]
    part.start, part.end, part.position = a, b, n.position
    part.at, part.source = seg.offset + a - start, FROM_BLOCK
    if a >= start + seg.captured:
        part.at, part.source = 0, NOWHERE
    part.ts_ns, part.packet_no = seg.ts_ns, seg.packet_no
    if before < 0:
        part.following, me.first_waiting = me.first_waiting, np.int32(p)
    else:
        part.following, parts[before].following = parts[before].following, np.int32(p)
    if part.following < 0:
        me.last_waiting = np.int32(p)
    me.waiting += 1
    me.waiting_bytes += b - a
    n.waiting_bytes += b - a
    n.parts_used += 1
    return p


@kernel
def insert_fresh(seg: Any, start: int, me: Any, work: Work) -> Any:
    """Adds the new bytes of the segment to the waiting ones. Returns their number, and how the rest differs from
    waiting bytes (as `differences`)."""
    parts, n = work.parts, work.n[0]
    end, seen = start + seg.length, start + seg.captured
    at, fresh, first, total = max(start, me.next), np.int64(0), np.int64(-1), np.int64(0)
    before, p = np.int64(-1), np.int64(me.first_waiting)
    if p >= 0 and parts[me.last_waiting].end <= at:
        before, p = np.int64(me.last_waiting), np.int64(-1)
    while p >= 0 and parts[p].end <= at:
        before, p = p, np.int64(parts[p].following)
    while at < end:
        stop = end if p < 0 else min(end, parts[p].start)
        if at < stop:
            fresh += stop - at
            if at < seen:
                before = insert_part(seg, start, (at, min(stop, seen), before), me, work)
            if stop > seen:
                before = insert_part(seg, start, (max(at, seen), stop, before), me, work)
            at = stop
        else:
            part = parts[p]
            if part.position > n.position - FIRST_COPY_BYTES:
                copy = FirstCopy(part.start, part.end - part.start, part.at, np.int64(part.source))
                offset, found = differences(seg, start, copy, work.held)
                first = offset if total == 0 and found else first
                total += found
            at, before, p = part.end, p, np.int64(part.following)
    return fresh, first, total


@kernel
def take_disordered(seg: Any, start: int, me: Any, direction: int, work: Work) -> None:
    """Takes a payload that is not next in its stream, or before which others wait."""
    n = work.n[0]
    disordered = me.first_waiting >= 0 and start < work.parts[me.last_waiting].start
    first, total = np.int64(-1), np.int64(0)
    if start < me.next:
        first, total = delivered_differences(seg, start, me, (work.chunks, work.n), work.held)
    fresh, later, more = insert_fresh(seg, start, me, work)
    me.bytes += fresh
    if fresh < seg.length:
        me.retransmitted += 1
        event = Event(E_RETRANSMIT, direction, max(start, 0), seg.length - fresh)
        note_event(seg, n, work.events[n.events], event)
        if total + more > 0:
            event = Event(E_DIFFERS, direction, first if total else later, total + more)
            note_event(seg, n, work.events[n.events], event)
    elif disordered:
        me.out_of_order += 1
    deliver_ready(me, direction, work)
    hold_limits(seg, me, direction, work)


@kernel
def finish_waiting(seg: Any, sides: NDArray[np.void], work: Work) -> None:
    """Gives up every hole at the end of the capture; the time of each gap is that of the first part after it."""
    for d in range(len(sides)):
        me = sides[d]
        while me.first_waiting >= 0:
            part = work.parts[me.first_waiting]
            seg.ts_ns, seg.packet_no = part.ts_ns, part.packet_no
            give_up_hole(seg, me, d, work)


@kernel
def keep_waiting(work: Work, kept: NDArray[np.uint8]) -> int:
    """Copies the bytes of all parts out of the block. Returns their number; kept has room for all."""
    size = 0
    for p in range(work.n[0].parts):
        part = work.parts[p]
        if part.source not in (FROM_BLOCK, FROM_WAITING):
            continue
        at, length = part.at, part.end - part.start
        target = kept[size : size + length]
        if part.source == FROM_BLOCK:
            copy_bytes(target, work.held.block[at : at + length])
        else:
            copy_bytes(target, work.held.waiting[at : at + length])
        part.at, part.source = size, FROM_WAITING
        size += length
    return size


@kernel
def settle_holes(seg: Any, carries: bool, sides: tuple[Any, Any], direction: int, work: Work) -> None:
    """Gives up those holes of sender and receiver for which the segment is decisive, after its payload is sorted in."""
    me, peer = sides
    give_up_acknowledged(seg, False, me, direction, work)
    give_up_acknowledged(seg, carries, peer, direction ^ 1, work)
    if seg.tcp_flags & RST:
        give_up_all(seg, me, direction, work)
        give_up_all(seg, peer, direction ^ 1, work)
