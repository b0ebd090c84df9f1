"""Where packets come from: files, directories, globs and standard input, as blocks of bytes with their packets.

The only module that opens a capture. One buffer serves all blocks of a file, so memory does not grow with the file: a
block is valid until the next one is asked for.
"""

import glob
import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture import (
    HEAD_BYTES,
    RECORD_LIMIT,
    CaptureReader,
    Packets,
    Unpacked,
    compression_of,
    decompressed,
    is_capture,
    open_reader,
)
from kafkascope_parsers.errors import CaptureError, UsageError
from kafkascope_parsers.link import PacketCounts

BLOCK_BYTES = 32 << 20
"""Bytes read at a time. Larger ones leave the processor's caches between the stages and are slower, not faster."""

STANDARD_INPUT = Path("-")
CAPTURE_SUFFIXES = frozenset({".pcap", ".pcapng", ".cap", ".dmp"})
COMPRESSED_SUFFIXES = frozenset({".gz", ".zst"})
_DIGEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes of a capture (uint8, filled part only) and the packets whose offsets count in them."""

    buf: NDArray[np.uint8]
    packets: Packets


@dataclass(slots=True)
class CaptureInfo:
    """What is known of a capture after (and, growing, while) it was read.

    n_truncated counts packets cut by the snap length; n_dropped is None where the file does not say;
    truncated_tail_bytes is what the end of the file left of a last record; sha256 is over the first and last MiB of the
    file as it lies there, None for standard input; kinds: what its packets were, once the link layer has read them.
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
    truncated_tail_bytes: int = 0
    size_bytes: int = 0
    sha256: str | None = None
    kinds: PacketCounts = field(default_factory=PacketCounts)

    def take(self, packets: Packets, reader: CaptureReader) -> None:
        """Counts the packets of a block."""
        self.linktypes, self.snaplen, self.n_dropped = list(reader.linktypes), reader.snaplen, reader.n_dropped
        self.truncated_tail_bytes = reader.truncated_tail_bytes
        if not len(packets):
            return
        first, last = int(packets.ts_ns.min()), int(packets.ts_ns.max())
        self.n_packets += len(packets)
        self.n_truncated += int((packets.caplen < packets.wirelen).sum())
        self.first_ts_ns = first if self.first_ts_ns is None else min(first, self.first_ts_ns)
        self.last_ts_ns = last if self.last_ts_ns is None else max(last, self.last_ts_ns)


class _Input:
    """A file from its first byte on, after a look at its head."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.n_read = 0
        self._head = b""
        self._head = self._read_fully(HEAD_BYTES)

    def head(self) -> bytes:
        """The first HEAD_BYTES, or the whole file where it is shorter. They are still to be read."""
        return self._head

    def read(self, size: int = -1) -> bytes:
        """As a file's."""
        if self._head:
            given, self._head = self._head[:size] if size >= 0 else self._head, self._head[size:] if size >= 0 else b""
        else:
            given = self._file.read(size)
            self.n_read += len(given)
        return given

    def readinto(self, target: memoryview) -> int:
        """As a file's."""
        if self._head:
            n = min(len(target), len(self._head))
            target[:n], self._head = self._head[:n], self._head[n:]
            return n
        n = self._file.readinto(target)  # type: ignore[attr-defined]
        self.n_read += n
        return int(n)

    def _read_fully(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._file.read(size - len(data))
            if not more:
                break
            data += more
        self.n_read += len(data)
        return data


class CaptureFile:
    """One capture. Iterate `blocks`; `info` is complete when they are through."""

    def __init__(self, path: Path, block_bytes: int = BLOCK_BYTES) -> None:
        self.info = CaptureInfo(str(path))
        self._path = path
        self._block_bytes = max(block_bytes, HEAD_BYTES)

    def blocks(self) -> Iterator[Block]:
        """The capture's blocks. Raises CaptureError: before the first block, or at a corrupt record once all before it
        was given."""
        try:
            if self._path == STANDARD_INPUT:
                yield from self._blocks_of(sys.stdin.buffer)
                return
            with self._path.open("rb", buffering=0) as file:
                self.info.sha256 = _digest(file)
                yield from self._blocks_of(file)
        except OSError as error:
            raise CaptureError(error.strerror or str(error), name=str(self._path)) from error

    def _blocks_of(self, file: BinaryIO) -> Iterator[Block]:
        name = str(self._path)
        packed = _Input(file)
        self.info.compression = compression_of(packed.head())
        source = decompressed(packed, self.info.compression, name)
        buf = np.empty(self._block_bytes, np.uint8)
        filled = _fill(source, buf, 0)
        reader = open_reader(buf[: min(filled, HEAD_BYTES)].tobytes(), name)
        self.info.format = reader.format
        start, final = 0, False
        while True:
            packets, consumed = reader.read_packets(buf, start, filled, final)
            self.info.take(packets, reader)
            self.info.size_bytes = packed.n_read
            if len(packets):
                yield Block(buf[:filled], packets)
            start += consumed
            if consumed:
                continue
            if final:
                return
            buf, start, filled = _move_rest(buf, start, filled)
            filled = _fill(source, buf, filled)
            final = filled < len(buf)


def iter_blocks(path: str | Path, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """The blocks of a capture, `-` for standard input. A block is valid until the next. Raises CaptureError."""
    return CaptureFile(Path(path), block_bytes).blocks()


def expand_inputs(arguments: Sequence[str | Path]) -> list[Path]:
    """The captures that files, directories, globs and `-` stand for, each once, in the order given (directories sorted
    by path).

    Raises CaptureError for what does not exist, UsageError where a directory or glob holds no capture.
    """
    found: dict[Path, None] = {}
    for argument in arguments:
        path = Path(argument)
        if path == STANDARD_INPUT or path.is_file():
            matches = [path]
        elif path.is_dir():
            matches = [file for file in sorted(path.rglob("*")) if file.is_file() and _looks_like_capture(file)]
        elif glob.has_magic(str(argument)):
            matches = [Path(match) for match in sorted(glob.glob(str(argument), recursive=True))]
            matches = [file for file in matches if file.is_file() and _looks_like_capture(file)]
        elif path.exists():
            matches = [path]
        else:
            raise CaptureError("no such file or directory", name=str(argument))
        if not matches:
            raise UsageError(f"{argument}: no capture (pcap, pcapng, also as .gz or .zst) in there")
        found.update(dict.fromkeys(matches))
    if not found:
        raise UsageError("name at least one capture file, directory or glob, or - for standard input")
    return list(found)


def _looks_like_capture(path: Path) -> bool:
    """By name, else by the first bytes. What cannot be read is left to be reported when it is opened."""
    suffixes = path.suffixes[-2:]
    if suffixes and suffixes[-1] in COMPRESSED_SUFFIXES:
        suffixes = suffixes[:-1]
    if suffixes and suffixes[-1].lower() in CAPTURE_SUFFIXES:
        return True
    try:
        with path.open("rb") as file:
            return is_capture(file.read(HEAD_BYTES))
    except OSError:
        return False


def _fill(source: Unpacked, buf: NDArray[np.uint8], filled: int) -> int:
    """Reads until the buffer is full or the source ends; returns how much of the buffer is filled."""
    view = memoryview(buf)  # type: ignore[arg-type]
    while filled < len(buf):
        n = source.readinto(view[filled:])
        if not n:
            break
        filled += n
    return filled


def _move_rest(buf: NDArray[np.uint8], start: int, filled: int) -> tuple[NDArray[np.uint8], int, int]:
    """Moves what was not consumed to the front; a record larger than the buffer gets a larger one."""
    rest = filled - start
    if rest == len(buf):
        buf = np.concatenate([buf, np.empty(min(len(buf), RECORD_LIMIT), np.uint8)])
    else:
        buf[:rest] = buf[start:filled].copy()
    return buf, 0, rest


def _digest(file: BinaryIO) -> str | None:
    """SHA-256 of the first and the last MiB, the file read from its beginning after it. None for what cannot be
    sought."""
    if not file.seekable():
        return None
    digest = hashlib.sha256(file.read(_DIGEST_BYTES))
    size = file.seek(0, 2)
    file.seek(max(size - _DIGEST_BYTES, min(size, _DIGEST_BYTES)))
    digest.update(file.read(_DIGEST_BYTES))
    file.seek(0)
    return digest.hexdigest()
