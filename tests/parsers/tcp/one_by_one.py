"""Puts the segments of each connection in order, in plain Python: the slow twin of the kernels `track` and `waiting`.

The rules are those of `waiting`. It keeps every first copy, each with its bytes, so memory grows with the stream. Which
connection a segment belongs to, and how connections open and close, it takes from the kernels.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kafkascope_parsers.tcp.assemble import Assembler
from kafkascope_parsers.tcp.reader import TcpStreams, account_for_ends
from kafkascope_parsers.tcp.state import (
    ACK,
    ACKED_SEGMENTS,
    CHUNK,
    E_DIFFERS,
    E_GAP,
    E_KEEPALIVE,
    E_LIMIT,
    E_RETRANSMIT,
    EVENT,
    FAR_LIMIT,
    FAR_SEGMENTS,
    FIN,
    FIRST_COPY_BYTES,
    FIRST_COPY_COST,
    FIRST_COPY_STEPS,
    FROM_WAITING,
    RST,
    SIDE,
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


ACCOUNTED = ("stream_bytes", "missing_bytes", "cut_bytes")
"""Columns of SIDE that the assembler counts."""
COUNTED = ("bytes", "retransmitted", "out_of_order", "keepalives", "after_fin")
"""Columns of SIDE that a half counts."""
NOTED = (E_DIFFERS, E_GAP, E_KEEPALIVE, E_LIMIT, E_RETRANSMIT)
"""Events that the reassemblers note; the others are the kernels'."""


class OneByOneStreams:
    """As TcpStreams, of one bucket: the kernels are pushed the same blocks, and every payload goes through a
    reassembler."""

    def __init__(self):
        self._kernels = TcpStreams()
        self._assembler = Assembler()
        self._reassemblers = {}
        self._position = 0
        self.sides = np.empty(0, SIDE)
        self.events = np.empty(0, EVENT)

    @property
    def connections(self):
        """Rows of CONNECTION, which are the kernels'."""
        return self._kernels.connections

    def close_kinds(self):
        """How each connection ended, as the kernels know it."""
        return self._kernels.close_kinds()

    def push(self, buf, segments):
        """Takes the segments of a block."""
        self._kernels.push(buf, segments)
        out = Output()
        for row in self._rows(buf, segments):
            c = row.direction >> 1
            taken_over = self._taken_over(row)
            if taken_over is not None:
                self._reassembler(taken_over).give_up_all(row._replace(direction=2 * taken_over), out)
            self._reassembler(c).push(row, out)
        return self._assemble(out, final=False)

    def keep_rest(self, streams, consumed):
        """Keeps what is left of the streams that the last push gave."""
        self._assembler.keep_rest(streams, consumed)

    def finish(self):
        """The end of the capture: gives up every hole."""
        self._kernels.finish()
        out = Output()
        for c in sorted(self._reassemblers):
            self._reassemblers[c].finish(out)
        streams = self._assemble(out, final=True)
        account_for_ends(self.sides)
        return streams

    def _rows(self, buf, segments):
        """The segments with their directions: that of the connection of their addresses and ports that opened last."""
        opened, sides = defaultdict(list), self._kernels.sides
        for c, packet_no in enumerate(self.connections["first_packet"].tolist()):
            opened[frozenset((_end(sides[2 * c]), _end(sides[2 * c + 1])))].append((packet_no, c))
        for i in range(len(segments)):
            self._position += int(segments.captured[i]) + FIRST_COPY_COST
            source = (*segments.source[i].tolist(), int(segments.source_port[i]))
            target = (*segments.destination[i].tolist(), int(segments.destination_port[i]))
            packet_no, at = int(segments.packet_no[i]), int(segments.offset[i])
            c = max(known for known in opened[frozenset((source, target))] if known[0] <= packet_no)[1]
            yield Row(
                2 * c + (_end(sides[2 * c]) != source),
                int(segments.ts_ns[i]),
                packet_no,
                int(segments.seq[i]),
                int(segments.ack[i]),
                int(segments.flags[i]),
                buf[at : at + int(segments.captured[i])].tobytes(),
                int(segments.length[i]),
                self._position,
            )

    def _taken_over(self, row):
        """The connection before on the same addresses and ports, for the first segment of one."""
        c, sides = row.direction >> 1, self._kernels.sides
        if self.connections["first_packet"][c] != row.packet_no:
            return None
        ends = {_end(sides[2 * c]), _end(sides[2 * c + 1])}
        before = (b for b in range(c - 1, -1, -1) if {_end(sides[2 * b]), _end(sides[2 * b + 1])} == ends)
        return next(before, None)

    def _reassembler(self, c):
        reassembler = self._reassemblers.setdefault(c, Reassembler((Half(2 * c), Half(2 * c + 1))))
        for half in reassembler.halves:
            side = self._kernels.sides[half.direction]
            if side["based"] and not half.based:
                half.based, half.base = True, (int(side["next_seq"]) - int(side["next"])) & 0xFFFFFFFF
        return reassembler

    def _assemble(self, out, *, final):
        self._write_sides()
        chunks, events = np.zeros(len(out.chunks), CHUNK), np.zeros(len(out.events), EVENT)
        at = 0
        for row, chunk in zip(chunks, out.chunks, strict=True):
            row["direction"], row["stream_offset"], row["at"] = chunk.direction, chunk.stream_offset, at
            row["ts_ns"], row["packet_no"], row["length"] = chunk.ts_ns, chunk.packet_no, len(chunk.data)
            row["source"], row["gap_kind"] = FROM_WAITING, chunk.gap_kind
            at += len(chunk.data)
        for row, event in zip(events, out.events, strict=True):
            row["connection"], row["side"], row["kind"] = event.direction >> 1, event.direction & 1, event.kind
            row["ts_ns"], row["packet_no"] = event.ts_ns, event.packet_no
            row["stream_offset"], row["bytes"] = event.stream_offset, event.size
        kernels = self._kernels.events
        events = np.concatenate([kernels[~np.isin(kernels["kind"], NOTED)], events])
        self.events = events[np.argsort(events["packet_no"], kind="stable")]
        data = np.frombuffer(b"".join(chunk.data for chunk in out.chunks), np.uint8)
        return self._assembler.assemble(chunks, (np.empty(0, np.uint8), data), self.sides, final=final)

    def _write_sides(self):
        """Rows of SIDE: the kernels', but for what the halves and the assembler know."""
        before, self.sides = self.sides, self._kernels.sides.copy()
        for name in ACCOUNTED:
            self.sides[name] = 0
            self.sides[name][: len(before)] = before[name]
        for reassembler in self._reassemblers.values():
            for half in reassembler.halves:
                side = self.sides[half.direction]
                side["next"], side["acked"], side["fin_at"] = half.next, half.acked, half.fin_at
                side["gap_kind"] = half.gap_kind
                for name in COUNTED:
                    side[name] = getattr(half, name)


def _end(side):
    """An end's address and port."""
    return int(side["address_high"]), int(side["address_low"]), int(side["port"])
