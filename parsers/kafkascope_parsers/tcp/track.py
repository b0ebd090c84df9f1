"""Takes a block's segments in capture order: finds their connections, counts, and takes payload.

A segment is in sequence if it begins at the direction's next byte and nothing waits: it is taken here. The others go
through `waiting`.

Arguments are records, as in `lifecycle`; work is all arrays that are written.
"""

from typing import Any, NamedTuple

import numpy as np

from kafkascope_parsers.kernels import inlined, kernel
from kafkascope_parsers.link.segments import DSACK, SegmentArrays
from kafkascope_parsers.tcp.ack_times import follow_acknowledgments
from kafkascope_parsers.tcp.events import Event, note_event
from kafkascope_parsers.tcp.flows import bucket_of, find_slot, segment_hash
from kafkascope_parsers.tcp.lifecycle import (
    distance,
    open_connection,
    opens_another,
    set_base,
    take_fin,
    take_rst,
    take_syn,
)
from kafkascope_parsers.tcp.liveness import follow_liveness
from kafkascope_parsers.tcp.spans import PACKETS, SPANS_PER_SEGMENT
from kafkascope_parsers.tcp.state import (
    ACK,
    CONNECTION_LIMIT,
    E_DSACK,
    E_KEEPALIVE,
    E_WINDOW_OPEN,
    E_ZERO_WINDOW,
    FAR_LIMIT,
    FIN,
    FIRST_COPY_COST,
    FROM_BLOCK,
    NO_EVENT,
    RST,
    SYN,
    WINDOW_LIMIT,
    Payloads,
    Tables,
    Taken,
)
from kafkascope_parsers.tcp.streams import GAP_NONE, GAP_SNAPLEN
from kafkascope_parsers.tcp.waiting import (
    Work,
    append_chunk,
    give_up_all,
    is_far,
    jump,
    rows_needed,
    settle_holes,
    take_disordered,
)

DROPPED, IN_SEQUENCE, KEEPALIVE, DISORDERED, FAR = range(5)
"""What to do with a payload: ignore it, take it, count it as keep-alive, sort it in, or continue with it after a
gap."""


@kernel
def take_ack(seg: Any, peer: Any) -> None:
    """Updates how much of its peer's stream the sender has acknowledged."""
    if seg.tcp_flags & ACK and peer.based:
        ahead = distance(seg.ack, peer.next_seq)
        if ahead <= WINDOW_LIMIT:
            peer.acked = max(peer.acked, peer.next + ahead)


@kernel
def count_segment(seg: Any, c: Any, me: Any) -> bool:
    """Counts a segment and its times; returns whether it carries stream bytes."""
    me.segments += 1
    c.last_ts_ns = max(c.last_ts_ns, seg.ts_ns)
    carries = seg.length > 0 and not seg.tcp_flags & RST
    if carries:
        me.last_data_ts_ns = max(me.last_data_ts_ns, seg.ts_ns)
    return carries


@kernel
def add_chunk(seg: Any, me: Any, n: Any, chunk: Any, direction: int) -> None:
    """Takes the payload of the segment, which is next in its stream."""
    if seg.captured > 0:
        append_chunk(me, n, chunk, direction)
        chunk.at, chunk.length, chunk.source, chunk.position = seg.offset, seg.captured, FROM_BLOCK, n.position
        chunk.ts_ns, chunk.packet_no = seg.ts_ns, seg.packet_no
    if seg.captured < seg.length and me.gap_kind == GAP_NONE:
        me.gap_kind = GAP_SNAPLEN
    me.next += seg.length
    me.next_seq = np.uint32((np.int64(me.next_seq) + seg.length) & 0xFFFFFFFF)
    me.bytes += seg.length


@kernel
def judge_payload(seg: Any, ahead: int, me: Any) -> int:
    """What to do with the payload of a segment that is not a RST and begins that far from the next byte; counts payload
    that is ignored."""
    if seg.length <= 1 and ahead == -1 and me.next > 0 and not seg.tcp_flags & (SYN | FIN):
        me.keepalives += 1
        return KEEPALIVE
    if seg.length == 0 or ((me.far > 0 or abs(ahead) > FAR_LIMIT) and is_far(ahead, me)):
        return DROPPED
    if abs(ahead) > FAR_LIMIT:
        return FAR
    if me.fin_at >= 0 and me.next + ahead >= me.fin_at:
        me.after_fin += 1
        return DROPPED
    return IN_SEQUENCE if ahead == 0 and me.first_waiting < 0 else DISORDERED


@kernel
def note_fin(seg: Any, at: int, before: int, me: Any) -> None:
    """Keeps the place of the FIN, if the segment at stream offset `at` has one that is not before the next byte."""
    if seg.tcp_flags & FIN and me.fin_at < 0 and at + seg.length >= before and at - before <= FAR_LIMIT:
        me.fin_at = at + seg.length


@kernel
def window_event(seg: Any, me: Any) -> Any:
    """The kind of the event if the sender closes its window with the segment, or opens it again, else NO_EVENT; the
    window of a SYN or RST is ignored."""
    if seg.tcp_flags & (SYN | RST) or (seg.window == 0) == me.zero_window:
        return NO_EVENT
    me.zero_window = seg.window == 0
    return E_ZERO_WINDOW if me.zero_window else E_WINDOW_OPEN


@kernel
def offset_of(seg: Any, me: Any) -> Any:
    """The stream offset of the segment's first byte; 0 if the stream's beginning is not known."""
    if not me.based:
        return np.int64(0)
    return me.next + distance(np.int64(seg.seq) + (1 if seg.tcp_flags & SYN else 0), me.next_seq)


class Room(NamedTuple):
    """Number of rows that the output arrays of each kind can still take."""

    chunks: int
    events: int
    parts: int
    spans: int


@kernel
def stops_for_room(needed: int, n: Any, room: Room) -> Any:
    """Whether there are fewer rows of chunks, events, parts and spans than needed; notes how many are."""
    n.needed = needed
    if n.spans + SPANS_PER_SEGMENT > room.spans:
        return True
    return n.chunks + needed >= room.chunks or n.events + needed >= room.events or n.parts + needed >= room.parts


@inlined
def take_payload(seg: Any, carries: Any, sides: tuple[Any, Any], n: Any, d: int, work: Work) -> Any:
    """Takes the payload and the acknowledgment of a segment. sides: the sender's and its peer's. Returns the stream
    offset of its first byte. It is inlined, because passing `work` takes a seventh of the time of a segment, and a
    segment in sequence needs little of it.
    """
    me, peer = sides
    at, before = offset_of(seg, me), me.next
    take_ack(seg, peer)
    verdict = judge_payload(seg, at - before, me) if me.based and not seg.tcp_flags & RST else DROPPED
    if verdict == IN_SEQUENCE:
        add_chunk(seg, me, n, work.chunks[n.chunks], d)
    elif verdict == KEEPALIVE:
        note_event(seg, n, work.events[n.events], Event(E_KEEPALIVE, d, max(at, 0), seg.length))
    elif verdict != DROPPED:
        at = jump(seg, at - before, me, d, work) if verdict == FAR else at
        take_disordered(seg, at, me, d, work)
    if me.based and not seg.tcp_flags & RST:
        note_fin(seg, at, before, me)
    if me.waiting + peer.waiting > 0:
        settle_holes(seg, carries, (me, peer), d, work)
    return at


@kernel
def take_segments(s: SegmentArrays, first: int, t: Tables, taken: Taken, place: tuple[Payloads, int, int]) -> int:
    """Takes the segments from `first` on that are in the bucket. place: the buffers that rows point into; the bucket's
    number, and the number of buckets.

    Stops early, before a segment for which the tables or the results have no room; returns its place.
    """
    seg, n = t.scratch[0], t.n[0]
    held, bucket, n_buckets = place
    work = Work(t.parts, taken.chunks, taken.events, t.n, held)
    room = Room(len(taken.chunks), len(taken.events), len(t.parts), len(taken.spans))
    for i in range(first, len(s.ts_ns)):
        seg.source_high, seg.source_low = s.source[i, 0], s.source[i, 1]
        seg.destination_high, seg.destination_low = s.destination[i, 0], s.destination[i, 1]
        seg.source_port, seg.destination_port = s.source_port[i], s.destination_port[i]
        flow, cost = segment_hash(seg), s.skipped[i] + s.captured[i] + FIRST_COPY_COST
        if n_buckets > 1 and bucket_of(flow, n_buckets) != bucket:
            n.position += cost
            continue
        seg.ts_ns, seg.packet_no, seg.tcp_flags, seg.window = s.ts_ns[i], s.packet_no[i], s.flags[i], s.window[i]
        seg.seq, seg.ack, seg.offset = s.seq[i], s.ack[i], s.offset[i]
        seg.captured, seg.length = s.captured[i], s.length[i]
        slot, d = find_slot(seg, flow, t.slots, t.sides)
        if stops_for_room(rows_needed(t.sides[max(d, 0)], t.sides[max(d, 0) ^ 1]), n, room):
            return i
        if d < 0 or opens_another(seg, t.connections[d >> 1], t.sides[d], t.sides[d ^ 1]):
            if n.connections < CONNECTION_LIMIT and n.connections >= len(t.connections):
                return i
            if n.connections >= CONNECTION_LIMIT:
                n.over_limit += 1
                n.position += cost
                continue
            if d >= 0 and t.sides[d].waiting + t.sides[d ^ 1].waiting > 0:
                give_up_all(seg, t.sides[d], d, work)
                give_up_all(seg, t.sides[d ^ 1], d ^ 1, work)
            d = 2 * n.connections + (1 if seg.tcp_flags & SYN and seg.tcp_flags & ACK else 0)
            t.slots[slot] = n.connections
            open_connection(seg, t.connections[n.connections], t.sides[d], t.sides[d ^ 1])
            n.connections += 1
        n.position += cost
        c, me, peer = t.connections[d >> 1], t.sides[d], t.sides[d ^ 1]
        carries = count_segment(seg, c, me)
        follow_acknowledgments(seg, d, t.liveness[2 * d + PACKETS], t.ack_times, n, taken.spans)
        follow_liveness(seg, d, t.liveness, n, taken.spans)
        if seg.tcp_flags & SYN:
            note_event(seg, n, taken.events[n.events], Event(take_syn(seg, c, me, peer, d & 1), d, 0, 0))
        if carries or seg.tcp_flags & (FIN | RST) == FIN:
            set_base(me, seg.seq)
        window = window_event(seg, me)
        if window != NO_EVENT:
            note_event(seg, n, taken.events[n.events], Event(window, d, me.next, 0))
        if seg.tcp_flags & DSACK:
            note_event(seg, n, taken.events[n.events], Event(E_DSACK, d, max(peer.acked, 0), 0))
        at = take_payload(seg, carries, (me, peer), n, d, work)
        if seg.tcp_flags & (FIN | RST):
            kind = take_rst(seg, c, me, peer, d & 1) if seg.tcp_flags & RST else take_fin(seg, c, me, peer, d & 1)
            if kind != NO_EVENT:
                note_event(seg, n, taken.events[n.events], Event(kind, d, max(at + seg.length, 0), 0))
    return len(s.ts_ns)
