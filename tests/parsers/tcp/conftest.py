"""A wire to write segments on, and a reader that takes streams as framing does."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from kafkascope_parsers.link import Segments
from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tcp.streams import Streams

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
MASK = 0xFFFFFFFF
ENDPOINTS = ((0xFFFF0A000001, 40000), (0xFFFF0A0000FE, 9092))


@dataclass
class Packet:
    """A segment of side 0 (the client) or 1. seq and ack are absolute; cut: payload bytes that the snap length left."""

    side: int
    seq: int
    payload: bytes = b""
    ack: int | None = None
    flags: int = 0
    window: int = 1000
    cut: int | None = None
    ts_ns: int = 0
    port: int = ENDPOINTS[0][1]


def segments_of(packets: Sequence[Packet], first_no: int = 1) -> tuple[np.ndarray, Segments]:
    """The bytes and columns of packets; packets without a time get their number in microseconds."""
    data, rows = bytearray(b"\xee" * 7), []
    for i, p in enumerate(packets):
        (a, _), (b, b_port) = ENDPOINTS
        ends = (a, p.port, b, b_port) if p.side == 0 else (b, b_port, a, p.port)
        captured = len(p.payload) if p.cut is None else min(p.cut, len(p.payload))
        flags = p.flags | (ACK if p.ack is not None else 0)
        ts_ns = p.ts_ns or (first_no + i) * 1000
        number = (ts_ns, first_no + i)
        tcp = (p.seq & MASK, (p.ack or 0) & MASK, flags, p.window)
        rows.append((*number, *ends, *tcp, len(data), captured, len(p.payload)))
        data += p.payload[:captured] + b"\xee" * 3
    c = list(zip(*rows, strict=True)) if rows else [()] * 13
    zeros = np.zeros(len(rows), np.uint64)
    return np.frombuffer(bytearray(data), np.uint8), Segments(
        np.array(c[0], np.int64),
        np.array(c[1], np.int64),
        np.stack([zeros, np.array(c[2], np.uint64)], 1),
        np.stack([zeros, np.array(c[4], np.uint64)], 1),
        np.array(c[3], np.uint16),
        np.array(c[5], np.uint16),
        np.array(c[6], np.uint32),
        np.array(c[7], np.uint32),
        np.array(c[8], np.uint16),
        np.array(c[9], np.uint16),
        np.array(c[10], np.int64),
        np.array(c[11], np.int32),
        np.array(c[12], np.int32),
        np.zeros(len(rows), np.int32),
    )


@dataclass
class Reader:
    """Takes streams; checks that each byte comes once, in order, and that what was left comes again."""

    streams: dict[int, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    """Per direction: all bytes, gaps left out."""
    gaps: dict[int, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Per direction: stream offset, length, kind."""
    pieces: dict[int, dict[int, tuple[int, int]]] = field(default_factory=lambda: defaultdict(dict))
    """Per direction and packet: stream offset of its first piece, and its time."""
    at: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Per direction: stream offset up to which everything was taken."""
    left: dict[int, bytes] = field(default_factory=dict)
    events: list[tuple[int, ...]] = field(default_factory=list)
    """All rows of EVENT, for those who add them."""

    def take(self, streams: Streams, leave: Callable[[int], int] = lambda size: 0) -> np.ndarray:
        """Takes a block; of each direction's last run leaves `leave(its length)` bytes for the next block. Returns how
        far each run was read, for TcpStreams.keep_rest."""
        n = len(streams.start)
        seen, consumed = [], streams.start.copy()
        for r in range(n):
            d, start, end = int(streams.direction[r]), int(streams.start[r]), int(streams.end[r])
            seen.append(d)
            assert start <= end
            assert start == (streams.end[r - 1] if r else 0)
            offset, gap = int(streams.stream_offset[r]), int(streams.gap_before[r])
            left = self.left.pop(d, b"")
            data = streams.data[start:end].tobytes()
            assert data[: len(left)] == left
            if gap:
                assert not left
                assert streams.gap_kind[r] != 0
                self.gaps[d].append((offset - gap, gap, int(streams.gap_kind[r])))
            else:
                assert streams.gap_kind[r] == 0
            assert offset == self.at[d] + gap
            keep = min(leave(len(data)), len(data)) if r + 1 == n or streams.direction[r + 1] != d else 0
            taken = len(data) - keep
            self.streams[d] += data[:taken]
            self.left[d] = data[taken:]
            self.at[d] = offset + taken
            consumed[r] = start + taken
            self._take_pieces(streams, r, d)
        assert seen == sorted(seen)
        assert n == 0 or streams.end[-1] == len(streams.data)
        return consumed

    def _take_pieces(self, streams: Streams, r: int, d: int) -> None:
        inside = (streams.piece_start >= streams.start[r]) & (streams.piece_start < streams.end[r])
        assert streams.piece_start[inside][0] == streams.start[r]
        for i in np.flatnonzero(inside):
            offset = int(streams.stream_offset[r] + streams.piece_start[i] - streams.start[r])
            self.pieces[d].setdefault(int(streams.piece_packet[i]), (offset, int(streams.piece_ts_ns[i])))


@dataclass
class Wire:
    """What the tests need, in one fixture."""

    packet: type[Packet] = Packet
    reader: type[Reader] = Reader
    segments: Callable[..., tuple[np.ndarray, Segments]] = segments_of


@pytest.fixture(scope="session")
def wire() -> Wire:
    return Wire()


@pytest.fixture(scope="session")
def slow_streams(load_module):
    """The slow twin of TcpStreams."""
    return load_module(Path(__file__).with_name("one_by_one.py")).OneByOneStreams


@pytest.fixture(scope="session", params=["kernels", "one_by_one"])
def either_streams(request, slow_streams):
    """TcpStreams, then its slow twin: a test with it holds for both."""
    return TcpStreams if request.param == "kernels" else slow_streams
