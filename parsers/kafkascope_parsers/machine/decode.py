"""Decodes frames of one message, of mixed versions, into batches of columns.

Invalid data on the wire is reported as data (Columns.failures), never as an exception. Batches keep memory bounded: the
columns of one take at most BATCH_BYTES, of one frame at most FRAME_BYTES.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.machine.columns import FAILURE_KINDS, Columns, Failure, UnexpectedNull
from kafkascope_parsers.machine.gather import read_only
from kafkascope_parsers.machine.kernel import (
    OK,
    TRAILING_BYTES,
    UNKNOWN_VERSION,
    Cells,
    Frames,
    Limits,
    Program,
    Tally,
    run,
)
from kafkascope_parsers.machine.layout import VARIABLE_TYPES, empty_cells, lay_out, one_column, weights
from kafkascope_parsers.schema.messages import UNSUPPORTED_VERSION, MessageType
from kafkascope_parsers.schema.program import MAX_DEPTH
from kafkascope_parsers.schema.tree import Node

BATCH_BYTES = 48 << 20
"""Columns of one batch: some 4 million values. Arrow arrays made from it and the capture block fit in 1 GB beside it
several times."""
FRAME_BYTES = 256 << 20
"""Columns of one frame. Kafka's largest real Metadata response (100,000 partitions) needs 7 MB; a hostile 100 MiB
frame could ask for 10 GB."""
_ERROR_AT = 4
"""Where in a response the error code begins that `_refused` looks at: behind its header."""
_MAX_BUFFER = 1 << 31
"""Arrow's 32-bit string offsets, and the largest Kafka frame."""
_NO_LIMIT = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """batch_bytes: columns of one batch. allow_zeros: whether a frame may have zero bytes after its body, which brokers
    pass over; Columns.zeros_after counts them.
    """

    batch_bytes: int = BATCH_BYTES
    allow_zeros: bool = False


_DEFAULT_OPTIONS = DecodeOptions()


def decode_messages(
    message: MessageType,
    buf: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    versions: NDArray[np.int16],
    options: DecodeOptions = _DEFAULT_OPTIONS,
) -> Iterator[Columns]:
    """Decode frames buf[starts[i]:ends[i]] (from the header on, without the size) as versions[i]; batches in input
    order.

    Every frame is in exactly one batch, as a row or as a failure. Arrays are contiguous. ValueError if a frame is not
    inside the buffer or the arrays differ in length.
    """
    if not len(starts) == len(ends) == len(versions):
        raise ValueError("starts, ends and versions differ in length")
    if len(starts) and (starts.min() < 0 or ends.max() > len(buf) or (ends < starts).any() or len(buf) >= _MAX_BUFFER):
        raise ValueError("a frame is outside the buffer, or the buffer is 2 GiB or larger")
    frames, used = _frames(message, buf, starts, ends, versions)
    if message.fallback_version is not None:
        _decode_as(message, frames, used, _refused(frames), message.fallback_version)
        frames = _as_versions(message, frames, used)
    tally = new_tally(message, frames)
    begin, limits, whole = 0, Limits(options.batch_bytes, FRAME_BYTES), frames.ends
    while begin < len(starts):
        stop = _checked(message, frames, tally, begin, limits)
        while (changed := used != (others := _other_versions(message, frames, used, tally, slice(begin, stop)))).any():
            used, frames = others, _as_versions(message, frames, others)
            tally.status[changed], tally.null_pc[changed] = OK, -1
            stop = _checked(message, frames, tally, begin, limits)
        if options.allow_zeros and len(padded := _zero_padded(frames, tally, slice(begin, stop))):
            shorter = frames.ends.copy()
            shorter[padded] = tally.fail_at[padded]
            frames = frames._replace(ends=read_only(shorter))
            tally.status[padded] = OK
            stop = _checked(message, frames, tally, begin, limits)
        columns = _columns(message, frames, used, tally, slice(begin, stop))
        yield replace(columns, zeros_after=(whole - frames.ends)[columns.frame])
        begin = stop


def decodes_whole(
    message: MessageType,
    buf: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    versions: NDArray[np.int16],
) -> NDArray[np.bool_]:
    """Whether each frame buf[starts[i]:ends[i]] decodes to its last byte as versions[i], by any layout of it."""
    frames, used = _frames(message, buf, starts, ends, versions)
    done = _decodes(message, frames, used)
    for version, former in message.former_layouts:
        done |= _decodes(message, frames, np.where(used == version, former, used))
    return done


def decode_leading(
    message: MessageType,
    node: Node,
    buf: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    versions: NDArray[np.int16],
) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    """One fixed-width field of frames that may be cut short: the values, and whether each frame buf[starts[i]:ends[i]]
    has one, by what stands before its end. Former layouts and fallbacks are not tried. ValueError if the field is not
    one of the message's own, outside of its arrays.
    """
    if node.level or node.kind != "leaf" or node.type in VARIABLE_TYPES:
        raise ValueError(f"{node.path}: not a fixed-width field of {message.name} itself")
    frames, _ = _frames(message, buf, starts, ends, versions)
    tally, known = new_tally(message, frames), np.flatnonzero(frames.entry >= 0)
    values, present, cells = one_column(message, node, len(known))
    _run(message, frames, cells, tally, 0, Limits(_NO_LIMIT, _NO_LIMIT, keeps_failing=1))
    out, has_value = np.zeros(len(starts), values.dtype), np.zeros(len(starts), np.bool_)
    out[known], has_value[known] = values, present != 0
    return out, has_value


def _frames(
    message: MessageType,
    buf: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    versions: NDArray[np.int16],
) -> tuple[Frames, NDArray[np.int64]]:
    """The frames, and the version of each: one below the message's first where the message does not have it."""
    low, high = message.versions
    asked = np.asarray(versions, np.int64)
    used = np.where((asked >= low) & (asked <= high), asked, low - 1)
    starts, ends = read_only(np.asarray(starts, np.int64)), read_only(np.asarray(ends, np.int64))
    return Frames(read_only(np.asarray(buf, np.uint8)), starts, ends, _entries(message, used)), used


def _as_versions(message: MessageType, frames: Frames, versions: NDArray[np.int64]) -> Frames:
    """The frames, to be read as other versions."""
    return frames._replace(entry=_entries(message, versions))


def _entries(message: MessageType, versions: NDArray[np.int64]) -> NDArray[np.int64]:
    low = message.versions[0]
    known = (versions >= low) & (versions < low + len(message.programs.entry))
    return read_only(np.where(known, message.programs.entry[np.where(known, versions - low, 0)], -1).astype(np.int64))


def new_tally(message: MessageType, frames: Frames) -> Tally:
    """An empty tally; frames of versions that the message does not have are marked as failed."""
    n = len(frames.starts)
    return Tally(
        status=np.where(frames.entry < 0, UNKNOWN_VERSION, OK).astype(np.int64),
        fail_at=frames.starts.copy(),
        fail_pc=np.full(n, -1, np.int64),
        null_pc=np.full(n, -1, np.int64),
        reached=np.zeros(max(message.programs.n_guards, 1), np.uint8),
        counts=np.zeros(len(message.level_arrays), np.int64),
        weights=weights(message),
        saved=np.zeros(len(message.level_arrays), np.int64),
        stack=np.zeros((MAX_DEPTH, 5), np.int64),
    )


def _run(message: MessageType, frames: Frames, cells: Cells, tally: Tally, begin: int, limits: Limits) -> int:
    program = Program(message.programs.code, message.programs.tags)
    return int(run(frames, program, cells, tally, begin, limits))


def _checked(message: MessageType, frames: Frames, tally: Tally, begin: int, limits: Limits) -> int:
    """First run over a batch, which checks its frames and counts; gives the first frame after it."""
    tally.counts[:] = 0
    tally.reached[:] = 0
    return _run(message, frames, empty_cells(len(message.slots)), tally, begin, limits)


def _zero_padded(frames: Frames, tally: Tally, part: slice) -> NDArray[np.int64]:
    """The frames of a checked batch that only zero bytes follow after their body."""
    found = np.flatnonzero(tally.status[part] == TRAILING_BYTES) + part.start
    only_zeros = [not frames.buf[tally.fail_at[f] : frames.ends[f]].any() for f in found.tolist()]
    return np.asarray(found[np.array(only_zeros, np.bool_)], np.int64)


def _columns(message: MessageType, frames: Frames, versions: NDArray[np.int64], tally: Tally, part: slice) -> Columns:
    """Second run over a batch that the first has checked: fill columns of the sizes it counted."""
    counts = tally.counts.copy()
    good = np.flatnonzero(tally.status[part] == OK) + part.start
    used = versions[good]
    layout = lay_out(message, np.flatnonzero(np.bincount(used - message.versions[0])), counts, tally.reached)
    failures = _failures(message, tally, frames, part)
    nulls = _unexpected_nulls(message, tally, good)
    if len(good):
        tally.counts[:] = 0
        batch = Frames(frames.buf, frames.starts[part], frames.ends[part], frames.entry[part])
        second = tally._replace(
            status=tally.status[part],
            fail_at=tally.fail_at[part],
            fail_pc=tally.fail_pc[part],
            null_pc=tally.null_pc[part],
        )
        _run(message, batch, layout.cells, second, 0, Limits(_NO_LIMIT, _NO_LIMIT))
    for version, former in message.former_layouts:
        used = np.where(used == former, version, used)
    return Columns(
        message,
        frames.buf,
        good,
        used.astype(np.int16),
        zeros_after=np.zeros(len(good), np.int64),
        first_frame=part.start,
        n_frames=part.stop - part.start,
        failures=failures,
        unexpected_nulls=nulls,
        counts_by_level=counts,
        _layout=layout,
    )


def _failures(message: MessageType, tally: Tally, frames: Frames, part: slice) -> tuple[Failure, ...]:
    paths = message.programs.paths
    out = []
    for f in np.flatnonzero(tally.status[part] != OK) + part.start:
        pc = int(tally.fail_pc[f])
        path = paths[pc] if pc >= 0 else ""
        out.append(Failure(int(f), FAILURE_KINDS[tally.status[f]], int(tally.fail_at[f] - frames.starts[f]), path))
    return tuple(out)


def _unexpected_nulls(message: MessageType, tally: Tally, good: NDArray[np.int64]) -> tuple[UnexpectedNull, ...]:
    with_null = good[tally.null_pc[good] >= 0]
    return tuple(UnexpectedNull(int(f), message.programs.paths[tally.null_pc[f]]) for f in with_null)


def _decodes(message: MessageType, frames: Frames, versions: NDArray[np.int64]) -> NDArray[np.bool_]:
    frames = _as_versions(message, frames, versions)
    tally = new_tally(message, frames)
    _run(message, frames, empty_cells(len(message.slots)), tally, 0, Limits(_NO_LIMIT, FRAME_BYTES))
    return np.asarray(tally.status == OK)


def _other_versions(
    message: MessageType, frames: Frames, used: NDArray[np.int64], tally: Tally, part: slice
) -> NDArray[np.int64]:
    """Returns the versions as which all frames are decoded, after a batch was checked. The version changes for frames
    that decode only as another one: the fallback, or a former layout of their version. A frame must be used to its last
    byte, so hardly any frame decodes in both ways, except those without the changed fields.
    """
    versions, failed = used.copy(), np.flatnonzero(tally.status[part] != OK) + part.start
    if message.fallback_version is not None:
        _decode_as(message, frames, versions, failed, message.fallback_version)
    for version, former in message.former_layouts:
        _decode_as(message, frames, versions, failed[versions[failed] == version], former)
    return versions


def _refused(frames: Frames) -> NDArray[np.int64]:
    """The frames with error 35: they are decoded as the fallback where that is possible.

    The rule of Kafka's ApiVersionsResponse.parse and NetworkClient. The error code stands right after the 4-byte
    header in every version.
    """
    long_enough = np.flatnonzero(frames.ends - frames.starts >= _ERROR_AT + 2)
    at = frames.starts[long_enough] + _ERROR_AT
    code = (frames.buf[at].astype(np.int64) << 8) | frames.buf[at + 1]
    return np.asarray(long_enough[code == UNSUPPORTED_VERSION])


def _decode_as(
    message: MessageType, frames: Frames, versions: NDArray[np.int64], tried: NDArray[np.int64], version: int
) -> None:
    """Sets this version for those of the frames that decode as it. tried: indexes of the frames to try."""
    if len(tried):
        starts, ends = read_only(frames.starts[tried]), read_only(frames.ends[tried])
        one = np.full(len(tried), version, np.int64)
        versions[tried[_decodes(message, frames._replace(starts=starts, ends=ends), one)]] = version
