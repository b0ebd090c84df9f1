"""Feeds the reassembler, connection by connection, in place of the kernels: the slow way, for tests to compare with."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.link.segments import Segments
from kafkascope_parsers.tcp.reassembler import Chunk, Event, Half, Output, Reassembler, Row
from kafkascope_parsers.tcp.state import CHUNK, EVENT, FIRST_COPY_COST, FROM_WAITING

_COUNTERS = ("bytes", "retransmitted", "out_of_order", "keepalives", "after_fin")

Rows = tuple[NDArray[np.void], NDArray[np.uint8], NDArray[np.void]]
"""CHUNK rows, the bytes that they point into, EVENT rows."""


class Reassemblers:
    """The reassembler of every connection."""

    def __init__(self) -> None:
        self._all: dict[int, Reassembler] = {}
        self._position = 0

    def push(
        self, buf: NDArray[np.uint8], segments: Segments, taken: NDArray[np.int64], sides: NDArray[np.void]
    ) -> Rows:
        """Takes a block's segments; taken: rows (segment, direction) as in `Taken.slow`."""
        out = Output()
        positions = self._position + np.cumsum(segments.captured.astype(np.int64) + FIRST_COPY_COST)
        self._position = int(positions[-1]) if len(positions) else self._position
        for i, direction in taken.tolist():
            d = direction if direction >= 0 else -1 - direction
            reassembler = self._of(d >> 1, sides)
            at = int(segments.offset[i])
            row = Row(
                d,
                int(segments.ts_ns[i]),
                int(segments.packet_no[i]),
                int(segments.seq[i]),
                int(segments.ack[i]),
                int(segments.flags[i]),
                buf[at : at + int(segments.captured[i])].tobytes(),
                int(segments.length[i]),
                int(positions[i]),
            )
            if direction < 0:
                reassembler.give_up_all(row, out)
            else:
                reassembler.push(row, out)
        self._write_back(sides)
        return _rows(out)

    def finish(self, sides: NDArray[np.void]) -> Rows:
        """Gives up every hole."""
        out = Output()
        for c in sorted(self._all):
            self._all[c].finish(out)
        self._write_back(sides)
        return _rows(out)

    def _of(self, c: int, sides: NDArray[np.void]) -> Reassembler:
        reassembler = self._all.setdefault(c, Reassembler((Half(2 * c), Half(2 * c + 1))))
        for half in reassembler.halves:
            side = sides[half.direction]
            if side["based"] and not half.based:
                half.based, half.base = True, int(side["next_seq"])
        return reassembler

    def _write_back(self, sides: NDArray[np.void]) -> None:
        """Gives what halves know to the rows of SIDE."""
        for reassembler in self._all.values():
            for half in reassembler.halves:
                side = sides[half.direction]
                side["next"], side["acked"], side["fin_at"] = half.next, half.acked, half.fin_at
                side["gap_kind"] = half.gap_kind
                if half.based:
                    side["next_seq"] = (half.base + half.next) & 0xFFFFFFFF
                for name in _COUNTERS:
                    side[name] = getattr(half, name)


def _rows(out: Output) -> Rows:
    chunks, events = np.zeros(len(out.chunks), CHUNK), np.zeros(len(out.events), EVENT)
    size = 0
    for row, chunk in zip(chunks, out.chunks, strict=True):
        _fill_chunk(row, chunk, size)
        size += len(chunk.data)
    for row, event in zip(events, out.events, strict=True):
        _fill_event(row, event)
    return chunks, np.frombuffer(bytearray(b"".join(chunk.data for chunk in out.chunks)), np.uint8), events


def _fill_chunk(row: np.void, chunk: Chunk, at: int) -> None:
    row["direction"], row["stream_offset"], row["at"] = chunk.direction, chunk.stream_offset, at
    row["ts_ns"], row["packet_no"], row["length"] = chunk.ts_ns, chunk.packet_no, len(chunk.data)
    row["source"], row["gap_kind"] = FROM_WAITING, chunk.gap_kind


def _fill_event(row: np.void, event: Event) -> None:
    row["connection"], row["side"], row["kind"] = event.direction >> 1, event.direction & 1, event.kind
    row["ts_ns"], row["packet_no"] = event.ts_ns, event.packet_no
    row["stream_offset"], row["bytes"] = event.stream_offset, event.size
