"""Decides when a segment opens a connection, and processes SYN, FIN and RST.

A flow (two endpoints) may carry several connections after each other. A segment belongs to the flow's latest connection
unless
  SYN       has an initial sequence number other than the known one, or does not fit before the bytes seen
  SYN-ACK   has another one than the known and does not acknowledge the SYN seen, with or without its payload
  payload   after the end of the connection is further than FAR_LIMIT away from its sequence numbers (its SYN was not
  captured)

Arguments are records: seg a SEGMENT_ROW, c a CONNECTION, me and peer the SIDEs of the segment's sender and receiver.
"""

from typing import Any

import numpy as np

from kafkascope_parsers.kernels import kernel
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
    FAR_LIMIT,
    NO_EVENT,
    OPEN,
    REFUSED,
    RST,
    SYN,
)

_MASK32 = 0xFFFFFFFF

SYN_PAYLOAD_LIMIT = 0xFFFF
"""Bytes that a SYN may carry (RFC 7413), and that a SYN-ACK may acknowledge beyond it."""


@kernel
def distance(seq: int, other: int) -> Any:
    """How far seq is after other, modulo 2^32: -2^31 .. 2^31-1."""
    d = (np.int64(seq) - np.int64(other)) & _MASK32
    return d - (1 << 32) if d >= 1 << 31 else d


@kernel
def base_seq(side: Any) -> Any:
    """Sequence number of stream offset 0."""
    return (np.int64(side.next_seq) - side.next) & _MASK32


@kernel
def set_base(side: Any, seq: int) -> None:
    """Sets the sequence number of stream offset 0, unless it is already known."""
    if not side.based:
        side.based = 1
        side.next_seq = np.uint32(seq & _MASK32)
        side.next = 0


@kernel
def opens_another(seg: Any, c: Any, me: Any, peer: Any) -> Any:
    """Whether the segment belongs to a later connection than the flow's current one."""
    first_byte = (np.int64(seg.seq) + 1) & _MASK32
    if seg.tcp_flags & SYN and seg.tcp_flags & ACK:
        if me.syn and seg.seq == me.isn:
            return False
        if peer.based:
            return not 0 <= distance(seg.ack, base_seq(peer)) <= SYN_PAYLOAD_LIMIT
        if me.based:
            return base_seq(me) != first_byte
        return c.close_kind != OPEN
    if seg.tcp_flags & SYN:
        if me.syn:
            return seg.seq != me.isn
        return not me.based or base_seq(me) != first_byte
    if seg.length > 0 and not seg.tcp_flags & RST and c.close_kind != OPEN and me.based:
        return abs(distance(seg.seq, me.next_seq)) > FAR_LIMIT
    return False


@kernel
def open_connection(seg: Any, c: Any, me: Any, peer: Any) -> None:
    """Writes a new connection, which begins with this segment."""
    me.address_high, me.address_low, me.port = seg.source_high, seg.source_low, seg.source_port
    peer.address_high, peer.address_low, peer.port = seg.destination_high, seg.destination_low, seg.destination_port
    for side in (me, peer):
        side.acked, side.fin_at, side.slot, side.last_chunk = -1, -1, -1, -1
        side.first_waiting, side.last_waiting = -1, -1
    c.first_ts_ns, c.last_ts_ns, c.first_packet, c.close_idle_ns = seg.ts_ns, seg.ts_ns, seg.packet_no, -1


@kernel
def take_syn(seg: Any, c: Any, me: Any, peer: Any, side: int) -> int:
    """Takes a SYN or SYN-ACK of the connection, sent by side; returns the kind of event."""
    answer = seg.tcp_flags & ACK != 0
    kind = E_SYN_ACK if answer else E_SYN
    if me.syn:
        kind = E_RETRANSMIT if answer else E_SYN_RETRY
    elif answer:
        c.synack_ts_ns = seg.ts_ns
    else:
        c.syn_ts_ns = seg.ts_ns
    me.syn, me.isn = 1, seg.seq
    c.n_syn += 1
    set_base(me, np.int64(seg.seq) + 1)
    if answer:
        set_base(peer, np.int64(seg.ack))
    if (side == 1) == answer:
        c.opened_by_syn = 1
    return kind


@kernel
def note_close(seg: Any, c: Any, me: Any, peer: Any, kind: int) -> None:
    """Notes the connection's first FIN or RST."""
    if c.close_kind != OPEN:
        return
    c.close_kind, c.close_ts_ns = kind, seg.ts_ns
    last = max(me.last_data_ts_ns, peer.last_data_ts_ns)
    if last > 0:
        c.close_idle_ns = max(seg.ts_ns - last, 0)


@kernel
def take_fin(seg: Any, c: Any, me: Any, peer: Any, side: int) -> int:
    """Takes a FIN of side, whose payload has already been taken; returns the kind of event."""
    if me.fin:
        return E_RETRANSMIT if seg.length == 0 else NO_EVENT
    me.fin = 1
    note_close(seg, c, me, peer, CLOSED_BY_FIN + side)
    return E_FIN


@kernel
def goes_on_asking(seg: Any, me: Any, peer: Any) -> Any:
    """Whether the RST answers an acknowledgment of something that its sender, which waits for the answer to its SYN,
    never sent: the other end still has an earlier connection of these ports (RFC 5961, 4.2), which the RST ends, and
    the SYN is sent again (RFC 9293, 3.10.7.3)."""
    waits = me.syn and not peer.syn and me.last_data_ts_ns == 0 and peer.last_data_ts_ns == 0
    return waits and seg.tcp_flags & ACK == 0 and np.int64(seg.seq) != (np.int64(me.isn) + 1) & _MASK32


@kernel
def take_rst(seg: Any, c: Any, me: Any, peer: Any, side: int) -> int:
    """Takes a RST of side; returns the kind of event. Its payload is a message for people (RFC 9293, 3.5.3), not part
    of the stream."""
    if goes_on_asking(seg, me, peer):
        me.acked = -1
        return E_RST
    answers_syn = seg.tcp_flags & ACK == 0 or np.int64(seg.ack) == (np.int64(peer.isn) + 1) & _MASK32
    untouched = not me.syn and me.last_data_ts_ns == 0 and peer.last_data_ts_ns == 0
    refuses = side == 1 and c.syn_ts_ns > 0 and untouched and answers_syn
    note_close(seg, c, me, peer, REFUSED if refuses else CLOSED_BY_RST + side)
    return E_REFUSED if refuses else E_RST
