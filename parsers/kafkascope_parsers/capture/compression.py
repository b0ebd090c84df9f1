"""Compressed captures: gzip (also several members) and zstd (also several frames), unpacked as they are read.

The caller opens the file; this wraps what it reads from. Output comes in the portions that the caller asks for, so a
file that unpacks to a thousand times its size costs time, never memory.
"""

import gzip
import zlib
from typing import Protocol

import zstandard

from kafkascope_parsers.errors import CaptureError

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
"""Bytes 1..3 of a skippable frame, with which pzstd and seekable files begin; byte 0 is 50 to 5f."""

WINDOW_LIMIT = 128 << 20
"""Largest zstd window: what `zstd --long` makes and `zstd -d` accepts without being told."""

_WHY = "{kind} data is corrupt: {why}"


class Source(Protocol):
    """What bytes are read from."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to size bytes; none at the end."""
        ...

    def readinto(self, target: memoryview, /) -> int:
        """Fills the target from its beginning; returns how many bytes, 0 at the end."""
        ...


class Unpacked(Protocol):
    """What unpacked bytes are read from."""

    def readinto(self, target: memoryview, /) -> int:
        """Fills the target from its beginning; returns how many bytes, 0 at the end. Raises CaptureError."""
        ...


def compression_of(head: bytes) -> str:
    """`gzip`, `zstd` or `none`, by the first bytes of a file."""
    if head[:2] == GZIP_MAGIC:
        return "gzip"
    if head[:4] == ZSTD_MAGIC or (head[1:4] == _ZSTD_SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    return "none"


def decompressed(source: Source, kind: str, name: str) -> Unpacked:
    """Reads `source`, packed as `compression_of` says. An end inside the packed data is an end like any other."""
    return _Gzip(source, name) if kind == "gzip" else _Zstd(source, name) if kind == "zstd" else source


class _Gzip:
    def __init__(self, source: Source, name: str) -> None:
        self._reader = gzip.GzipFile(fileobj=source, mode="rb")  # type: ignore[call-overload]
        self._name = name

    def readinto(self, target: memoryview) -> int:
        try:
            return int(self._reader.readinto(target))
        except EOFError:
            return 0
        except (zlib.error, gzip.BadGzipFile) as error:
            raise CaptureError(_WHY.format(kind="gzip", why=error), name=self._name) from error


class _Zstd:
    def __init__(self, source: Source, name: str) -> None:
        unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW_LIMIT)
        self._reader = unpacker.stream_reader(source, read_across_frames=True)
        self._name = name

    def readinto(self, target: memoryview) -> int:
        try:
            return int(self._reader.readinto(target))
        except zstandard.ZstdError as error:
            raise CaptureError(_WHY.format(kind="zstd", why=error), name=self._name) from error
