"""Compressed captures, unpacked as they are read: gzip, zstd, lz4, xz and bzip2, also several members, frames or
streams one after the other.

The caller opens the file; this wraps what it reads from. Output comes in the portions that the caller asks for, so a
file that unpacks to a thousand times its size costs time, never memory. Data that is cut or corrupt gives what comes
before that; `problem` then says why it ended.
"""

import bz2
import lzma
import zlib
from typing import Protocol

import lz4.frame
import zstandard

from kafkascope_parsers.compression.zstd_frames import ZstdFrames

MAGICS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
}
LONGEST_MAGIC = max(map(len, MAGICS))
_SKIPPABLE = b"\x2a\x4d\x18"
"""Bytes 1..3 of a skippable frame, with which pzstd and seekable zstd files begin; byte 0 is 50 to 5f."""

WINDOW_LIMIT = 128 << 20
"""Largest zstd window: what `zstd --long` makes and `zstd -d` accepts without an option."""
XZ_MEMORY_LIMIT = 192 << 20
"""What unpacking may take: `xz -9` needs 65 MiB; a dictionary as long as the whole file is for who has the memory."""
_PORTION = 64 << 10
"""Packed bytes taken at a time. What unpacked before a corrupt place in the same portion may be lost with it (zstd)."""

_MOST_UNPACKED = 1 << 20
"""Bytes unpacked at a time: lz4's decompressor takes room for as many as it may give."""
_ERRORS = (zlib.error, lzma.LZMAError, OSError, EOFError, RuntimeError, ValueError)
"""What the decompressors raise for corrupt data: OSError is bzip2's, RuntimeError lz4's."""

_CUT = "the {kind} data ends before its end: it is still being written, or was cut"
_CORRUPT = "the {kind} data is corrupt ({why})"
_TRAILING = "what follows the {kind} data is something else"


class Source(Protocol):
    """What bytes are read from."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to size bytes; none at the end."""
        ...

    def readinto(self, target: memoryview, /) -> int:
        """Fills the target from its beginning; returns how many bytes, 0 at the end."""
        ...


class Unpacked(Protocol):
    """What unpacked bytes are read from. problem: once at the end, why it came early; None where it did not."""

    problem: str | None

    def readinto(self, target: memoryview, /) -> int:
        """Fills the target from its beginning; returns how many bytes, 0 at the end."""
        ...


class _Decompressor(Protocol):
    """What the standard library's decompressors have in common. One reads one member and no more."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def compression_of(head: bytes) -> str:
    """`gzip`, `zstd`, `lz4`, `xz`, `bzip2` or `none`, by the first bytes of a file."""
    if head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F:
        return "zstd"
    return next((kind for magic, kind in MAGICS.items() if head.startswith(magic)), "none")


def decompressed(source: Source, kind: str) -> Unpacked:
    """Reads `source`, packed as `compression_of` says."""
    if kind == "none":
        return _Plain(source)
    return _Zstd(source) if kind == "zstd" else _Members(source, kind)


class _Plain:
    def __init__(self, source: Source) -> None:
        self.problem: str | None = None
        self.readinto = source.readinto


class _GzipMember:
    """zlib's decompressor, with the manners of the others."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


def _new_member(kind: str) -> _Decompressor:
    if kind == "gzip":
        return _GzipMember()
    if kind == "xz":
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_LIMIT)
    if kind == "bzip2":
        return bz2.BZ2Decompressor()
    member: _Decompressor = lz4.frame.LZ4FrameDecompressor()
    return member


class _Members:
    """Members of one kind, one after the other; zeros after one are padding."""

    def __init__(self, source: Source, kind: str) -> None:
        self.problem: str | None = None
        self._source, self._kind = source, kind
        self._member = _new_member(kind)
        self._packed = b""
        self._done = False

    def readinto(self, target: memoryview) -> int:
        """As `Unpacked.readinto`; may stop short of the target's end."""
        while not self._done and len(target):
            if self._member.eof and not self._begin_next():
                break
            if not self._packed and self._member.needs_input:
                self._packed = self._source.read(_PORTION)
            ended = not self._packed and self._member.needs_input
            given, self._packed = self._packed, b""
            try:
                data = self._member.decompress(given, min(len(target), _MOST_UNPACKED))
            except _ERRORS as error:
                self._end(_CORRUPT.format(kind=self._kind, why=error))
                break
            if data:
                target[: len(data)] = data
                return len(data)
            if ended and not self._member.eof:
                self._end(_CUT.format(kind=self._kind))
        return 0

    def _begin_next(self) -> bool:
        """Goes on to the next member; False where none follows."""
        rest = (self._member.unused_data or b"") + self._packed
        while not (rest := rest.lstrip(b"\0")):
            rest = self._source.read(_PORTION)
            if not rest:
                self._end(None)
                return False
        if len(rest) < LONGEST_MAGIC:
            rest += self._source.read(_PORTION)
        skippable = self._kind == "lz4" and rest[1:4] == _SKIPPABLE
        if compression_of(rest) != self._kind and not skippable:
            self._end(_TRAILING.format(kind=self._kind))
            return False
        self._member, self._packed = _new_member(self._kind), rest
        return True

    def _end(self, problem: str | None) -> None:
        self._done, self.problem = True, problem


class _Zstd:
    """Frames of zstd. The library does not say whether the data ended with a frame; `ZstdFrames` does."""

    def __init__(self, source: Source) -> None:
        self.problem: str | None = None
        self._frames = ZstdFrames(source)
        unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW_LIMIT)
        self._reader = unpacker.stream_reader(self._frames, read_size=_PORTION, read_across_frames=True)

    def readinto(self, target: memoryview) -> int:
        """As `Unpacked.readinto`; may stop short of the target's end."""
        if self.problem is not None:
            return 0
        try:
            n = int(self._reader.readinto1(target))
        except zstandard.ZstdError as error:
            self.problem = _CORRUPT.format(kind="zstd", why=error)
            return 0
        if not n and len(target) and not self._frames.ended_whole:
            self.problem = _CUT.format(kind="zstd")
        return n
