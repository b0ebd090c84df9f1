"""The packets of a capture, as blocks of bytes with their packets. For the place of a capture and how it is opened, see
place.py.

One buffer serves all blocks of a file, so memory does not grow with the file: a block is valid until the next one is
requested.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.ranges import TIME_NS
from kafkascope_analyzer.read.file_with_head import FileWithHead
from kafkascope_analyzer.read.place import CapturePlace, ReadableFile, place_of
from kafkascope_analyzer.read.points.clock import PointClock
from kafkascope_analyzer.read.time_leaps import Spans, count_leaps, joined_spans, spans_of
from kafkascope_analyzer.read.window import Buffers, OneBuffer, Window
from kafkascope_parsers.capture import (
    HEAD_BYTES,
    CaptureReader,
    Packets,
    Secrets,
    begins_like_capture,
    is_capture,
    open_reader,
)
from kafkascope_parsers.compression import compression_of, decompressed
from kafkascope_parsers.errors import CaptureError
from kafkascope_parsers.link import PacketCounts

BLOCK_BYTES = 48 << 20
"""Bytes read at a time. Larger blocks leave the processor's caches between the stages and are slower, not faster."""

LAST_PACKET_CUT = "the last packet is not whole: the file is still being written, or its disk was full"
LONGER_THAN_FILE = "a packet that says it is longer than the file"
_DIGEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes of a capture (uint8, only the filled part) and the packets whose offsets count in them."""

    buf: NDArray[np.uint8]
    packets: Packets


def _with_earlier_times(
    ts_ns: NDArray[np.int64], outside: NDArray[np.bool_], before_ns: int | None
) -> NDArray[np.int64]:
    """Returns the times, with an invalid time replaced by the last valid one before it; before_ns: the last one of the
    previous block. Without one before, the first valid one counts.
    """
    inside = np.flatnonzero(~outside)
    first = before_ns if before_ns is not None else int(ts_ns[inside[0]]) if len(inside) else 0
    at = np.cumsum(~outside)
    return np.concatenate([[first], ts_ns[inside]])[at]


@dataclass(slots=True)
class CaptureInfo:
    """Facts about a capture after (and, growing, while) it was read.

    n_truncated counts packets cut by the snap length; n_dropped is None where the file does not have it; sha256 is over
    the first and last MiB of the stored file, None for a pipe; size_bytes is the number of bytes read. cut_at_byte is
    the first byte in the unpacked capture that could not be read, None where there is none; unread_bytes counts the
    bytes skipped there and later. end_ts_ns is the time of the file's last packet, which is not always the latest, and
    begin_ts_ns that of its first one. n_wrong_times counts packets with an impossible time; n_leaps counts leaps of the
    time from one packet to the next (time_leaps), which separate the spans. names are pairs (address, name) in the
    file; kinds: its packets by kind, once the link layer has read them. clock: clock of the file's capture point, where
    there are points, by which the times are then corrected. clock_ahead_ns: how far it was ahead at the first packet.
    """

    path: str
    format: str = ""
    compression: str = "none"
    linktypes: list[int] = field(default_factory=list)
    snaplen: int = 0
    n_packets: int = 0
    n_truncated: int = 0
    n_dropped: int | None = None
    first_ts_ns: int | None = None
    last_ts_ns: int | None = None
    begin_ts_ns: int | None = None
    end_ts_ns: int | None = None
    spans: Spans = ()
    n_leaps: int = 0
    n_wrong_times: int = 0
    size_bytes: int = 0
    sha256: str | None = None
    kinds: PacketCounts = field(default_factory=PacketCounts)
    clock: PointClock | None = None
    clock_ahead_ns: int = 0
    cut_at_byte: int | None = None
    unread_bytes: int = 0
    names: list[tuple[str, str]] = field(default_factory=list)
    _cut: str | None = None
    _n_cuts: int = 0

    def take(self, packets: Packets, reader: CaptureReader) -> None:
        """Counts the packets of a block. A packet with an impossible time gets the time of the previous packet."""
        self.linktypes, self.snaplen, self.n_dropped = list(reader.linktypes), reader.snaplen, reader.n_dropped
        if not len(packets):
            return
        outside = TIME_NS.outside(packets.ts_ns)
        if outside is not None:
            self.n_wrong_times += int(outside.sum())
            packets.ts_ns[:] = _with_earlier_times(packets.ts_ns, outside, self.end_ts_ns)
        self.n_packets += len(packets)
        self.n_truncated += int((packets.caplen < packets.wirelen).sum())
        self.add_times(packets.ts_ns)

    def add_times(self, ts_ns: NDArray[np.int64]) -> None:
        """Adds the times of the next packets; at least one."""
        first, last = int(ts_ns.min()), int(ts_ns.max())
        self.n_leaps += count_leaps(ts_ns, first, last, self.end_ts_ns)
        self.spans = joined_spans((*self.spans, *spans_of(ts_ns, first, last)))
        self.first_ts_ns = first if self.first_ts_ns is None else min(first, self.first_ts_ns)
        self.last_ts_ns = last if self.last_ts_ns is None else max(last, self.last_ts_ns)
        self.begin_ts_ns = int(ts_ns[0]) if self.begin_ts_ns is None else self.begin_ts_ns
        self.end_ts_ns = int(ts_ns[-1])

    def set_clock(self, clock: PointClock) -> None:
        """Corrects the times by the clock of the capture point, after the file was read."""
        self.clock = clock
        self.clock_ahead_ns = int(clock.ahead(np.array([self.first_ts_ns or clock.at_ns[0]], np.int64))[0])
        for name in ("first_ts_ns", "last_ts_ns", "end_ts_ns"):
            ts_ns = getattr(self, name)
            if ts_ns is not None:
                setattr(self, name, int(clock.corrected(np.array([ts_ns], np.int64))[0]))
        edges = clock.corrected(np.array(self.spans, np.int64).ravel()).reshape(-1, 2)
        self.spans = joined_spans((int(first), int(last)) for first, last in edges)

    def note_cut(self, byte: int, n_unread: int, why: str) -> None:
        """Notes a byte that could not be read."""
        if self.cut_at_byte is None:
            self.cut_at_byte, self._cut = byte, why
        self.unread_bytes += n_unread
        self._n_cuts += 1

    def add(self, later: "CaptureInfo") -> None:
        """Adds the facts about the next part of the file."""
        self.n_packets += later.n_packets
        self.n_truncated += later.n_truncated
        self.size_bytes += later.size_bytes
        self.unread_bytes += later.unread_bytes
        self.n_wrong_times += later.n_wrong_times
        self.n_leaps += later.n_leaps
        if self.end_ts_ns is not None and later.begin_ts_ns is not None:
            between = np.array([later.begin_ts_ns], np.int64)
            self.n_leaps += count_leaps(between, later.begin_ts_ns, later.begin_ts_ns, self.end_ts_ns)
        self.spans = joined_spans((*self.spans, *later.spans))
        self.begin_ts_ns = later.begin_ts_ns if self.begin_ts_ns is None else self.begin_ts_ns
        self.first_ts_ns = _of_known(min, self.first_ts_ns, later.first_ts_ns)
        self.last_ts_ns = _of_known(max, self.last_ts_ns, later.last_ts_ns)
        self.end_ts_ns = self.end_ts_ns if later.end_ts_ns is None else later.end_ts_ns
        self.kinds = self.kinds + later.kinds
        if self.cut_at_byte is None:
            self.cut_at_byte, self._cut = later.cut_at_byte, later._cut
        self._n_cuts += later._n_cuts

    @property
    def cut_why(self) -> str | None:
        """Why the byte at cut_at_byte could not be read, and how often the same happened later."""
        more = self._n_cuts - 1
        places = "" if more < 1 else f" (and {more:,} more {'place' if more == 1 else 'places'})"
        return self._cut and self._cut + places


def _of_known(choose: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    """Returns the chosen of two numbers, either of which may not be known."""
    if one is None or other is None:
        return one if other is None else other
    return choose(one, other)


class CaptureFile:
    """One capture. Iterate `blocks`; `info` is complete after the last one.

    `take_secrets` returns the secrets in the file: each comes before the packets that need it.
    """

    def __init__(
        self,
        place: CapturePlace | Path | str,
        block_bytes: int = BLOCK_BYTES,
        *,
        may_be_empty: bool = False,
        buffers: Buffers | None = None,
    ) -> None:
        """buffers: where blocks are stored, instead of one buffer of block_bytes. may_be_empty: whether a file that
        ends before its first packet counts as one without packets, as in a series whose next file was just begun; else
        it is an error."""
        self._place = place_of(place)
        self.info = CaptureInfo(str(self._place))
        self._secrets: list[Secrets] = []
        self._n_taken = 0
        self._may_be_empty = may_be_empty
        self._block_bytes, self._buffers = block_bytes, buffers

    def take_secrets(self) -> tuple[Secrets, ...]:
        """Returns the secrets in the part of the file that was read since the last call."""
        fresh = tuple(self._secrets[self._n_taken :])
        self._n_taken = len(self._secrets)
        return fresh

    def blocks(self) -> Iterator[Block]:
        """Yields the capture's blocks. Raises CaptureError before the first packet; unreadable bytes after it are
        skipped, and `info` reports them. Raises CaptureError or UsageError where a store or a server fails."""
        try:
            with self._place.open() as file:
                self.info.sha256 = self._digest(file)
                yield from self._blocks_of(file)
        except OSError as error:
            raise CaptureError(error.strerror or str(error), name=str(self._place)) from error

    def _blocks_of(self, file: ReadableFile) -> Iterator[Block]:
        packed = FileWithHead(file, HEAD_BYTES)
        self.info.compression = compression_of(packed.head())
        buffers = self._buffers or OneBuffer(max(self._block_bytes, HEAD_BYTES))
        window = Window(decompressed(packed, self.info.compression), buffers)
        reader = self._open(window)
        while reader is not None:
            packets, consumed = self._read(reader, window)
            self.info.take(packets, reader)
            self.info.size_bytes = packed.n_read
            if len(packets):
                yield Block(window.buf[: window.filled], packets)
            window.start += consumed
            if consumed:
                continue
            if not window.final:
                window.more()
            elif not self._goes_on(reader, window):
                return

    def _may_pass_over(self, reader: CaptureReader) -> bool:
        """Whether there was a packet before a corrupt byte: without one, the file is not a capture."""
        return reader.n_packets > 0

    def _digest(self, file: ReadableFile) -> str | None:
        """Returns the digest for `info`."""
        return _digest(file)

    def _open(self, window: Window) -> CaptureReader | None:
        """Returns the reader for the file's format; None for an empty file, where that is allowed."""
        head = window.buf[: min(window.filled, HEAD_BYTES)].tobytes()
        try:
            if not head and window.problem:
                raise CaptureError(window.problem, name=self.info.path)
            reader = open_reader(head, self.info.path)
        except CaptureError as error:
            if not self._may_be_empty or (head and not begins_like_capture(head)):
                raise
            self.info.note_cut(0, len(head), error.why)
            return None
        self.info.format, self.info.names, self._secrets = reader.format, reader.names, reader.secrets
        return reader

    def _read(self, reader: CaptureReader, window: Window) -> tuple[Packets, int]:
        """Returns the next packets, and how many bytes they took. Skips corrupt bytes, once there was a packet."""
        while True:
            try:
                return reader.read_packets(window.buf, window.start, window.filled, window.final)
            except CaptureError as error:
                if not self._may_pass_over(reader):
                    raise
                self._pass_over(reader, window, error.why)

    def _pass_over(self, reader: CaptureReader, window: Window, why: str) -> None:
        """Goes to the next record that can be proved, or to the file's end."""
        self.info.note_cut(reader.position, 0, why)
        while True:
            n, found = reader.pass_over(window.buf, window.start, window.filled, window.final)
            window.start += n
            self.info.unread_bytes += n
            if found or window.final:
                return
            window.more()

    def _goes_on(self, reader: CaptureReader, window: Window) -> bool:
        """Notes the rest of a last record at the end of the file; returns True where the record's length was wrong and
        other records follow in its supposed bytes."""
        place, rest = reader.position, window.filled - window.start
        n, found = rest, False
        if rest and self._may_pass_over(reader):
            n, found = reader.pass_over(window.buf, window.start, window.filled, True)
            window.start += n
        if rest or window.problem:
            self.info.note_cut(place, n, LONGER_THAN_FILE if found else window.problem or LAST_PACKET_CUT)
        return found


def iter_blocks(place: CapturePlace | Path | str, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yields the blocks of a capture, `-` for standard input. A block is valid until the next. Raises CaptureError."""
    return CaptureFile(place, block_bytes).blocks()


def begins_as_capture(place: CapturePlace) -> bool:
    """Whether the first bytes of a file, after decompression, are those of a capture. Raises OSError."""
    return is_capture(first_bytes(place, HEAD_BYTES))


def first_bytes(place: CapturePlace, n_bytes: int) -> bytes:
    """Returns the first bytes of a file, after decompression; fewer where it is shorter or damaged. Raises OSError."""
    with place.open() as file:
        packed = FileWithHead(file, HEAD_BYTES)
        window = Window(decompressed(packed, compression_of(packed.head())), OneBuffer(n_bytes))
        return window.buf[: window.filled].tobytes()


def digest_of(place: CapturePlace) -> str | None:
    """Returns the digest, as in `CaptureInfo.sha256`. Raises CaptureError when the file cannot be read."""
    try:
        with place.open() as file:
            return _digest(file)
    except OSError as error:
        raise CaptureError(error.strerror or str(error), name=str(place)) from error


def _digest(file: ReadableFile) -> str | None:
    """Returns SHA-256 over the first and the last MiB, and goes back to the file's beginning. None for a file that is
    not seekable."""
    if not file.seekable():
        return None
    digest = hashlib.sha256(file.read(_DIGEST_BYTES))
    size = file.seek(0, 2)
    file.seek(max(size - _DIGEST_BYTES, min(size, _DIGEST_BYTES)))
    digest.update(file.read(_DIGEST_BYTES))
    file.seek(0)
    return digest.hexdigest()
