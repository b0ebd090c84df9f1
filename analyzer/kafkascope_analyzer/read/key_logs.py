"""Key logs: the files with the secrets of TLS sessions, also compressed."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from kafkascope_parsers.compression import compression_of, decompressed
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.tls import KeyLog

FILE_BYTES = 1 << 30
"""Most bytes of one key log, decompressed: some five million lines."""
_TOO_LONG = "it is longer than 1 GiB; leave out sessions that the capture does not show"
_MAGIC_BYTES = 64
_CHUNK_BYTES = 1 << 20


def key_log_files(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The files that paths stand for: a directory for those in it, by name. Raises UsageError where there is none."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path}: there is no key log in this directory")
        found += inside
    return tuple(found)


def read_key_logs(files: Sequence[Path]) -> KeyLog:
    """The secrets of some files. Raises UsageError where one cannot be read; no text of it is in the message."""
    log = KeyLog()
    for file in files:
        try:
            log.add(_unpacked(file))
        except OSError as error:
            raise UsageError(f"{file}: the key log cannot be read: {error.strerror or error}") from None
        except EOFError as error:
            raise UsageError(f"{file}: the key log cannot be read: {error}") from None
    return log


def _unpacked(file: Path) -> bytes:
    """The text of a key log. Raises EOFError where it is damaged or longer than FILE_BYTES."""
    if file.stat().st_size > FILE_BYTES:
        raise EOFError(_TOO_LONG)
    data = file.read_bytes()
    compression = compression_of(data[:_MAGIC_BYTES])
    if compression == "none":
        return data
    stream, chunk, text = decompressed(io.BytesIO(data), compression), bytearray(_CHUNK_BYTES), bytearray()
    while n := stream.readinto(memoryview(chunk)):
        text += chunk[:n]
        if len(text) > FILE_BYTES:
            raise EOFError(_TOO_LONG)
    if stream.problem:
        raise EOFError(stream.problem)
    return bytes(text)
