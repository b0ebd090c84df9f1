"""Divides the segments of a block among buckets, each with the payload of its own segments only.

A bucket's share gives the same results as the whole block (tcp.reader). FIRST_COPY_BYTES counts the payload of all
buckets, so each segment has the count of the other buckets' segments between it and the bucket's previous one
(`Segments.skipped`). The segments of other buckets after the bucket's last one are one more row: it has the addresses
of the very last segment, which belongs to another bucket, and a number of captured bytes that represents all of them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.link.segments import SEGMENT_ROW, SegmentArrays, Segments, room_for_segments
from kafkascope_parsers.tcp.assemble import copy_bytes
from kafkascope_parsers.tcp.flows import bucket_of, segment_hash
from kafkascope_parsers.tcp.state import FIRST_COPY_COST

_ROW, _BYTE, _POSITION = range(3)
_SPARE = 4
"""Room is made for a quarter more rows than a block has, as the next one may have some more."""


class Shares(NamedTuple):
    """The shares of all buckets, one after the other. segments: offsets count from the first byte of the bucket's
    payload; row_ends, byte_ends: int64, n_buckets + 1, where the share of each bucket begins and ends."""

    segments: SegmentArrays
    payload: NDArray[np.uint8]
    row_ends: NDArray[np.int64]
    byte_ends: NDArray[np.int64]


class Divider:
    """Divides one block after the other among n_buckets. All blocks use the same memory: shares are valid until the
    next are made."""

    def __init__(self, n_buckets: int) -> None:
        self._n_buckets = n_buckets
        self._segments = room_for_segments(0)
        self._payload: NDArray[np.uint8] = np.empty(0, np.uint8)

    def shares_of(self, buf: NDArray[np.uint8], segments: Segments) -> Shares:
        """The share of each bucket of the segments of a block, whose offsets refer to buf."""
        columns = SegmentArrays(*(getattr(segments, name) for name in SegmentArrays._fields))
        n_buckets = self._n_buckets
        buckets, used = np.empty(len(segments), np.int64), np.zeros((n_buckets + 1, 3), np.int64)
        _measure(columns, np.zeros(1, SEGMENT_ROW), n_buckets, buckets, used)
        ends = np.zeros((2, n_buckets + 1), np.int64)
        np.cumsum(used[:n_buckets, :_POSITION].T, axis=1, out=ends[:, 1:])
        n_rows, n_bytes = ends[:, -1].tolist()
        if n_rows > len(self._segments.ts_ns):
            self._segments = room_for_segments(n_rows + n_rows // _SPARE)
        if n_bytes > len(self._payload):
            self._payload = np.empty(max(n_bytes, len(buf)), np.uint8)
        columns_of: Any = (column[:n_rows] for column in self._segments)
        shares = SegmentArrays(*columns_of), self._payload[:n_bytes]
        used[:n_buckets, :_POSITION] = ends[:, :-1].T
        used[:, _POSITION] = 0
        _divide(columns, buf, buckets, (used, ends[_BYTE]), shares)
        return Shares(*shares, ends[_ROW], ends[_BYTE])


def buckets_of(segments: Segments, rows: NDArray[np.int64], n_buckets: int) -> NDArray[np.int64]:
    """The bucket of each of some segments, by their rows."""
    columns = SegmentArrays(*(getattr(segments, name)[rows] for name in SegmentArrays._fields))
    buckets, used = np.empty(len(rows), np.int64), np.zeros((n_buckets + 1, 3), np.int64)
    _measure(columns, np.zeros(1, SEGMENT_ROW), n_buckets, buckets, used)
    return buckets


@kernel
def _measure(
    s: SegmentArrays, scratch: NDArray[np.void], n_buckets: int, buckets: NDArray[np.int64], used: NDArray[np.int64]
) -> None:
    """Writes the bucket of each segment, and the rows and bytes of each bucket's share."""
    seg, last = scratch[0], len(s.ts_ns) - 1
    for i in range(len(s.ts_ns)):
        seg.source_high, seg.source_low = s.source[i, 0], s.source[i, 1]
        seg.destination_high, seg.destination_low = s.destination[i, 0], s.destination[i, 1]
        seg.source_port, seg.destination_port = s.source_port[i], s.destination_port[i]
        b = bucket_of(segment_hash(seg), n_buckets)
        buckets[i] = b
        used[b, 0] += 1
        used[b, 1] += max(s.captured[i], 0)
    for b in range(n_buckets):
        used[b, 0] += 1 if last >= 0 and buckets[last] != b else 0


@kernel
def _divide(
    s: SegmentArrays,
    buf: NDArray[np.uint8],
    buckets: NDArray[np.int64],
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    to: tuple[SegmentArrays, NDArray[np.uint8]],
) -> None:
    """Copies each segment and its payload to its bucket's share. places: next row and byte of each share, and the count
    of all segments up to its last one; the first byte of each share. There is room for all."""
    used, first_bytes = places
    out, payload = to
    position = np.int64(0)
    for i in range(len(s.ts_ns)):
        b = buckets[i]
        row, at, size = used[b, 0], used[b, 1], np.int64(max(s.captured[i], 0))
        _copy_row(s, i, out, row)
        copy_bytes(payload[at : at + size], buf[s.offset[i] : s.offset[i] + size])
        out.offset[row], out.skipped[row] = at - first_bytes[b], position - used[b, 2]
        position += s.captured[i] + FIRST_COPY_COST
        used[b, 0], used[b, 1], used[b, 2] = row + 1, at + size, position
    last = len(s.ts_ns) - 1
    for b in range(len(used) - 1):
        if last >= 0 and buckets[last] != b:
            row = used[b, 0]
            _copy_row(s, last, out, row)
            out.offset[row], out.captured[row], out.skipped[row] = 0, position - used[b, 2] - FIRST_COPY_COST, 0


@kernel
def _copy_row(s: SegmentArrays, i: int, out: SegmentArrays, row: int) -> None:
    out.ts_ns[row], out.packet_no[row] = s.ts_ns[i], s.packet_no[i]
    for half in range(2):
        out.source[row, half], out.destination[row, half] = s.source[i, half], s.destination[i, half]
    out.source_port[row], out.destination_port[row] = s.source_port[i], s.destination_port[i]
    out.seq[row], out.ack[row], out.flags[row], out.window[row] = s.seq[i], s.ack[i], s.flags[i], s.window[i]
    out.captured[row], out.length[row] = s.captured[i], s.length[i]
