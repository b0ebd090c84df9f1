"""The machine: one kernel that runs the programs of one message over frames of mixed versions.

It runs twice over a batch. The first run has no columns (every entry of `base` is -1): it checks every frame, decides
which fail, and counts the instances of every level. The second, over the frames that passed, finds columns of exactly
those sizes and fills them. So a failing frame leaves no data in columns, no column ever grows, and no write can be out
of bounds.

Invariants: every read is checked against the end of the frame; a count is checked against the bytes left divided by the
least size of an element, which is 1 or more; every iteration of the loop either reads a byte, ends an element of a
counted array, or advances in the program, which has no other backward jump. A nesting deeper than the stack does not
compile (MAX_DEPTH).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import inlined, kernel
from kafkascope_parsers.schema.program import (
    BOOL,
    CARRAY,
    CFARRAY,
    COMPACT,
    END_TAG,
    FARRAY,
    I8,
    I16,
    I32,
    I32_WIDENED,
    I64,
    LOOP,
    NEXT_TAG,
    NULLABLE_STRUCT,
    PRESENT,
    STRING,
    TAGS,
    U16,
    UUID,
)

OK, TRUNCATED, VARINT_TOO_LONG, NEGATIVE_LENGTH, LENGTH_BEYOND_END, DUPLICATE_TAG, TAG_SIZE_MISMATCH, TRAILING_BYTES = (
    range(8)
)
UNKNOWN_VERSION, TOO_LARGE = 8, 9


class Frames(NamedTuple):
    """A buffer, int64 starts and ends in it, int64 first operation of each frame's version."""

    buf: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    entry: NDArray[np.int64]


class Program(NamedTuple):
    """The operations of one message, and its tags (see `schema.program`)."""

    code: NDArray[np.int32]
    tags: NDArray[np.int32]


class Limits(NamedTuple):
    """Bytes of columns of a batch and of one frame; keeps_failing: 1 to keep the rows of failing frames."""

    batch_bytes: int
    frame_bytes: int
    keeps_failing: int = 0


class Cells(NamedTuple):
    """The places of columns: base int64[slot, 2] (first cell, in units of the cell's width, -1 for no column) in views
    of one buffer.

    base[slot, 0]: values, offsets of strings, bytes and uuids (64 bit), counts of arrays (32 bit), presence of
    structs (8 bit); base[slot, 1]: lengths of strings and bytes (32 bit), presence of fixed-width values (8 bit).
    """

    base: NDArray[np.int64]
    v8: NDArray[np.int8]
    v16: NDArray[np.int16]
    v32: NDArray[np.int32]
    v64: NDArray[np.int64]


class Tally(NamedTuple):
    """The results of a run.

    status     int64    per frame: OK or why it failed; frames that are not OK before the run are skipped
    fail_at    int64    per frame: byte in the buffer where it failed
    fail_pc    int64    per frame: operation that failed
    null_pc    int64    per frame: first operation that found a null where Kafka allows none, or -1
    reached    uint8    per guard: whether its code ran
    counts     int64    per level: instances
    weights    int64    per level: bytes of columns that an instance may need
    saved      int64    per level: the value of `counts` before the current frame
    stack      int64    (MAX_DEPTH, 5): the loops and tag sections that the position is in
    """

    status: NDArray[np.int64]
    fail_at: NDArray[np.int64]
    fail_pc: NDArray[np.int64]
    null_pc: NDArray[np.int64]
    reached: NDArray[np.uint8]
    counts: NDArray[np.int64]
    weights: NDArray[np.int64]
    saved: NDArray[np.int64]
    stack: NDArray[np.int64]


@inlined
def _int16(buf, p):  # type: ignore[no-untyped-def]
    return np.int16((np.int64(buf[p]) << 8) | np.int64(buf[p + 1]))


@inlined
def _int32(buf, p):  # type: ignore[no-untyped-def]
    return np.int32(
        (np.uint32(buf[p]) << np.uint32(24))
        | (np.uint32(buf[p + 1]) << np.uint32(16))
        | (np.uint32(buf[p + 2]) << np.uint32(8))
        | np.uint32(buf[p + 3])
    )


@inlined
def _int64(buf, p):  # type: ignore[no-untyped-def]
    v = np.uint64(0)
    for i in range(8):
        v = (v << np.uint64(8)) | np.uint64(buf[p + i])
    return np.int64(v)


@kernel
def _uvarint(buf, p, end):  # type: ignore[no-untyped-def]
    """Value and position after an unsigned varint of at most 5 bytes and 32 bits; -TRUNCATED or -VARINT_TOO_LONG as
    value if there is none."""
    v = np.int64(0)
    for i in range(5):
        if p >= end:
            return np.int64(-TRUNCATED), p
        x = np.int64(buf[p])
        p += 1
        v |= (x & 0x7F) << (7 * i)
        if x < 128:
            return v & 0xFFFFFFFF, p
    return np.int64(-VARINT_TOO_LONG), p


@inlined
def _length(buf, p, end, width):  # type: ignore[no-untyped-def]
    """Failure, length and position after a length prefix: width 2 or 4, or 0 for an unsigned varint of n + 1. Null is
    -1."""
    if width == 0:
        v, p = _uvarint(buf, p, end)
        if v < 0:
            return -v, np.int64(0), p
        return np.int64(OK), v - 1, p
    if end - p < width:
        return np.int64(TRUNCATED), np.int64(0), p
    v = np.int64(_int16(buf, p)) if width == 2 else np.int64(_int32(buf, p))
    if v < -1:
        return np.int64(NEGATIVE_LENGTH), v, p
    return np.int64(OK), v, p + width


@kernel
def _integers(buf, p, n, width, cells, o):  # type: ignore[no-untyped-def]
    """Store n big-endian integers of one width in a column, from its cell o on."""
    for i in range(n):
        if width == 4:
            cells.v32[o + i] = _int32(buf, p + 4 * i)
        elif width == 8:
            cells.v64[o + i] = _int64(buf, p + 8 * i)
        elif width == 2:
            cells.v16[o + i] = _int16(buf, p + 2 * i)
        else:
            cells.v8[o + i] = np.int8(buf[p + i])


# One function of some 180 lines: the operations share the position, the program counter and the stack, and a call for
# each operation, or for each frame with all these arrays, would cost more than the work itself.
@kernel
def run(frames, program, cells, tally, begin, limits):  # type: ignore[no-untyped-def]
    """Runs frames from `begin` on, in order; returns the first frame that was not run.

    The batch ends before the frame that would exceed its limit, unless that is its first; a frame that exceeds its own
    fails as TOO_LARGE. If rows of failing frames are kept, such a frame has its row on level 0, with the fields before
    the failure.
    """
    buf, starts, ends, entry = frames
    code, tags = program
    base, v8, v16, v32, v64 = cells
    statuses, fail_at, fail_pc, null_pc, reached, counts, weights, saved, stack = tally
    used = np.int64(0)
    for f in range(begin, len(starts)):
        if statuses[f] != OK:
            continue
        for k in range(len(counts)):
            saved[k] = counts[k]
        counts[0] += 1
        pos = starts[f]
        end = ends[f]
        pc = entry[f]
        sp = -1
        while True:
            op = code[pc, 0]
            slot = code[pc, 1]
            row = counts[code[pc, 2]] - 1
            if op <= I32_WIDENED:
                width = 1
                if op in (I16, U16):
                    width = 2
                elif op in (I32, I32_WIDENED):
                    width = 4
                elif op == I64:
                    width = 8
                if end - pos < width:
                    status = np.int64(TRUNCATED)
                    break
                o = base[slot, 0]
                if o >= 0:
                    o += row
                    if op == I32:
                        v32[o] = _int32(buf, pos)
                    elif op == I64:
                        v64[o] = _int64(buf, pos)
                    elif op == I16:
                        v16[o] = _int16(buf, pos)
                    elif op == I8:
                        v8[o] = np.int8(buf[pos])
                    elif op == BOOL:
                        v8[o] = buf[pos] != 0
                    elif op == I32_WIDENED:
                        v64[o] = _int32(buf, pos)
                    else:
                        v32[o] = np.int32(_int16(buf, pos)) & 0xFFFF
                    if base[slot, 1] >= 0:
                        v8[base[slot, 1] + row] = 1
                pos += width
                pc += 1
            elif op in (STRING, COMPACT):
                kind, n, after = _length(buf, pos, end, code[pc, 4])
                if kind != OK:
                    status = np.int64(kind)
                    break
                if n > end - after:
                    status = np.int64(LENGTH_BEYOND_END)
                    break
                if n < 0 and code[pc, 6] == 0 and null_pc[f] < 0:
                    null_pc[f] = pc
                if base[slot, 0] >= 0:
                    v64[base[slot, 0] + row] = after
                    v32[base[slot, 1] + row] = n
                pos = after + max(n, 0)
                pc += 1
            elif op == UUID:
                if end - pos < 16:
                    status = np.int64(TRUNCATED)
                    break
                if base[slot, 0] >= 0:
                    v64[base[slot, 0] + row] = pos
                pos += 16
                pc += 1
            elif op <= CFARRAY:
                least = np.int64(code[pc, 4])
                kind, n, after = _length(buf, pos, end, 0 if op in (CARRAY, CFARRAY) else 4)
                if kind != OK:
                    status = np.int64(kind)
                    break
                if n > (end - after) // least:
                    status = np.int64(LENGTH_BEYOND_END)
                    break
                if n < 0 and code[pc, 6] == 0 and null_pc[f] < 0:
                    null_pc[f] = pc
                if base[slot, 0] >= 0:
                    v32[base[slot, 0] + row] = n
                pos = after
                inner = code[pc, 5]
                if op >= FARRAY:
                    if n > 0:
                        if base[code[pc, 7], 0] >= 0:
                            _integers(buf, pos, n, least, cells, base[code[pc, 7], 0] + counts[inner])
                        counts[inner] += n
                        pos += n * least
                    pc += 1
                elif n > 0:
                    pc += 1
                    sp += 1
                    stack[sp, 0] = pc
                    stack[sp, 1] = n
                    counts[inner] += 1
                else:
                    pc = code[pc, 3]
            elif op == LOOP:
                stack[sp, 1] -= 1
                if stack[sp, 1] > 0:
                    counts[code[pc, 2]] += 1
                    pc = stack[sp, 0]
                else:
                    sp -= 1
                    pc += 1
            elif op == TAGS:
                n, after = _uvarint(buf, pos, end)
                if n < 0:
                    status = np.int64(-n)
                    break
                if n > (end - after) // 2:
                    status = np.int64(LENGTH_BEYOND_END)
                    break
                pos = after
                if n == 0:
                    if base[slot, 0] >= 0:
                        v32[base[slot, 0] + row] = 0
                    pc = code[pc, 3]
                else:
                    sp += 1
                    stack[sp, 0] = pc + 1
                    stack[sp, 1] = n
                    stack[sp, 2] = 0  # set of known tags seen
                    stack[sp, 4] = 0  # unknown tags
                    pc += 1
            elif op == NEXT_TAG:
                if stack[sp, 1] == 0:
                    if base[slot, 0] >= 0:
                        v32[base[slot, 0] + row] = stack[sp, 4]
                    sp -= 1
                    pc = code[pc, 3]
                else:
                    stack[sp, 1] -= 1
                    tag, after = _uvarint(buf, pos, end)
                    if tag < 0:
                        status = np.int64(-tag)
                        break
                    size, after = _uvarint(buf, after, end)
                    if size < 0:
                        status = np.int64(-size)
                        break
                    if size > end - after:
                        status = np.int64(LENGTH_BEYOND_END)
                        break
                    known = -1
                    for k in range(code[pc, 5]):
                        if tags[code[pc, 4] + k, 0] == tag:
                            known = k
                    if known >= 0:
                        bit = np.int64(1) << known
                        if stack[sp, 2] & bit:
                            status = np.int64(DUPLICATE_TAG)
                            break
                        stack[sp, 2] |= bit
                        stack[sp, 3] = after + size
                        reached[tags[code[pc, 4] + known, 2]] = 1
                        pc = tags[code[pc, 4] + known, 1]
                        pos = after
                    else:
                        stack[sp, 4] += 1
                        inner = code[pc, 7]
                        if base[slot + 1, 0] >= 0:
                            v64[base[slot + 1, 0] + counts[inner]] = tag
                            v64[base[slot + 2, 0] + counts[inner]] = after
                            v32[base[slot + 2, 1] + counts[inner]] = size
                        counts[inner] += 1
                        pos = after + size
            elif op == END_TAG:
                if pos != stack[sp, 3]:
                    status = np.int64(TAG_SIZE_MISMATCH)
                    break
                pc = stack[sp, 0]
            elif op == NULLABLE_STRUCT:
                if pos >= end:
                    status = np.int64(TRUNCATED)
                    break
                if code[pc, 4] == 0:
                    present = np.int8(buf[pos]) >= 0
                    pos += 1
                else:
                    n, after = _uvarint(buf, pos, end)
                    if n < 0:
                        status = np.int64(-n)
                        break
                    present = n > 0
                    pos = after
                if present:
                    reached[code[pc, 5]] = 1
                    if base[slot, 0] >= 0:
                        v8[base[slot, 0] + row] = 1
                    pc += 1
                else:
                    pc = code[pc, 3]
            elif op == PRESENT:
                if base[slot, 0] >= 0:
                    v8[base[slot, 0] + row] = 1
                pc += 1
            else:  # END
                status = np.int64(OK if pos == end else TRAILING_BYTES)
                break
        cost = np.int64(0)
        for k in range(len(counts)):
            cost += (counts[k] - saved[k]) * weights[k]
        if status == OK and cost > limits.frame_bytes:
            status = np.int64(TOO_LARGE)
        if status == OK and used > 0 and used + cost > limits.batch_bytes:
            for k in range(len(counts)):
                counts[k] = saved[k]
            return f
        if status == OK:
            used += cost
        else:
            statuses[f] = status
            fail_at[f] = pos
            fail_pc[f] = pc
            for k in range(len(counts)):
                counts[k] = saved[k]
            counts[0] += limits.keeps_failing
    return len(starts)
