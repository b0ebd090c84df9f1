"""Puts the segments of one connection in order, in plain Python: what is not in sequence, and the slow twin of `track`.

Rules: the first data wins, so a retransmission with other bytes changes nothing. A hole is given up, as a gap with its
length, when the peer has acknowledged all of it (then the capture missed it), when more waits behind it than the limits
allow, or at the end.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkascope_parsers.tcp.state import (
    ACK,
    E_GAP,
    E_KEEPALIVE,
    E_RETRANSMIT,
    FIN,
    RST,
    SYN,
    WINDOW_LIMIT,
)
from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_NONE, GAP_SNAPLEN

PENDING_BYTES = 8 << 20
"""Bytes that wait behind a hole in one direction: more than the usual limit of a receive window (6 MiB on Linux)."""

PENDING_SEGMENTS = 8192
"""Segments that wait behind a hole in one direction: PENDING_BYTES in segments of 1 kB."""

OUT_OF_WINDOW_SEGMENTS = 16
"""Segments in a row, all more than WINDOW_LIMIT from the next byte, after which they are believed."""

CUT = -1
"""Place of bytes that the snap length cut."""


class Part(NamedTuple):
    """Stream bytes [start, end) of one segment: at `at` of the block (>= 0), CUT, or in `kept` when they come from an
    earlier block."""

    start: int
    end: int
    at: int
    ts_ns: int
    packet_no: int
    kept: bytes | None = None


class Chunk(NamedTuple):
    """A part that is in order now, and why bytes are missing before it."""

    direction: int
    part: Part
    gap_kind: int


class Event(NamedTuple):
    """As a row of EVENT."""

    direction: int
    kind: int
    ts_ns: int
    packet_no: int
    stream_offset: int
    size: int


class Row(NamedTuple):
    """A segment, as the columns of `Segments`."""

    direction: int
    ts_ns: int
    packet_no: int
    seq: int
    ack: int
    flags: int
    at: int
    captured: int
    length: int


@dataclass(slots=True)
class Output:
    """What came out, in order per direction."""

    chunks: list[Chunk] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


@dataclass(slots=True)
class Half:
    """One direction. Fields as in SIDE; pending: parts after a hole, by stream offset, without overlaps."""

    direction: int
    based: bool = False
    base: int = 0
    next: int = 0
    acked: int = -1
    fin_at: int = -1
    gap_kind: int = GAP_NONE
    bytes: int = 0
    retransmitted: int = 0
    out_of_order: int = 0
    keepalives: int = 0
    after_fin: int = 0
    far: int = 0
    waiting: int = 0
    pending: list[Part] = field(default_factory=list)

    def offset(self, seq: int) -> int:
        """The stream offset of a sequence number: the one nearest to the next byte."""
        return self.next + ((seq - self.base - self.next + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


class Reassembler:
    """The two halves of one connection. `push` segments in capture order."""

    def __init__(self, halves: tuple[Half, Half]) -> None:
        self.halves = halves

    @property
    def in_order(self) -> bool:
        """Whether nothing waits."""
        return not (self.halves[0].pending or self.halves[1].pending)

    def push(self, row: Row, out: Output) -> None:
        """Takes one segment; what is in order thereby is added to out."""
        me, peer = self.halves[row.direction & 1], self.halves[row.direction & 1 ^ 1]
        if row.flags & ACK and peer.based:
            acked = peer.offset(row.ack)
            if peer.acked < acked <= peer.next + WINDOW_LIMIT:
                peer.acked = acked
                if peer.pending:
                    _give_up_acknowledged(peer, row, out)
        if not row.flags & RST and me.based:
            _take(me, row, out)

    def finish(self, out: Output) -> None:
        """Gives up every hole."""
        for half in self.halves:
            while half.pending:
                _give_up_hole(half, half.pending[0].ts_ns, half.pending[0].packet_no, out)


def _take(me: Half, row: Row, out: Output) -> None:
    start = me.offset(row.seq + (1 if row.flags & SYN else 0))
    end = start + row.length
    if row.length <= 1 and start == me.next - 1 >= 0 and not row.flags & (SYN | FIN):
        me.keepalives += 1
        out.events.append(Event(me.direction, E_KEEPALIVE, row.ts_ns, row.packet_no, max(start, 0), row.length))
    elif row.length > 0 and _is_far(me, start, row):
        return
    elif row.length > 0 and 0 <= me.fin_at <= start:
        me.after_fin += 1
    elif row.length > 0:
        _take_data(me, row, start, end, out)
    if row.flags & FIN and me.fin_at < 0 and end >= me.next - row.length:
        me.fin_at = max(end, me.next)


def _is_far(me: Half, start: int, row: Row) -> bool:
    """Whether the segment is out of every window. Many of them in a row are believed: then the capture lost much."""
    if abs(start - me.next) <= WINDOW_LIMIT:
        me.far = 0
        return False
    me.far += 1
    if me.far < OUT_OF_WINDOW_SEGMENTS:
        return True
    me.far = 0
    me.base -= 1 << 32 if start < me.next else 0
    return start < me.next


def _take_data(me: Half, row: Row, start: int, end: int, out: Output) -> None:
    fresh = 0
    disordered = bool(me.pending) and start < me.pending[-1].start
    for part in _new_parts(me, row, start, end):
        fresh += part.end - part.start
        if part.start == me.next:
            _deliver(me, part, out)
        else:
            me.pending.insert(bisect_right(me.pending, (part.start,)), part)
            me.waiting += part.end - part.start
        if me.pending and me.pending[0].start == me.next:
            _deliver_pending(me, out)
    me.bytes += fresh
    if fresh < row.length:
        me.retransmitted += 1
        event = Event(me.direction, E_RETRANSMIT, row.ts_ns, row.packet_no, max(start, 0), row.length - fresh)
        out.events.append(event)
    elif disordered:
        me.out_of_order += 1
    if me.pending:
        _give_up_acknowledged(me, row, out)
    while me.waiting > PENDING_BYTES or len(me.pending) > PENDING_SEGMENTS:
        _give_up_hole(me, row.ts_ns, row.packet_no, out)


def _new_parts(me: Half, row: Row, start: int, end: int) -> list[Part]:
    """What of [start, end) is neither delivered nor pending, cut where the snap length cut it."""
    free = []
    at = max(start, me.next)
    first = max(bisect_right(me.pending, (at,)) - 1, 0)
    for part in me.pending[first:]:
        if part.start >= end:
            break
        if part.start > at:
            free.append((at, part.start))
        at = max(at, part.end)
    if at < end:
        free.append((at, end))
    seen = start + row.captured
    parts = []
    for a, b in free:
        if a < seen:
            parts.append(Part(a, min(b, seen), row.at + a - start, row.ts_ns, row.packet_no))
        if b > seen:
            parts.append(Part(max(a, seen), b, CUT, row.ts_ns, row.packet_no))
    return parts


def _deliver(me: Half, part: Part, out: Output) -> None:
    me.next = part.end
    if part.at == CUT:
        me.gap_kind = me.gap_kind or GAP_SNAPLEN
    else:
        out.chunks.append(Chunk(me.direction, part, me.gap_kind))
        me.gap_kind = GAP_NONE


def _deliver_pending(me: Half, out: Output) -> None:
    n = 0
    for part in me.pending:
        if part.start != me.next:
            break
        _deliver(me, part, out)
        me.waiting -= part.end - part.start
        n += 1
    del me.pending[:n]


def _give_up_acknowledged(me: Half, row: Row, out: Output) -> None:
    while me.pending and me.acked >= me.pending[0].start:
        _give_up_hole(me, row.ts_ns, row.packet_no, out)


def _give_up_hole(me: Half, ts_ns: int, packet_no: int, out: Output) -> None:
    to = me.pending[0].start
    out.events.append(Event(me.direction, E_GAP, ts_ns, packet_no, me.next, to - me.next))
    me.next = to
    me.gap_kind = GAP_LOST
    _deliver_pending(me, out)
