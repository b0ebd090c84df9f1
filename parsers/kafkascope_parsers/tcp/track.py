"""Takes a block's segments in capture order: finds their connections, counts, and takes payload that is in sequence.

A segment is in sequence when it begins at the direction's next byte, old when it ends before it (dropped and counted: the first data
wins), else its connection goes through the reassembler from there on to the end of the block (`Taken.slow`).
"""

import numba as nb
import numpy as np

from kafkascope_parsers.link.kernel import SegmentArrays
from kafkascope_parsers.tcp.flows import bucket_of, find_slot, segment_hash
from kafkascope_parsers.tcp.lifecycle import distance, note_event, open_connection, opens_another, set_base, take_flags, take_syn
from kafkascope_parsers.tcp.state import (
    ACK,
    ALWAYS_SLOW,
    CONNECTION_LIMIT,
    E_KEEPALIVE,
    E_RETRANSMIT,
    E_ZERO_WINDOW,
    FIN,
    FROM_BLOCK,
    N_CHUNKS,
    N_CONNECTIONS,
    N_SLOW,
    OVER_LIMIT,
    RST,
    SYN,
    WINDOW_LIMIT,
    Tables,
    Taken,
)
from kafkascope_parsers.tcp.streams import GAP_NONE, GAP_SNAPLEN


@nb.njit(cache=True, nogil=True)
def take_ack(s: SegmentArrays, i: int, t: Tables, direction: int) -> None:
    """Moves on what the sender has acknowledged of its peer's stream."""
    peer = t.sides[direction ^ 1]
    if s.flags[i] & ACK and peer.based:
        ahead = distance(s.ack[i], peer.next_seq)
        if ahead <= WINDOW_LIMIT:
            peer.acked = max(peer.acked, peer.next + ahead)


@nb.njit(cache=True, nogil=True)
def take_window(s: SegmentArrays, i: int, t: Tables, direction: int, taken: Taken) -> None:
    """Notes when the sender closes its receive window."""
    me = t.sides[direction]
    if s.flags[i] & (SYN | RST):
        return
    closed = s.window[i] == 0
    if closed and not me.zero_window:
        note_event(s, i, taken, t.n, (E_ZERO_WINDOW, direction, me.next, 0))
    me.zero_window = closed


@nb.njit(cache=True, nogil=True)
def add_chunk(s: SegmentArrays, i: int, t: Tables, direction: int, taken: Taken) -> None:
    """Takes the payload of segment i, which is next in its stream."""
    me = t.sides[direction]
    length, captured = np.int64(s.length[i]), np.int64(s.captured[i])
    if captured > 0:
        chunk = taken.chunks[t.n[N_CHUNKS]]
        t.n[N_CHUNKS] += 1
        chunk.direction, chunk.stream_offset = direction, me.next
        chunk.at, chunk.length, chunk.source = s.offset[i], captured, FROM_BLOCK
        chunk.ts_ns, chunk.packet_no = s.ts_ns[i], s.packet_no[i]
        chunk.gap_kind = me.gap_kind
        me.gap_kind = GAP_NONE
    if captured < length:
        me.gap_kind = GAP_SNAPLEN
    me.next += length
    me.next_seq = np.uint32((np.int64(me.next_seq) + length) & 0xFFFFFFFF)
    me.bytes += length


@nb.njit(cache=True, nogil=True)
def take_payload(s: SegmentArrays, i: int, t: Tables, direction: int, taken: Taken) -> bool:
    """Takes, drops or leaves the payload of segment i; False where it needs the reassembler."""
    me = t.sides[direction]
    seq = np.int64(s.seq[i]) + (1 if s.flags[i] & SYN else 0)
    length = np.int64(s.length[i])
    ahead = distance(seq, me.next_seq)
    if length <= 1 and ahead == -1 and not s.flags[i] & (SYN | FIN):
        me.keepalives += 1
        note_event(s, i, taken, t.n, (E_KEEPALIVE, direction, max(me.next - 1, 0), length))
    elif length > 0 and me.fin_at >= 0 and me.next + ahead >= me.fin_at:
        me.after_fin += 1
    elif length > 0 and ahead == 0:
        add_chunk(s, i, t, direction, taken)
    elif length > 0 and ahead + length <= 0 and ahead >= -WINDOW_LIMIT:
        me.retransmitted += 1
        note_event(s, i, taken, t.n, (E_RETRANSMIT, direction, me.next + ahead, length))
    elif length > 0:
        return False
    if s.flags[i] & FIN and me.fin_at < 0 and ahead + length >= 0:
        me.fin_at = me.next + max(distance(seq + length, me.next_seq), 0)
    return True


@nb.njit(cache=True, nogil=True)
def take_segment(s: SegmentArrays, i: int, t: Tables, direction: int, taken: Taken) -> None:
    """Takes segment i of a known connection."""
    c, me, flags = t.connections[direction >> 1], t.sides[direction], s.flags[i]
    me.segments += 1
    c.last_ts_ns = max(c.last_ts_ns, s.ts_ns[i])
    if flags & SYN:
        take_syn(s, i, t, direction, taken)
    carries = s.length[i] > 0 and not flags & RST
    if carries or (flags & FIN and not flags & RST):
        set_base(t.sides, direction, np.int64(s.seq[i]))
    if carries:
        if me.first_data_ts_ns == 0:
            me.first_data_ts_ns = s.ts_ns[i]
        me.last_data_ts_ns = max(me.last_data_ts_ns, s.ts_ns[i])
    take_window(s, i, t, direction, taken)
    if not c.slow:
        take_ack(s, i, t, direction)
        if not flags & RST and me.based and not take_payload(s, i, t, direction, taken):
            c.slow = 1
    if c.slow:
        row = t.n[N_SLOW]
        taken.slow[row, 0], taken.slow[row, 1] = i, direction
        t.n[N_SLOW] += 1
    take_flags(s, i, t, direction, taken)


@nb.njit(cache=True, nogil=True)
def take_segments(s: SegmentArrays, first: int, t: Tables, taken: Taken, bucket: tuple[int, int]) -> int:
    """Takes the segments from `first` on that are in the bucket (number, of how many).

    Stops early, before a segment that opens a connection for which the tables have no room; returns where.
    """
    for i in range(first, len(s.ts_ns)):
        flow = segment_hash(s, i)
        if bucket[1] > 1 and bucket_of(flow, bucket[1]) != bucket[0]:
            continue
        slot, direction = find_slot(s, i, flow, t)
        if direction < 0 or opens_another(s, i, t, direction):
            n = t.n[N_CONNECTIONS]
            if n >= CONNECTION_LIMIT:
                t.n[OVER_LIMIT] += 1
                continue
            if n >= len(t.connections):
                return i
            direction = open_connection(s, i, t, slot)
            t.connections[n].slow = t.n[ALWAYS_SLOW]
        take_segment(s, i, t, direction, taken)
    return len(s.ts_ns)
