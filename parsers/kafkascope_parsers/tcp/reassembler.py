"""Puts the segments of one connection in order, in plain Python: the slow twin of `track` and `waiting`, for tests.

The rules are those of `waiting`. It keeps every first copy, each with its bytes, so memory grows with the stream.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from kafkascope_parsers.tcp.state import (
    ACK,
    ACKED_SEGMENTS,
    E_DIFFERS,
    E_GAP,
    E_KEEPALIVE,
    E_LIMIT,
    E_RETRANSMIT,
    FAR_LIMIT,
    FAR_SEGMENTS,
    FIN,
    FIRST_COPY_BYTES,
    FIRST_COPY_STEPS,
    RST,
    SYN,
    WAITING_BYTES,
    WAITING_SEGMENTS,
    WINDOW_LIMIT,
)
from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_NONE, GAP_SNAPLEN


class Part(NamedTuple):
    """Stream bytes [start, end) of one segment; data: None where the snap length cut them; position: as in COUNTERS."""

    start: int
    end: int
    data: bytes | None
    ts_ns: int
    packet_no: int
    position: int


class Chunk(NamedTuple):
    """Bytes that are in order now, and why others are missing before them."""

    direction: int
    stream_offset: int
    data: bytes
    ts_ns: int
    packet_no: int
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
    """A segment, as the columns of `Segments`; payload: as far as it was captured."""

    direction: int
    ts_ns: int
    packet_no: int
    seq: int
    ack: int
    flags: int
    payload: bytes
    length: int
    position: int


@dataclass(slots=True)
class Output:
    """What came out, in order per direction."""

    chunks: list[Chunk] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def note(self, me: "Half", kind: int, row: "Row | Part", what: tuple[int, int]) -> None:
        """Adds an event of that segment; what: stream offset and bytes."""
        self.events.append(Event(me.direction, kind, row.ts_ns, row.packet_no, *what))


@dataclass(slots=True)
class Half:
    """One direction. Fields as in SIDE; waiting: parts after a hole, by stream offset, without overlaps; taken: those
    handed out."""

    direction: int
    based: bool = False
    base: int = 0
    next: int = 0
    acked: int = -1
    acked_for: int = 0
    fin_at: int = -1
    gap_kind: int = GAP_NONE
    bytes: int = 0
    retransmitted: int = 0
    out_of_order: int = 0
    keepalives: int = 0
    after_fin: int = 0
    far: int = 0
    waiting: list[Part] = field(default_factory=list)
    taken: list[Part] = field(default_factory=list)

    def offset(self, seq: int) -> int:
        """The stream offset of a sequence number: the one nearest to the next byte."""
        return self.next + ((seq - self.base - self.next + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


class Reassembler:
    """The two halves of one connection. `push` segments in capture order."""

    def __init__(self, halves: tuple[Half, Half]) -> None:
        self.halves = halves

    def push(self, row: Row, out: Output) -> None:
        """Takes one segment; what is in order thereby is added to out."""
        me, peer = self.halves[row.direction & 1], self.halves[row.direction & 1 ^ 1]
        if row.flags & ACK and peer.based:
            acked = peer.offset(row.ack)
            if acked <= peer.next + WINDOW_LIMIT:
                peer.acked = max(peer.acked, acked)
        reset = bool(row.flags & RST)
        if not reset and me.based:
            _take(me, row, out)
        _give_up_acknowledged(me, row, out, answers=False)
        _give_up_acknowledged(peer, row, out, answers=row.length > 0 and not reset)
        if reset:
            self.give_up_all(row, out)

    def give_up_all(self, row: Row, out: Output) -> None:
        """Gives up every hole, which the segment decided."""
        for half in self.halves:
            while half.waiting:
                _give_up_hole(half, row, out)

    def finish(self, out: Output) -> None:
        """Gives up every hole at the end of the capture."""
        for half in self.halves:
            while half.waiting:
                _give_up_hole(half, half.waiting[0], out)


def _take(me: Half, row: Row, out: Output) -> None:
    start, before = me.offset(row.seq + (1 if row.flags & SYN else 0)), me.next
    if row.length <= 1 and start == me.next - 1 >= 0 and not row.flags & (SYN | FIN):
        me.keepalives += 1
        out.note(me, E_KEEPALIVE, row, (max(start, 0), row.length))
    elif row.length > 0:
        me.far = me.far + 1 if abs(start - me.next) > FAR_LIMIT else 0
        if me.far >= FAR_SEGMENTS:
            start = _jump(me, row, start, out)
        if me.far == 0 and 0 <= me.fin_at <= start and start - before <= FAR_LIMIT:
            me.after_fin += 1
        elif me.far == 0:
            _take_data(me, row, start, out)
    end = start + row.length
    if row.flags & FIN and me.fin_at < 0 and before <= end and start - before <= FAR_LIMIT:
        me.fin_at = end


def _jump(me: Half, row: Row, start: int, out: Output) -> int:
    """Goes on with a far segment that is believed; one that seems to be behind is ahead."""
    me.far = 0
    to = start if start > me.next else start + (1 << 32)
    while me.waiting:
        _give_up_hole(me, row, out)
    if to > me.next:
        out.note(me, E_GAP, row, (me.next, to - me.next))
        me.next, me.gap_kind = to, GAP_LOST
    return to


def _take_data(me: Half, row: Row, start: int, out: Output) -> None:
    disordered = bool(me.waiting) and start < me.waiting[-1].start
    differing = _differing(me, row, start)
    new = _new_parts(me, row, start)
    fresh = sum(part.end - part.start for part in new)
    me.bytes += fresh
    if fresh < row.length:
        me.retransmitted += 1
        out.note(me, E_RETRANSMIT, row, (max(start, 0), row.length - fresh))
        if differing:
            out.note(me, E_DIFFERS, row, (differing[0], len(differing)))
    elif disordered:
        me.out_of_order += 1
    me.waiting = sorted(me.waiting + new)
    _deliver(me, out)
    while me.waiting and (_waiting_bytes(me) > WAITING_BYTES or len(me.waiting) > WAITING_SEGMENTS):
        out.note(me, E_LIMIT, row, (me.next, _waiting_bytes(me)))
        _give_up_hole(me, row, out)


def _waiting_bytes(me: Half) -> int:
    return sum(part.end - part.start for part in me.waiting)


def _differing(me: Half, row: Row, start: int) -> list[int]:
    """The stream offsets at which the segment differs from first copies."""
    found = []
    captured = [part for part in me.taken if part.data is not None]
    for part in captured[-FIRST_COPY_STEPS:] + me.waiting:
        if part.data is not None and part.position > row.position - FIRST_COPY_BYTES:
            both = range(max(part.start, start), min(part.end, start + len(row.payload)))
            found += [at for at in both if part.data[at - part.start] != row.payload[at - start]]
    return sorted(found)


def _new_parts(me: Half, row: Row, start: int) -> list[Part]:
    """What of the segment is neither handed out nor waiting, cut where the snap length cut it."""
    at, end, seen = max(start, me.next), start + row.length, start + len(row.payload)
    free = []
    for part in me.waiting:
        if at < part.start:
            free.append((at, min(part.start, end)))
        at = max(at, part.end)
    free.append((at, end))
    parts = []
    for a, b in free:
        if a < min(b, seen):
            data = row.payload[a - start : min(b, seen) - start]
            parts.append(Part(a, min(b, seen), data, row.ts_ns, row.packet_no, row.position))
        if max(a, seen) < b:
            parts.append(Part(max(a, seen), b, None, row.ts_ns, row.packet_no, row.position))
    return parts


def _deliver(me: Half, out: Output) -> None:
    """Hands out the parts that are next in their stream."""
    while me.waiting and me.waiting[0].start == me.next:
        part = me.waiting.pop(0)
        me.taken.append(part)
        if part.data is None:
            me.gap_kind = me.gap_kind or GAP_SNAPLEN
        else:
            out.chunks.append(Chunk(me.direction, me.next, part.data, part.ts_ns, part.packet_no, me.gap_kind))
            me.gap_kind = GAP_NONE
        me.next = part.end


def _give_up_acknowledged(me: Half, row: Row, out: Output, *, answers: bool) -> None:
    if not me.waiting or me.acked < me.waiting[0].start:
        me.acked_for = 0
        return
    me.acked_for += 1
    if answers or me.acked_for >= ACKED_SEGMENTS:
        me.acked_for = 0
        while me.waiting and me.acked >= me.waiting[0].start:
            _give_up_hole(me, row, out)


def _give_up_hole(me: Half, row: Row | Part, out: Output) -> None:
    to = me.waiting[0].start
    out.note(me, E_GAP, row, (me.next, to - me.next))
    me.next, me.gap_kind = to, GAP_LOST
    _deliver(me, out)
