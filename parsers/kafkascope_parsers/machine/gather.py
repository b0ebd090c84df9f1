"""Copies the bytes to which columns point into contiguous Arrow buffers, without Python code per value."""

from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel

UUID_LENGTH = 22
"""Characters of a uuid as Kafka prints it: URL-safe base64 of 16 bytes without padding."""
STEP = 16
"""Bytes that are copied at a time."""
T = TypeVar("T", bound=np.generic)
_DIGITS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)


@kernel
def _copy(buf, offsets, lengths, ends, out):  # type: ignore[no-untyped-def]
    """Copy buf[offsets[i]:+lengths[i]] to out, value after value; ends[i + 1] is where value i ends. Gives whether
    all of it is ASCII.

    Null (length below 0) copies nothing. `out` has room for STEP bytes more than the values need, so that values are
    copied in whole steps, which are single moves of the processor; a step never reads beyond the buffer.
    """
    at = np.int64(0)
    high = np.uint8(0)
    last = len(buf) - STEP
    ends[0] = 0
    for i in range(len(offsets)):
        n = np.int64(lengths[i])
        if n > 0:
            p = offsets[i]
            if p < 0 or n > len(buf) - p:
                n = np.int64(0)
            elif p + n <= last:
                for k in range(0, n, STEP):
                    source, target = buf[p + k : p + k + STEP], out[at + k : at + k + STEP]
                    for j in range(STEP):
                        target[j] = source[j]
            else:
                for k in range(n):
                    out[at + k] = buf[p + k]
            at += n
        ends[i + 1] = at
    for k in range(at):
        high |= out[k]
    return high < 0x80


@kernel
def _print_uuids(buf, offsets, digits, out):  # type: ignore[no-untyped-def]
    """Write the 22 characters of each uuid; of a null (offset below 0) nothing, its 22 bytes stay."""
    for i in range(len(offsets)):
        p = offsets[i]
        if p < 0 or len(buf) - p < 16:
            continue
        o = i * 22
        for _ in range(5):
            v = (np.int64(buf[p]) << 16) | (np.int64(buf[p + 1]) << 8) | np.int64(buf[p + 2])
            out[o] = digits[v >> 18]
            out[o + 1] = digits[(v >> 12) & 63]
            out[o + 2] = digits[(v >> 6) & 63]
            out[o + 3] = digits[v & 63]
            p += 3
            o += 4
        out[o] = digits[np.int64(buf[p]) >> 2]
        out[o + 1] = digits[(np.int64(buf[p]) & 3) << 4]


def read_only(a: NDArray[T]) -> NDArray[T]:
    """A contiguous view nobody writes to: kernels compile for one kind of input, whatever the caller has."""
    view = np.ascontiguousarray(a).view()
    view.flags.writeable = False
    return view


def validity(null: NDArray[np.bool_]) -> pa.Buffer | None:
    """Arrow's validity bits, or None where nothing is null."""
    return pa.py_buffer(np.packbits(~null, bitorder="little")) if null.any() else None


def _gathered(buf: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int32]) -> tuple[pa.Array, bool]:
    size = int(np.maximum(lengths, 0).sum(dtype=np.int64))
    out = np.empty(size + STEP, np.uint8)
    ends = np.empty(len(offsets) + 1, np.int32)
    ascii_only = bool(_copy(read_only(buf), read_only(offsets), read_only(lengths), ends, out))
    buffers = [validity(lengths < 0), pa.py_buffer(ends), pa.py_buffer(out[:size])]
    return pa.Array.from_buffers(pa.binary(), len(offsets), buffers), ascii_only


def gather_bytes(buf: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int32]) -> pa.Array:
    """Arrow binary of buf[offsets[i]:+lengths[i]]; null where the length is below 0."""
    return _gathered(buf, offsets, lengths)[0]


def gather_strings(buf: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int32]) -> pa.Array:
    """Arrow string of buf[offsets[i]:+lengths[i]]; null where the length is below 0, replacement characters for what
    is not UTF-8."""
    raw, ascii_only = _gathered(buf, offsets, lengths)
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    if ascii_only:
        return text
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        # Only strangers send this; one value at a time is bounded by the bytes they sent.
        return pa.array([None if v is None else v.decode("utf-8", "replace") for v in raw.to_pylist()], pa.string())
    return text


def gather_uuids(buf: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pa.Array:
    """Arrow string of the uuids that start at offsets, as Kafka prints them; null where the offset is below 0."""
    out = np.zeros(len(offsets) * UUID_LENGTH, np.uint8)
    _print_uuids(read_only(buf), read_only(offsets), _DIGITS, out)
    ends = np.arange(0, len(out) + 1, UUID_LENGTH, dtype=np.int32)
    buffers = [validity(offsets < 0), pa.py_buffer(ends), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.string(), len(offsets), buffers)
