"""The place of a capture, and the one way to open it: a file on this machine or in a store, a web URL, standard input.

From a remote file only the needed ranges are read; nothing is copied to a disk. A local file whose disk fails in the
middle is read up to there, and `captures` reports it. A store or a server that fails in the middle is an error: the
file is complete there, and a dataset of a part of it would be wrong.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from kafkascope_analyzer.dataset.object_stores import reason
from kafkascope_analyzer.dataset.storage import WEB_SCHEMES, Storage, is_uri, scheme_of
from kafkascope_parsers.errors import CaptureError, UsageError

NOT_THERE = "no such file or directory"
CHANGED = "the file was changed while it was read"
REMOVED = "the file was removed while it was read"


class ReadableFile(Protocol):
    """The interface through which a capture is read, as in Python's raw files."""

    def read(self, size: int = -1, /) -> bytes:
        """Returns at most size bytes; all where size is negative."""

    def readinto(self, target: memoryview, /) -> int | None:
        """Fills target from its beginning on; returns the number of bytes, 0 at the end."""

    def seekable(self) -> bool:
        """Whether `seek` works."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Moves to a byte; returns it, counted from the beginning."""


class CapturePlace(ABC):
    """The place of a capture. `str(place)` is its name for people, tables and the manifest, without secrets."""

    is_stream = False
    """Whether it can be read only once, from its beginning on: standard input or a pipe."""
    local: Path | None = None
    """The file on this machine; None for a capture elsewhere and for standard input."""

    @property
    def name(self) -> str:
        """The last part of the place: `a.pcap`."""
        return str(self).rstrip("/").rpartition("/")[2]

    @abstractmethod
    def open(self) -> AbstractContextManager[ReadableFile]:
        """Opens the file at its first byte. Raises OSError for a file on this machine, CaptureError and UsageError for
        others."""

    @abstractmethod
    def size_bytes(self) -> int:
        """Returns the size of the stored file; 0 where it is not known. Raises like `open`."""


@dataclass(frozen=True, slots=True)
class StandardInput(CapturePlace):
    """Standard input, `-`."""

    is_stream = True

    def __str__(self) -> str:
        return "-"

    def open(self) -> AbstractContextManager[ReadableFile]:
        """Opens standard input, which is not closed afterwards."""
        return nullcontext(cast(ReadableFile, sys.stdin.buffer))

    def size_bytes(self) -> int:
        """Returns 0: the size of a pipe's data is not known."""
        return 0


@dataclass(frozen=True)
class LocalCapture(CapturePlace):
    """A file or a named pipe on this machine."""

    local: Path = field()
    """Absolute, because Spark's executors work in directories of their own."""
    given: str = field(compare=False)
    """The place as the user wrote it."""

    def __str__(self) -> str:
        return self.given

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        """Whether it is a named pipe."""
        return not self.local.is_file()

    def open(self) -> AbstractContextManager[ReadableFile]:
        """Opens the raw file: blocks are large, and a buffer would only copy them."""
        return self.local.open("rb", buffering=0)

    def size_bytes(self) -> int:
        """Returns the size of the file; 0 for a pipe."""
        return 0 if self.is_stream else self.local.stat().st_size


@dataclass(frozen=True, slots=True)
class StoredCapture(CapturePlace):
    """A file in an object store or HDFS, opened by pyarrow's file systems."""

    storage: Storage

    def __str__(self) -> str:
        return str(self.storage)

    @contextmanager
    def open(self) -> Iterator[ReadableFile]:
        """Opens the file in the store, which is read by ranges."""
        info = self._info()
        with self.storage.open_file() as file:
            yield _StoredFile(file, self.storage, info)

    def size_bytes(self) -> int:
        """Returns the size of the file in the store."""
        return int(self._info().size)

    def _info(self) -> Any:
        info = self.storage.file_info()
        if not info.is_file:
            raise CaptureError(NOT_THERE, name=str(self))
        return info


class _StoredFile:
    """A file in a store; each failure of the store is a CaptureError."""

    def __init__(self, file: Any, storage: Storage, info: Any) -> None:
        self._file, self._storage, self._info = file, storage, info

    def read(self, size: int = -1) -> bytes:
        """Reads like a file."""
        with self._failures():
            return bytes(self._file.read(None if size < 0 else size))

    def readinto(self, target: memoryview) -> int:
        """Reads like a file."""
        with self._failures():
            n = int(self._file.readinto(target))
        if not n and len(target):
            self._check_same()
        return n

    def seekable(self) -> bool:
        """Always true: stores support ranges."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Seeks like a file."""
        with self._failures():
            return int(self._file.seek(offset, whence))

    def _check_same(self) -> None:
        """Raises CaptureError where the file has changed since it was opened: ranges would come from two files."""
        now = self._storage.file_info()
        if (now.is_file, now.size, now.mtime_ns) != (True, self._info.size, self._info.mtime_ns):
            raise CaptureError(CHANGED, name=str(self._storage))

    @contextmanager
    def _failures(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise CaptureError(self._why(error), name=str(self._storage)) from error

    def _why(self, error: Exception) -> str:
        """Returns why reading failed. Stores report a removed file differently, so the store is queried."""
        with suppress(UsageError):
            if not self._storage.file_info().is_file:
                return REMOVED
        return reason(error, "read")


@dataclass(frozen=True, slots=True)
class WebCapture(CapturePlace):
    """A file behind an https (or http) URL. The query of a signed URL is a secret: it is sent, but never shown."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        from kafkascope_analyzer.read.http_file import without_secrets

        return without_secrets(self.url)

    def open(self) -> AbstractContextManager[ReadableFile]:
        """Opens the file by ranges; from its beginning on where the server does not support them."""
        from kafkascope_analyzer.read.http_file import HttpFile

        return HttpFile(self.url)

    def size_bytes(self) -> int:
        """Returns the size according to the server; 0 where it sends none."""
        from kafkascope_analyzer.read.http_file import HttpFile

        with HttpFile(self.url) as file:
            return file.size_bytes or 0


STANDARD_INPUT = StandardInput()


def place_of(given: "str | Path | CapturePlace") -> CapturePlace:
    """Returns the capture for a path, a URI or `-`; nothing is opened. Raises UsageError for a URI without a path."""
    if isinstance(given, CapturePlace):
        return given
    if str(given) == "-":
        return STANDARD_INPUT
    if scheme_of(given) in WEB_SCHEMES:
        return WebCapture(str(given))
    storage = Storage.of(given)
    if storage.is_local:
        return LocalCapture(Path(storage.path), str(given) if is_uri(given) else str(Path(given)))
    return StoredCapture(storage)
