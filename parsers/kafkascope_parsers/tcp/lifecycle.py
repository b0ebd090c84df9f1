"""When a segment opens a connection, and what SYN, FIN and RST do to one.

A flow (two endpoints) may carry several connections after each other. A segment belongs to the flow's latest connection unless
  SYN       has an initial sequence number other than the known one, or does not fit before the bytes seen
  SYN-ACK   has another one than the known and does not acknowledge the SYN seen
  payload   after the end of the connection is further than a window away from its sequence numbers (its SYN was not captured)
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.link.kernel import SegmentArrays
from kafkascope_parsers.tcp.state import (
    ACK,
    CLOSED_BY_FIN,
    CLOSED_BY_RST,
    E_FIN,
    E_REFUSED,
    E_RETRANSMIT,
    E_RST,
    E_SYN,
    E_SYN_ACK,
    E_SYN_RETRY,
    FIN,
    N_CONNECTIONS,
    N_EVENTS,
    OPEN,
    REFUSED,
    RST,
    SYN,
    WINDOW_LIMIT,
    Tables,
    Taken,
)

_MASK32 = 0xFFFFFFFF


@nb.njit(cache=True, nogil=True)
def distance(seq: int, other: int) -> int:
    """How far seq is after other, modulo 2^32: -2^31 .. 2^31-1."""
    d = (np.int64(seq) - np.int64(other)) & _MASK32
    return d - (1 << 32) if d >= 1 << 31 else d


@nb.njit(cache=True, nogil=True)
def base_seq(sides: NDArray[np.void], direction: int) -> int:
    """Sequence number of stream offset 0."""
    return (np.int64(sides[direction].next_seq) - sides[direction].next) & _MASK32


@nb.njit(cache=True, nogil=True)
def set_base(sides: NDArray[np.void], direction: int, seq: int) -> None:
    """Stream offset 0 has that sequence number, unless it is known already."""
    me = sides[direction]
    if not me.based:
        me.based = 1
        me.next_seq = np.uint32(seq & _MASK32)
        me.next = 0


@nb.njit(cache=True, nogil=True)
def opens_another(s: SegmentArrays, i: int, t: Tables, direction: int) -> bool:
    """Whether segment i belongs to a connection after the one that the flow has."""
    me, peer = t.sides[direction], t.sides[direction ^ 1]
    seq, ack, flags = np.int64(s.seq[i]), np.int64(s.ack[i]), s.flags[i]
    if flags & SYN and flags & ACK:
        if me.syn and seq == me.isn:
            return False
        if peer.based:
            return base_seq(t.sides, direction ^ 1) != ack
        if me.based:
            return base_seq(t.sides, direction) != (seq + 1) & _MASK32
        return t.connections[direction >> 1].close_kind != OPEN
    if flags & SYN:
        if me.syn:
            return seq != np.int64(me.isn)
        return not me.based or base_seq(t.sides, direction) != (seq + 1) & _MASK32
    if s.length[i] > 0 and not flags & RST and t.connections[direction >> 1].close_kind != OPEN and me.based:
        return abs(distance(seq, me.next_seq)) > WINDOW_LIMIT
    return False


@nb.njit(cache=True, nogil=True)
def open_connection(s: SegmentArrays, i: int, t: Tables, slot: int) -> int:
    """Adds a connection whose first segment is i; returns the segment's direction. The caller has made room."""
    c = t.n[N_CONNECTIONS]
    t.n[N_CONNECTIONS] += 1
    t.slots[slot] = c
    direction = 2 * c
    if s.flags[i] & SYN and s.flags[i] & ACK:
        direction += 1
    me, peer = t.sides[direction], t.sides[direction ^ 1]
    me.address_high, me.address_low, me.port = s.source[i, 0], s.source[i, 1], s.source_port[i]
    peer.address_high, peer.address_low, peer.port = s.destination[i, 0], s.destination[i, 1], s.destination_port[i]
    for d in range(2 * c, 2 * c + 2):
        t.sides[d].acked = t.sides[d].fin_at = t.sides[d].slot = -1
    row = t.connections[c]
    row.first_ts_ns, row.last_ts_ns, row.first_packet = s.ts_ns[i], s.ts_ns[i], s.packet_no[i]
    row.close_idle_ns = -1
    return direction


@nb.njit(cache=True, nogil=True)
def note_event(s: SegmentArrays, i: int, taken: Taken, n: NDArray[np.int64], event: tuple[int, int, int, int]) -> None:
    """Adds the event (kind, direction, stream offset, bytes) of segment i."""
    kind, direction, stream_offset, size = event
    row = taken.events[n[N_EVENTS]]
    n[N_EVENTS] += 1
    row.connection, row.side, row.kind = direction >> 1, direction & 1, kind
    row.ts_ns, row.packet_no = s.ts_ns[i], s.packet_no[i]
    row.stream_offset, row.bytes = stream_offset, size


@nb.njit(cache=True, nogil=True)
def take_syn(s: SegmentArrays, i: int, t: Tables, direction: int, taken: Taken) -> None:
    """A SYN or SYN-ACK of the connection."""
    c, me = t.connections[direction >> 1], t.sides[direction]
    answer = s.flags[i] & ACK != 0
    kind = E_SYN_ACK if answer else E_SYN
    if me.syn:
        kind = E_RETRANSMIT if answer else E_SYN_RETRY
    elif answer:
        c.synack_ts_ns = s.ts_ns[i]
    else:
        c.syn_ts_ns = s.ts_ns[i]
    me.syn, me.isn = 1, s.seq[i]
    c.n_syn += 1
    set_base(t.sides, direction, np.int64(s.seq[i]) + 1)
    if answer:
        set_base(t.sides, direction ^ 1, np.int64(s.ack[i]))
    if direction & 1 == answer:
        c.opened_by_syn = 1
    note_event(s, i, taken, t.n, (kind, direction, 0, 0))


@nb.njit(cache=True, nogil=True)
def note_close(s: SegmentArrays, i: int, t: Tables, direction: int, kind: int) -> None:
    """The connection's first FIN or RST."""
    c = t.connections[direction >> 1]
    if c.close_kind != OPEN:
        return
    c.close_kind = kind
    c.close_ts_ns = s.ts_ns[i]
    last = max(t.sides[direction].last_data_ts_ns, t.sides[direction ^ 1].last_data_ts_ns)
    if last > 0:
        c.close_idle_ns = max(s.ts_ns[i] - last, 0)


@nb.njit(cache=True, nogil=True)
def take_fin(s: SegmentArrays, i: int, t: Tables, direction: int, taken: Taken) -> None:
    """A FIN. Its payload has been taken already."""
    me = t.sides[direction]
    at = me.next + distance(s.seq[i], me.next_seq) if me.based else np.int64(0)
    if me.fin_ts_ns:
        if s.length[i] == 0:
            note_event(s, i, taken, t.n, (E_RETRANSMIT, direction, at, 0))
        return
    me.fin_ts_ns = s.ts_ns[i]
    note_event(s, i, taken, t.n, (E_FIN, direction, at + s.length[i], 0))
    note_close(s, i, t, direction, CLOSED_BY_FIN + (direction & 1))


@nb.njit(cache=True, nogil=True)
def take_rst(s: SegmentArrays, i: int, t: Tables, direction: int, taken: Taken) -> None:
    """A RST. Payload of it is a message for people (RFC 9293, 3.5.3), not of the stream."""
    me, peer = t.sides[direction], t.sides[direction ^ 1]
    c = t.connections[direction >> 1]
    refuses = (
        direction & 1 == 1
        and c.syn_ts_ns > 0
        and not me.syn
        and me.first_data_ts_ns == 0
        and peer.first_data_ts_ns == 0
        and (s.flags[i] & ACK == 0 or s.ack[i] == np.uint32((np.int64(peer.isn) + 1) & _MASK32))
    )
    note_close(s, i, t, direction, REFUSED if refuses else CLOSED_BY_RST + (direction & 1))
    if not me.rst_ts_ns:
        me.rst_ts_ns = s.ts_ns[i]
    at = me.next if me.based else np.int64(0)
    note_event(s, i, taken, t.n, (E_REFUSED if refuses else E_RST, direction, at, s.length[i]))


@nb.njit(cache=True, nogil=True)
def take_flags(s: SegmentArrays, i: int, t: Tables, direction: int, taken: Taken) -> None:
    """FIN and RST of segment i."""
    if s.flags[i] & RST:
        take_rst(s, i, t, direction, taken)
    elif s.flags[i] & FIN:
        take_fin(s, i, t, direction, taken)
