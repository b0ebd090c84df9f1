"""Compares retransmissions with the bytes that came first, which are the ones that are used.

The first copy is searched among the last chunks of its direction (FIRST_COPY_STEPS) and among the last bytes of the
whole capture (FIRST_COPY_BYTES). Both limits are counted in the capture, not in blocks or buckets, so that results do
not depend on these. Bytes that may still be needed are copied between blocks.

Arguments are records: seg a SEGMENT_ROW, me a SIDE, n the COUNTERS.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.assemble import copy_bytes
from kafkascope_parsers.tcp.state import (
    FIRST_COPY_BYTES,
    FIRST_COPY_STEPS,
    FROM_BLOCK,
    FROM_COPIES,
    FROM_WAITING,
    NOWHERE,
    Payloads,
)


class FirstCopy(NamedTuple):
    """Bytes of a stream that came first: their stream offset, their number, and their place in a source of bytes."""

    stream_offset: int
    length: int
    at: int
    source: int | np.int64


@kernel
def differences(seg: Any, start: int, first: FirstCopy, held: Payloads) -> Any:
    """Compares the segment, whose payload begins at stream offset `start`, with a first copy. Returns the stream offset
    of the first byte that differs (-1: none), and the number of bytes that differ."""
    offset, length, at, source = first
    a, b = max(start, offset), min(start + seg.captured, offset + length)
    if source == NOWHERE or a >= b:
        return np.int64(-1), np.int64(0)
    if source == FROM_BLOCK:
        return _compare(held.block, at + a - offset, held.block, (seg.offset + a - start, b - a, a))
    if source == FROM_WAITING:
        return _compare(held.waiting, at + a - offset, held.block, (seg.offset + a - start, b - a, a))
    return _compare(held.copies, at + a - offset, held.block, (seg.offset + a - start, b - a, a))


@kernel
def _compare(one: NDArray[np.uint8], at: int, other: NDArray[np.uint8], what: tuple[int, int, int]) -> Any:
    """Compares one[at:] with other[place:], `length` bytes from stream offset `offset` on; as `differences`."""
    place, length, offset = what
    first, n = -1, 0
    for i in range(min(length, len(one) - at, len(other) - place)):
        if one[at + i] != other[place + i]:
            if n == 0:
                first = offset + i
            n += 1
    return first, n


@kernel
def delivered_differences(
    seg: Any, start: int, me: Any, chunks: tuple[NDArray[np.void], NDArray[np.void]], held: Payloads
) -> Any:
    """Compares the segment with the payload of its direction that was taken before. chunks: rows of CHUNK and the
    COUNTERS."""
    rows, n = chunks[0], chunks[1][0]
    k, first, total = me.last_chunk - n.first_chunk, np.int64(-1), np.int64(0)
    for _ in range(FIRST_COPY_STEPS):
        if k < 0 or rows[k].stream_offset + rows[k].length <= start:
            break
        chunk = rows[k]
        if chunk.position > n.position - FIRST_COPY_BYTES:
            copy = FirstCopy(chunk.stream_offset, chunk.length, chunk.at, np.int64(chunk.source))
            offset, found = differences(seg, start, copy, held)
            first = offset if found else first
            total += found
        k = chunk.previous - n.first_chunk
    return first, total


@kernel
def keep_first_copies(
    chunks: NDArray[np.void], position: int, held: Payloads, to: tuple[NDArray[np.void], NDArray[np.uint8]]
) -> tuple[int, int]:
    """Keeps the chunks with which a later segment may be compared, with the bytes of the recent ones.

    Returns the numbers of rows and of bytes that were written; there is room for all.
    """
    rows, copies = to
    first = 0
    while first < len(chunks) and chunks[first].position <= position - FIRST_COPY_BYTES:
        first += 1
    size = 0
    for k in range(first, len(chunks)):
        row, chunk = rows[k - first], chunks[k]
        row.direction, row.stream_offset, row.length = chunk.direction, chunk.stream_offset, chunk.length
        row.position, row.previous, row.source = chunk.position, chunk.previous, NOWHERE
        row.at, row.ts_ns, row.packet_no, row.gap_kind = size, chunk.ts_ns, chunk.packet_no, chunk.gap_kind
        if chunk.position <= position - FIRST_COPY_BYTES:
            continue
        at, length = chunk.at, chunk.length
        target = copies[size : size + length]
        if chunk.source == FROM_BLOCK:
            copy_bytes(target, held.block[at : at + length])
        elif chunk.source == FROM_WAITING:
            copy_bytes(target, held.waiting[at : at + length])
        else:
            copy_bytes(target, held.copies[at : at + length])
        row.source = FROM_COPIES
        size += length
    return len(chunks) - first, size
