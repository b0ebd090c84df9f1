"""Where a capture is, and the one way to open it: a file on this machine or in a store, a web URL, standard input.

Of a file elsewhere the ranges are read that are needed; nothing is copied to a disk. A file here whose disk fails in
the middle is read as far as it goes, and `captures` says so. A store or a server that fails in the middle is an error:
the file is whole there, and a dataset of a part of it would be wrong.
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
    """What a capture is read by, as of Python's raw files."""

    def read(self, size: int = -1, /) -> bytes:
        """At most size bytes; all where size is negative."""

    def readinto(self, target: memoryview, /) -> int | None:
        """Fills target from its beginning on; returns the number of bytes, 0 at the end."""

    def seekable(self) -> bool:
        """Whether `seek` goes."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Moves to a byte; returns it, counted from the beginning."""


class CapturePlace(ABC):
    """A capture by its place. `str(place)` is its name for people, tables and the manifest: without secrets."""

    is_stream = False
    """Whether it can be read only once, from its beginning on: standard input, a pipe."""
    local: Path | None = None
    """The file on this machine; None for a capture elsewhere and for standard input."""

    @property
    def name(self) -> str:
        """The last part of the place: `a.pcap`."""
        return str(self).rstrip("/").rpartition("/")[2]

    @abstractmethod
    def open(self) -> AbstractContextManager[ReadableFile]:
        """The file, at its first byte. Raises OSError for a file on this machine, CaptureError and UsageError for
        others."""

    @abstractmethod
    def size_bytes(self) -> int:
        """The size of the file as it lies there; 0 where it is not known. Raises as `open` does."""


@dataclass(frozen=True, slots=True)
class StandardInput(CapturePlace):
    """Standard input, `-`."""

    is_stream = True

    def __str__(self) -> str:
        return "-"

    def open(self) -> AbstractContextManager[ReadableFile]:
        """Standard input; it stays open."""
        return nullcontext(cast(ReadableFile, sys.stdin.buffer))

    def size_bytes(self) -> int:
        """How much a pipe will bring is not known."""
        return 0


@dataclass(frozen=True)
class LocalCapture(CapturePlace):
    """A file or a named pipe on this machine."""

    local: Path = field()
    """Absolute, as Spark's executors work in directories of their own."""
    given: str = field(compare=False)
    """The place as the user wrote it."""

    def __str__(self) -> str:
        return self.given

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        """Whether it is a named pipe."""
        return not self.local.is_file()

    def open(self) -> AbstractContextManager[ReadableFile]:
        """The raw file: blocks are large, and a buffer would only copy them."""
        return self.local.open("rb", buffering=0)

    def size_bytes(self) -> int:
        """The size of the file; 0 of a pipe."""
        return 0 if self.is_stream else self.local.stat().st_size


@dataclass(frozen=True, slots=True)
class StoredCapture(CapturePlace):
    """A file in an object store or HDFS, by pyarrow's file systems."""

    storage: Storage

    def __str__(self) -> str:
        return str(self.storage)

    @contextmanager
    def open(self) -> Iterator[ReadableFile]:
        """The file in the store, which is read by ranges."""
        info = self._info()
        with self.storage.open_file() as file:
            yield _StoredFile(file, self.storage, info)

    def size_bytes(self) -> int:
        """The size of the file in the store."""
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
        """As a file's."""
        with self._failures():
            return bytes(self._file.read(None if size < 0 else size))

    def readinto(self, target: memoryview) -> int:
        """As a file's."""
        with self._failures():
            n = int(self._file.readinto(target))
        if not n and len(target):
            self._check_same()
        return n

    def seekable(self) -> bool:
        """Always: a store gives ranges."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """As a file's."""
        with self._failures():
            return int(self._file.seek(offset, whence))

    def _check_same(self) -> None:
        """Raises CaptureError where the file is no longer that which was opened: its ranges may be of two files."""
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
        """Why reading failed. What a store says of a file that was removed differs; so the store is asked."""
        with suppress(UsageError):
            if not self._storage.file_info().is_file:
                return REMOVED
        return reason(error, "read")


@dataclass(frozen=True, slots=True)
class WebCapture(CapturePlace):
    """A file behind an https (or http) URL. The query of a URL that is signed is a secret: it is only sent."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        from kafkascope_analyzer.read.http_file import without_secrets

        return without_secrets(self.url)

    def open(self) -> AbstractContextManager[ReadableFile]:
        """The file by ranges; from its beginning on where the server gives none."""
        from kafkascope_analyzer.read.http_file import HttpFile

        return HttpFile(self.url)

    def size_bytes(self) -> int:
        """The size that the server says; 0 where it says none."""
        from kafkascope_analyzer.read.http_file import HttpFile

        with HttpFile(self.url) as file:
            return file.size_bytes or 0


STANDARD_INPUT = StandardInput()


def place_of(given: "str | Path | CapturePlace") -> CapturePlace:
    """The capture that a path, a URI or `-` names; nothing is opened. Raises UsageError for a URI without a path."""
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
