"""Segments to streams, block after block: the kernels for what is in sequence, the reassembler for what is not."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.link.kernel import SegmentArrays
from kafkascope_parsers.link.segments import Segments
from kafkascope_parsers.tcp.assemble import Assembler
from kafkascope_parsers.tcp.flows import grown
from kafkascope_parsers.tcp.reassembler import CUT, Chunk, Event, Half, Output, Reassembler, Row
from kafkascope_parsers.tcp.state import (
    CHUNK,
    EVENT,
    FROM_BLOCK,
    FROM_PENDING,
    OPEN,
    UNANSWERED,
    Taken,
    empty_tables,
    room_for,
)
from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tcp.track import take_segments

_COUNTERS = ("bytes", "retransmitted", "out_of_order", "keepalives", "after_fin")
_NOTHING = np.empty(0, np.uint8)


class TcpStreams:
    """All connections of one bucket of flows. `push` every block of a capture, then `finish`.

    After each push, `connections` and `sides` hold all connections so far and `events` what happened in the block. The
    bytes of the streams are valid until the next push: copy what has to live longer.

    one_by_one: every segment through the plain-Python reassembler (for tests).
    """

    def __init__(self, bucket: int = 0, n_buckets: int = 1, *, one_by_one: bool = False) -> None:
        self._bucket = (bucket, n_buckets)
        self._tables = empty_tables(one_by_one)
        self._one_by_one = one_by_one
        self._assembler = Assembler()
        self._slow: dict[int, Reassembler] = {}
        self.events: NDArray[np.void] = np.empty(0, EVENT)

    @property
    def connections(self) -> NDArray[np.void]:
        """CONNECTION rows; a view, valid until the next push."""
        return self._tables.connections[: self._n("connections")]

    @property
    def sides(self) -> NDArray[np.void]:
        """SIDE rows, two per connection; a view, valid until the next push."""
        return self._tables.sides[: 2 * self._n("connections")]

    @property
    def n_over_limit(self) -> int:
        """Segments left out because there were too many connections."""
        return self._n("over_limit")

    def close_kinds(self) -> NDArray[np.uint8]:
        """How each connection ended, as indices into CLOSE_KINDS."""
        connections, sides = self.connections, self.sides
        kinds: NDArray[np.uint8] = connections["close_kind"].copy()
        silent = (sides["segments"][1::2] == 0) & (sides["segments"][0::2] == connections["n_syn"])
        kinds[(kinds == OPEN) & silent & (connections["n_syn"] > 0)] = UNANSWERED
        return kinds

    def push(self, buf: NDArray[np.uint8], segments: Segments) -> Streams:
        """Takes the segments of a block, whose offsets count in buf."""
        columns = SegmentArrays(*(getattr(segments, name) for name in SegmentArrays._fields))
        taken = room_for(len(segments))
        for name in ("chunks", "events", "slow"):
            self._tables.n[name] = 0
        at = take_segments(columns, 0, self._tables, taken, self._bucket)
        while at < len(segments):
            self._tables = grown(self._tables)
            at = take_segments(columns, at, self._tables, taken, self._bucket)
        chunks = taken.chunks[: self._n("chunks")]
        self.events = taken.events[: self._n("events")].copy()
        pending = _NOTHING
        if self._n("slow"):
            out = self._reassemble(segments, taken)
            more, pending = _chunk_rows(out.chunks)
            chunks = np.concatenate([chunks, more])
            self._add_events(out.events)
            self._keep_pending(buf)
        return self._assembler.assemble(chunks, (buf, pending), self.sides, final=False)

    def finish(self) -> Streams:
        """The end of the capture: what waited comes behind gaps, and every tail comes once more."""
        out = Output()
        for c, reassembler in self._slow.items():
            reassembler.finish(out)
            self._write_back(c, reassembler)
        self._slow.clear()
        self.events = np.empty(0, EVENT)
        self._add_events(out.events)
        chunks, pending = _chunk_rows(out.chunks)
        return self._assembler.assemble(chunks, (_NOTHING, pending), self.sides, final=True)

    def _n(self, name: str) -> int:
        return int(self._tables.n[name][0])

    def _reassemble(self, segments: Segments, taken: Taken) -> Output:
        """Sends the block's slow segments through the reassemblers of their connections."""
        out = Output()
        rows = taken.slow[: self._n("slow")]
        i = rows[:, 0]
        columns = (segments.ts_ns, segments.packet_no, segments.seq, segments.ack, segments.flags)
        places = (segments.offset, segments.captured, segments.length)
        values = (rows[:, 1].tolist(), *(column[i].tolist() for column in columns + places))
        touched = np.unique(rows[:, 1] >> 1).tolist()
        for c in touched:
            self._open_halves(c)
        for row in zip(*values, strict=True):
            self._slow[row[0] >> 1].push(Row._make(row), out)
        for c in touched:
            self._write_back(c, self._slow[c])
        return out

    def _open_halves(self, c: int) -> None:
        """The reassembler of connection c, going on where the kernel stopped."""
        reassembler = self._slow.get(c)
        if reassembler is None:
            reassembler = self._slow[c] = Reassembler((Half(2 * c), Half(2 * c + 1)))
            for half in reassembler.halves:
                side = self._tables.sides[half.direction]
                half.next, half.acked, half.fin_at = int(side["next"]), int(side["acked"]), int(side["fin_at"])
                half.gap_kind = int(side["gap_kind"])
        for half in reassembler.halves:
            side = self._tables.sides[half.direction]
            if side["based"] and not half.based:
                half.based, half.base = True, int(side["next_seq"]) - int(side["next"])

    def _write_back(self, c: int, reassembler: Reassembler) -> None:
        """Gives the state of connection c back; the kernel goes on with it when nothing waits."""
        for half in reassembler.halves:
            side = self._tables.sides[half.direction]
            side["next"], side["acked"], side["fin_at"] = half.next, half.acked, half.fin_at
            if half.based:
                side["next_seq"] = (half.base + half.next) & 0xFFFFFFFF
            side["gap_kind"] = half.gap_kind
            for name in _COUNTERS:
                side[name] += getattr(half, name)
                setattr(half, name, 0)
        self._tables.connections["slow"][c] = self._one_by_one or not reassembler.in_order

    def _keep_pending(self, buf: NDArray[np.uint8]) -> None:
        """Copies what waits out of the block, and lets go of the connections that are in order again."""
        for c in [c for c, reassembler in self._slow.items() if reassembler.in_order and not self._one_by_one]:
            del self._slow[c]
        for reassembler in self._slow.values():
            for half in reassembler.halves:
                half.pending = [
                    part._replace(kept=buf[part.at : part.at + part.end - part.start].tobytes(), at=0)
                    if part.kept is None and part.at != CUT
                    else part
                    for part in half.pending
                ]

    def _add_events(self, events: list[Event]) -> None:
        """Adds the reassembler's events to the block's, in capture order."""
        if not events:
            return
        rows = np.zeros(len(events), EVENT)
        columns = np.array(events, np.int64).T
        rows["connection"], rows["side"], rows["kind"] = columns[0] >> 1, columns[0] & 1, columns[1]
        rows["ts_ns"], rows["packet_no"], rows["stream_offset"], rows["bytes"] = columns[2:]
        merged = np.concatenate([self.events, rows])
        self.events = merged[np.argsort(merged["packet_no"], kind="stable")]


def _chunk_rows(chunks: list[Chunk]) -> tuple[NDArray[np.void], NDArray[np.uint8]]:
    """The reassembler's chunks as rows, and the bytes of those that waited since an earlier block."""
    kept: list[bytes] = []
    size = 0
    rows = []
    for direction, part, gap_kind in chunks:
        at, source = part.at, FROM_BLOCK
        if part.kept is not None:
            at, source = size, FROM_PENDING
            kept.append(part.kept)
            size += len(part.kept)
        rows.append((direction, part.start, at, part.ts_ns, part.packet_no, part.end - part.start, source, gap_kind))
    return np.array(rows, CHUNK), np.frombuffer(b"".join(kept), np.uint8)
