"""Finds for each connection when its sides sent packets, and when one side waited for the other.

A side waits for a packet from its first segment that needs an acknowledgment (payload, SYN, FIN, keep-alive probe)
until the other side reacts: with SYN, RST, an acknowledgment without payload, or an acknowledgment of more bytes than
before. Segments that the other side may send without having received anything are no reaction, and are not counted
during a wait. Nor are retransmissions: if one direction of a path is cut, TCP repeats segments in both. A side waits
for payload from its first new payload until the other side sends new payload, FIN or RST, or until it ends the
connection itself.

An acknowledgment of bytes that the capture lacks shows that the other side did send them: a capture may have only one
direction, or have lost packets.

Arguments are records: seg a SEGMENT_ROW, n the COUNTERS, row, mine and theirs rows of LIVENESS. place: the direction
and the layer of the row. spans: rows of SPAN that are written, with room for SPANS_PER_SEGMENT.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.lifecycle import distance
from kafkascope_parsers.tcp.spans import (
    BY_ACK,
    BY_DATA,
    BY_FIN,
    BY_GIVING_UP,
    BY_HIDDEN,
    BY_RST,
    BY_SYN_ACK,
    PACKETS,
    PAYLOAD,
    RUN,
    RUN_GAP_NS,
    WAIT,
    WAIT_NS,
)
from kafkascope_parsers.tcp.state import ACK, FIN, RST, SYN, WINDOW_LIMIT

_MASK32 = 0xFFFFFFFF


@kernel
def extend_run(seg: Any, row: Any, place: tuple[int, int], n: Any, spans: NDArray[np.void]) -> None:
    """Adds the segment to the run of the row, or begins another run with it."""
    if row.last_packet > 0 and seg.ts_ns - row.last_ns < RUN_GAP_NS:
        if seg.ts_ns >= row.last_ns:
            row.last_ns, row.last_packet = seg.ts_ns, seg.packet_no
        return
    if row.last_packet > 0:
        span = spans[n.spans]
        n.spans += 1
        span.direction, span.kind = place[0], RUN + place[1]
        span.first_ns, span.first_packet = row.first_ns, row.first_packet
        span.last_ns, span.last_packet = row.last_ns, row.last_packet
        span.until_ns, span.until_packet, span.ended_by, span.n_quick = 0, 0, 0, 0
    row.first_ns, row.first_packet = seg.ts_ns, seg.packet_no
    row.last_ns, row.last_packet = seg.ts_ns, seg.packet_no


@kernel
def end_wait(seg: Any, row: Any, place: tuple[int, int], ended_by: int, n: Any, spans: NDArray[np.void]) -> None:
    """Ends the wait of the row. A long wait becomes a span; a short one is only counted."""
    if row.asked_packet == 0:
        return
    if seg.ts_ns - row.asked_ns < WAIT_NS[place[1]]:
        row.n_quick += 1
    else:
        span = spans[n.spans]
        n.spans += 1
        span.direction, span.kind = place[0], WAIT + place[1]
        span.first_ns, span.first_packet = row.asked_ns, row.asked_packet
        span.last_ns, span.last_packet = row.asked_last_ns, row.asked_last_packet
        span.until_ns, span.until_packet, span.ended_by = seg.ts_ns, seg.packet_no, ended_by
        span.n_quick, row.n_quick = row.n_quick, 0
    row.asked_packet = 0


@kernel
def ask(seg: Any, row: Any) -> None:
    """Notes a segment for whose answer the row's side waits."""
    if row.asked_packet == 0:
        row.asked_ns, row.asked_packet = seg.ts_ns, seg.packet_no
    row.asked_last_ns, row.asked_last_packet = seg.ts_ns, seg.packet_no


@kernel
def answer_kind(seg: Any) -> Any:
    """The kind of answer that the segment is for a waiting side."""
    if seg.tcp_flags & RST:
        return BY_RST
    if seg.length > 0:
        return BY_DATA
    if seg.tcp_flags & FIN:
        return BY_FIN
    return BY_SYN_ACK if seg.tcp_flags & SYN else BY_ACK


@kernel
def shows_hidden(seg: Any, mine: Any, theirs: Any) -> Any:
    """Whether the segment acknowledges a packet of the other side that the capture lacks. Rows of PACKETS."""
    if seg.tcp_flags & (ACK | SYN | RST) != ACK:
        return False
    if theirs.based:
        return 0 < distance(seg.ack, theirs.high_seq) <= WINDOW_LIMIT
    if not mine.has_ack:
        return mine.syn > 0
    return seg.ack != mine.last_ack


@kernel
def is_keepalive(seg: Any, mine: Any) -> Any:
    """Whether the segment is a keep-alive probe: it begins one byte before the end of what was sent. Row of PACKETS."""
    plain = seg.length <= 1 and not seg.tcp_flags & (SYN | FIN | RST)
    return plain and mine.based and distance(seg.seq, mine.high_seq) == -1


@kernel
def brings_new_bytes(seg: Any, mine: Any) -> Any:
    """Whether the payload of the segment was not sent before. Row of PACKETS."""
    return not mine.based or distance(np.int64(seg.seq) + seg.length, mine.high_seq) > 0


@kernel
def note_numbers(seg: Any, mine: Any, theirs: Any, hidden: bool) -> None:
    """Keeps the sequence and acknowledgment numbers of the segment. Rows of PACKETS."""
    if seg.tcp_flags & RST:
        return
    end = np.int64(seg.seq) + seg.length
    end += (1 if seg.tcp_flags & SYN else 0) + (1 if seg.tcp_flags & FIN else 0)
    if not mine.based or seg.tcp_flags & SYN or 0 < distance(end, mine.high_seq) <= WINDOW_LIMIT:
        mine.high_seq = np.uint32(end & _MASK32)
    mine.based = 1
    if seg.tcp_flags & SYN:
        mine.syn = 1
    if seg.tcp_flags & ACK:
        mine.last_ack, mine.has_ack = seg.ack, 1
    if hidden and theirs.based:
        theirs.high_seq = seg.ack


@kernel
def reacts(seg: Any, mine: Any, theirs: Any) -> Any:
    """Whether the segment shows that its sender receives the other side's segments; if the other side does not wait,
    whether it is more than a repetition. Rows of PACKETS."""
    if seg.tcp_flags & (SYN | RST):
        return True
    if seg.length == 0 and not seg.tcp_flags & FIN:
        return True
    repeats = seg.length > 0 and not brings_new_bytes(seg, mine) and not is_keepalive(seg, mine)
    if theirs.asked_packet == 0 and not repeats:
        return True
    return not mine.has_ack or distance(seg.ack, mine.last_ack) > 0


@kernel
def follow_sender(seg: Any, d: int, liveness: NDArray[np.void], n: Any, spans: NDArray[np.void]) -> None:
    """Extends the runs of the sender of a segment of direction d, and ends waits of the other side."""
    mine, theirs = liveness[2 * d + PACKETS], liveness[2 * (d ^ 1) + PACKETS]
    carries = seg.length > 0 and not seg.tcp_flags & RST and brings_new_bytes(seg, mine)
    if reacts(seg, mine, theirs):
        extend_run(seg, mine, (d, PACKETS), n, spans)
        end_wait(seg, theirs, (d ^ 1, PACKETS), answer_kind(seg), n, spans)
    if carries:
        extend_run(seg, liveness[2 * d + PAYLOAD], (d, PAYLOAD), n, spans)
    if carries or seg.tcp_flags & (FIN | RST):
        end_wait(seg, liveness[2 * (d ^ 1) + PAYLOAD], (d ^ 1, PAYLOAD), answer_kind(seg), n, spans)


@kernel
def follow_hidden(seg: Any, d: int, liveness: NDArray[np.void], n: Any, spans: NDArray[np.void]) -> None:
    """Takes a segment of direction d that acknowledges bytes of the other side that the capture lacks: that side has
    sent."""
    for layer in (PACKETS, PAYLOAD):
        extend_run(seg, liveness[2 * (d ^ 1) + layer], (d ^ 1, layer), n, spans)
        end_wait(seg, liveness[2 * d + layer], (d, layer), BY_HIDDEN, n, spans)


@kernel
def follow_waits(seg: Any, d: int, liveness: NDArray[np.void], n: Any, spans: NDArray[np.void]) -> None:
    """Begins the waits of the sender of direction d that start with the segment."""
    mine, payload = liveness[2 * d + PACKETS], liveness[2 * d + PAYLOAD]
    if seg.tcp_flags & RST:
        end_wait(seg, mine, (d, PACKETS), BY_GIVING_UP, n, spans)
        end_wait(seg, payload, (d, PAYLOAD), BY_GIVING_UP, n, spans)
        return
    probes = is_keepalive(seg, mine)
    if seg.length > 0 or seg.tcp_flags & (SYN | FIN) or probes:
        ask(seg, mine)
    if seg.length > 0 and not probes and (payload.asked_packet > 0 or brings_new_bytes(seg, mine)):
        ask(seg, payload)
    if seg.tcp_flags & FIN:
        end_wait(seg, payload, (d, PAYLOAD), BY_GIVING_UP, n, spans)


@kernel
def follow_liveness(seg: Any, d: int, liveness: NDArray[np.void], n: Any, spans: NDArray[np.void]) -> None:
    """Takes the next segment, of direction d."""
    mine, theirs = liveness[2 * d + PACKETS], liveness[2 * (d ^ 1) + PACKETS]
    follow_sender(seg, d, liveness, n, spans)
    hidden = shows_hidden(seg, mine, theirs)
    if hidden:
        follow_hidden(seg, d, liveness, n, spans)
    follow_waits(seg, d, liveness, n, spans)
    note_numbers(seg, mine, theirs, hidden)
