"""Takes a block's segments in capture order: finds their connections, counts, and takes payload that is in sequence.

A segment is in sequence when it begins at the direction's next byte, old when it ends before it (dropped and counted:
the first data wins), else its connection goes through the reassembler from there on to the end of the block
(`Taken.slow`).

Arguments are records, as in `lifecycle`; an event or a chunk is the row to be written next.
"""

from typing import Any

import numba as nb
import numpy as np

from kafkascope_parsers.link.kernel import SegmentArrays
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
from kafkascope_parsers.tcp.state import (
    ACK,
    CONNECTION_LIMIT,
    E_KEEPALIVE,
    E_RETRANSMIT,
    E_ZERO_WINDOW,
    FIN,
    FROM_BLOCK,
    NO_EVENT,
    RST,
    SYN,
    WINDOW_LIMIT,
    Tables,
    Taken,
)
from kafkascope_parsers.tcp.streams import GAP_NONE, GAP_SNAPLEN

DROPPED, IN_SEQUENCE, KEEPALIVE, OLD, SLOW = range(5)
"""What is done with a payload: nothing, taken, three kinds of left alone."""


@nb.njit(cache=True, nogil=True)
def note_event(seg: Any, n: Any, event: Any, what: tuple[int, int, int, int]) -> None:
    """Writes an event of the segment: kind, direction, stream offset, bytes."""
    n.events += 1
    event.kind, direction, event.stream_offset, event.bytes = what
    event.connection, event.side = direction >> 1, direction & 1
    event.ts_ns, event.packet_no = seg.ts_ns, seg.packet_no


@nb.njit(cache=True, nogil=True)
def take_ack(seg: Any, peer: Any) -> None:
    """Moves on what the sender has acknowledged of its peer's stream."""
    if seg.tcp_flags & ACK and peer.based:
        ahead = distance(seg.ack, peer.next_seq)
        if ahead <= WINDOW_LIMIT:
            peer.acked = max(peer.acked, peer.next + ahead)


@nb.njit(cache=True, nogil=True)
def count_segment(seg: Any, c: Any, me: Any) -> bool:
    """Counts a segment and its times; returns whether it carries stream bytes."""
    me.segments += 1
    c.last_ts_ns = max(c.last_ts_ns, seg.ts_ns)
    carries = seg.length > 0 and not seg.tcp_flags & RST
    if carries:
        if me.first_data_ts_ns == 0:
            me.first_data_ts_ns = seg.ts_ns
        me.last_data_ts_ns = max(me.last_data_ts_ns, seg.ts_ns)
    return carries


@nb.njit(cache=True, nogil=True)
def add_chunk(seg: Any, me: Any, n: Any, chunk: Any, direction: int) -> None:
    """Takes the payload of the segment, which is next in its stream."""
    if seg.captured > 0:
        n.chunks += 1
        chunk.direction, chunk.stream_offset = direction, me.next
        chunk.at, chunk.length, chunk.source = seg.offset, seg.captured, FROM_BLOCK
        chunk.ts_ns, chunk.packet_no = seg.ts_ns, seg.packet_no
        chunk.gap_kind = me.gap_kind
        me.gap_kind = GAP_NONE
    if seg.captured < seg.length and me.gap_kind == GAP_NONE:
        me.gap_kind = GAP_SNAPLEN
    me.next += seg.length
    me.next_seq = np.uint32((np.int64(me.next_seq) + seg.length) & 0xFFFFFFFF)
    me.bytes += seg.length


@nb.njit(cache=True, nogil=True)
def judge_payload(seg: Any, me: Any) -> int:
    """What to do with the payload of a segment that is no RST; counts what is left alone, keeps the FIN's place."""
    ahead = distance(np.int64(seg.seq) + (1 if seg.tcp_flags & SYN else 0), me.next_seq)
    verdict = DROPPED
    if seg.length <= 1 and ahead == -1 and me.next > 0 and not seg.tcp_flags & (SYN | FIN):
        me.keepalives += 1
        verdict = KEEPALIVE
    elif seg.length > 0 and me.fin_at >= 0 and me.next + ahead >= me.fin_at:
        me.after_fin += 1
    elif seg.length > 0 and ahead == 0:
        verdict = IN_SEQUENCE
    elif seg.length > 0 and ahead + seg.length <= 0 and ahead >= -WINDOW_LIMIT:
        me.retransmitted += 1
        verdict = OLD
    elif seg.length > 0:
        return SLOW
    if seg.tcp_flags & FIN and me.fin_at < 0 and ahead + seg.length >= 0:
        me.fin_at = me.next + ahead + seg.length
    return verdict


@nb.njit(cache=True, nogil=True)
def take_segments(s: SegmentArrays, first: int, t: Tables, taken: Taken, bucket: tuple[int, int]) -> int:
    """Takes the segments from `first` on that are in the bucket (number, of how many).

    Stops early, before a segment that opens a connection for which the tables have no room; returns where.
    """
    seg, n = t.scratch[0], t.n[0]
    for i in range(first, len(s.ts_ns)):
        seg.source_high, seg.source_low = s.source[i, 0], s.source[i, 1]
        seg.destination_high, seg.destination_low = s.destination[i, 0], s.destination[i, 1]
        seg.source_port, seg.destination_port = s.source_port[i], s.destination_port[i]
        flow = segment_hash(seg)
        if bucket[1] > 1 and bucket_of(flow, bucket[1]) != bucket[0]:
            continue
        seg.ts_ns, seg.packet_no, seg.tcp_flags, seg.window = s.ts_ns[i], s.packet_no[i], s.flags[i], s.window[i]
        seg.seq, seg.ack, seg.offset, seg.captured, seg.length = (
            s.seq[i],
            s.ack[i],
            s.offset[i],
            s.captured[i],
            s.length[i],
        )
        slot, d = find_slot(seg, flow, t.slots, t.sides)
        if d < 0 or opens_another(seg, t.connections[d >> 1], t.sides[d], t.sides[d ^ 1]):
            if n.connections >= CONNECTION_LIMIT:
                n.over_limit += 1
                continue
            if n.connections >= len(t.connections):
                return i
            d = 2 * n.connections + (1 if seg.tcp_flags & SYN and seg.tcp_flags & ACK else 0)
            t.slots[slot] = n.connections
            t.connections[n.connections].slow = n.always_slow
            open_connection(seg, t.connections[n.connections], t.sides[d], t.sides[d ^ 1])
            n.connections += 1
        c, me, peer = t.connections[d >> 1], t.sides[d], t.sides[d ^ 1]
        carries = count_segment(seg, c, me)
        if seg.tcp_flags & SYN:
            note_event(seg, n, taken.events[n.events], (take_syn(seg, c, me, peer, d & 1), d, 0, 0))
        if carries or seg.tcp_flags & (FIN | RST) == FIN:
            set_base(me, seg.seq)
        if not seg.tcp_flags & (SYN | RST):
            closed = seg.window == 0
            if closed and not me.zero_window:
                note_event(seg, n, taken.events[n.events], (E_ZERO_WINDOW, d, me.next, 0))
            me.zero_window = closed
        at = me.next + distance(seg.seq, me.next_seq) + (1 if seg.tcp_flags & SYN else 0) if me.based else 0
        if not c.slow:
            take_ack(seg, peer)
            verdict = judge_payload(seg, me) if me.based and not seg.tcp_flags & RST else DROPPED
            if verdict == IN_SEQUENCE:
                add_chunk(seg, me, n, taken.chunks[n.chunks], d)
            elif verdict == SLOW:
                c.slow = 1
            elif verdict != DROPPED:
                kind = E_KEEPALIVE if verdict == KEEPALIVE else E_RETRANSMIT
                note_event(seg, n, taken.events[n.events], (kind, d, max(at, 0), seg.length))
        if c.slow:
            taken.slow[n.slow, 0], taken.slow[n.slow, 1] = i, d
            n.slow += 1
        if seg.tcp_flags & (FIN | RST):
            kind = take_rst(seg, c, me, peer, d & 1) if seg.tcp_flags & RST else take_fin(seg, c, me, peer, d & 1)
            if kind != NO_EVENT:
                note_event(seg, n, taken.events[n.events], (kind, d, max(at + seg.length, 0), 0))
    return len(s.ts_ns)
