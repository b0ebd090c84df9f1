"""The storage of a dataset or a capture: the local disk, an object store or HDFS, named by a URI.

A path without a scheme and `file://` are local. `s3://`, `gs://`, `abfs://` and `hdfs://` are opened by pyarrow's own
file systems, every other scheme by fsspec where it is installed. Every failure is a UsageError in one sentence that
names the URI, never a key or a secret.

A Storage holds names only. Each process opens its own file system from its own environment, so that a pickled Storage
carries no credentials; the endpoint and the region of S3 travel with it.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from kafkascope_analyzer.dataset.object_stores import S3_SCHEMES, S3Settings, open_store, reason
from kafkascope_parsers.errors import UsageError

WEB_SCHEMES = ("https", "http")
"""Schemes from which captures are read, but that are not file systems."""
PUT_BYTES = 8 << 20
"""Bytes of a file that are read at a time to be put into a store."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def scheme_of(place: str | Path) -> str:
    """Returns the scheme of a URI, in lower case; `file` for a path without one."""
    match = _SCHEME.match(str(place)) if is_uri(place) else None
    return match[1].lower() if match else "file"


def is_uri(place: str | Path) -> bool:
    """Whether a place is written with a scheme; a Path never is."""
    return not isinstance(place, Path) and _SCHEME.match(place) is not None


def is_text(name: str) -> bool:
    """Whether the name of a file is UTF-8; Python keeps other bytes as surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


@dataclass(frozen=True, slots=True)
class Storage:
    """A folder or a file by its URI. uri: canonical; given: as the user wrote it; path: path inside its file system,
    absolute, because Spark's executors work in directories of their own."""

    uri: str
    given: str
    path: str
    scheme: str
    s3: S3Settings | None = None

    @classmethod
    def of(cls, uri: str | Path) -> "Storage":
        """Returns the storage for a path or URI; nothing is opened. Raises UsageError for a URI that names
        no folder."""
        given, scheme = str(uri), scheme_of(uri)
        if scheme == "file":
            local = Path(unquote(urlsplit(given).path) if is_uri(uri) else given).absolute()
            return cls(local.as_uri(), given, str(local), scheme)
        scheme = "s3" if scheme in S3_SCHEMES else scheme
        rest = _SCHEME.sub("", given, count=1).rstrip("/")
        if "?" in rest or "#" in rest:
            raise UsageError(f"{given}: settings in a URI are not read: put them into the environment")
        if not rest:
            raise UsageError(f"{given}: the URI names no folder")
        settings = S3Settings.from_environment() if scheme == "s3" else None
        return cls(f"{scheme}://{rest}", given, rest, scheme, settings)

    def __str__(self) -> str:
        return self.given

    @property
    def is_local(self) -> bool:
        """Whether the folder is on this machine's file system."""
        return self.scheme == "file"

    @property
    def filesystem(self) -> Any:
        """The pyarrow file system, opened once per process. Raises UsageError."""
        return self._opened[0]

    @property
    def root(self) -> str:
        """The path of the folder inside `filesystem`, without a trailing slash. Raises UsageError."""
        return str(self._opened[1])

    @property
    def _opened(self) -> tuple[Any, str]:
        with self.failures():
            return _open(self, os.getpid())

    def check_name(self) -> None:
        """Raises UsageError for a name that is not UTF-8: neither pyarrow nor Spark can open it."""
        if not is_text(self.given):
            raise UsageError(f"{self}: the name of a dataset has to be UTF-8")

    def inside(self, relative: str) -> str:
        """Returns the path of a file in the folder, inside `filesystem`."""
        return f"{self.root}/{relative}" if relative else self.root

    def uri_of(self, relative: str) -> str:
        """Returns the name of a file in the folder for messages, in the form in which the user named the folder."""
        return f"{self.given.rstrip('/')}/{relative}"

    def spark_uri(self, relative: str = "") -> str:
        """Returns the URI by which Spark (Hadoop's file systems) opens the folder, or a file in it: the scheme of s3 is
        s3a there, and nothing is percent-encoded.
        """
        in_hadoop = {"file": f"file://{self.path}", "s3": f"s3a://{self.path}"}
        base = in_hadoop.get(self.scheme, self.uri)
        return f"{base}/{relative}" if relative else base

    def read_bytes(self, relative: str, most: int | None = None) -> bytes:
        """Returns the content of a file, or its first `most` bytes. Raises FileNotFoundError where it does not exist,
        UsageError where it cannot be read."""
        with self.failures(relative, missing=True):
            self._check_regular(relative)
            with (
                (Path(self.path) / relative).open("rb")
                if self.is_local
                else self.filesystem.open_input_stream(self.inside(relative))
            ) as file:
                return bytes(file.read(most))

    def _check_regular(self, relative: str) -> None:
        """Raises OSError where a local file is not a regular file: opening a pipe would block until somebody writes
        into it."""
        if self.is_local and not stat.S_ISREG((Path(self.path) / relative).stat().st_mode):
            raise OSError("it is not a file")

    def write_bytes(self, relative: str, data: bytes, *, is_new: bool = False) -> None:
        """Writes a whole file atomically: a reader sees the old file or the new one. is_new: locally, an existing file
        of that name is not replaced. Raises UsageError."""
        with self.failures(relative, verb="written"):
            if self.is_local:
                _write_locally(Path(self.path) / relative, data, is_new=is_new)
                return
            with self.filesystem.open_output_stream(self._written(relative)) as file:
                file.write(data)
            self._publish(relative)

    def write_parts(self, relative: str, parts: Iterable[bytes | memoryview]) -> None:
        """Writes a file part by part; where that fails, a part of the file may remain. On this machine only the user of
        this process may read it. Raises UsageError."""
        with self.failures(relative, verb="written"):
            if self.is_local:
                path = Path(self.path) / relative
                path.parent.mkdir(parents=True, exist_ok=True)
                opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                target: Any = os.fdopen(opened, "wb", buffering=PUT_BYTES)
            else:
                target = self.filesystem.open_output_stream(self._written(relative), compression=None)
            with target:
                for part in parts:
                    target.write(part)
            self._publish(relative)

    def read_range(self, relative: str, first: int, target: memoryview) -> None:
        """Fills target (bytes) with the content of a file from byte `first` on. Raises UsageError, also where the file
        ends before target is full."""
        with self.failures(relative):
            with (
                (Path(self.path) / relative).open("rb", buffering=0)
                if self.is_local
                else self.filesystem.open_input_file(self.inside(relative))
            ) as file:
                file.seek(first)
                while target and (n := file.readinto(target)):
                    target = target[n:]
            if target:
                raise OSError(f"the file ends {len(target)} bytes too early")

    def has_folder(self) -> bool:
        """Whether the bucket or container (locally: the folder) exists. Raises UsageError, unreachable."""
        from pyarrow.fs import FileType

        with self.failures():
            top = self.root if self.is_local else self.root.partition("/")[0]
            return bool(self.filesystem.get_file_info(top).type != FileType.NotFound)

    def listed(self, relative: str) -> list[str]:
        """Returns the files under a folder of the dataset, relative to the dataset, in order. Only needed to clean up:
        the files of a dataset are listed in its manifest.
        """
        from pyarrow.fs import FileSelector, FileType

        with self.failures(relative):
            selector = FileSelector(self.inside(relative), recursive=True, allow_not_found=True)
            found = [info.path for info in self.filesystem.get_file_info(selector) if info.type == FileType.File]
        start = len(self.root) + 1
        return sorted(path[start:] for path in found)

    def entries(self, relative: str = "") -> tuple[Any, ...]:
        """Returns the direct content of a folder: pyarrow's FileInfo of each entry, by name. None where the folder does
        not exist. Raises UsageError.
        """
        from pyarrow.fs import FileSelector

        with self.failures(relative):
            selector = FileSelector(self.inside(relative), allow_not_found=True)
            return tuple(sorted(self.filesystem.get_file_info(selector), key=lambda info: info.base_name))

    def file_info(self, relative: str = "") -> Any:
        """Returns pyarrow's FileInfo: whether there is a file or a folder, its size and time. Raises UsageError."""
        with self.failures(relative):
            return self.filesystem.get_file_info(self.inside(relative))

    def open_file(self, relative: str = "") -> Any:
        """Opens a file for reading, as pyarrow's NativeFile, which reads only the requested ranges. Raises
        UsageError."""
        with self.failures(relative):
            self._check_regular(relative)
            return self.filesystem.open_input_file(self.inside(relative))

    def put(self, local: Path, relative: str) -> None:
        """Copies a local file here, part by part; it appears when it is complete. Raises UsageError."""
        with (
            self.failures(relative, verb="written"),
            local.open("rb") as source,
            self.filesystem.open_output_stream(self._written(relative), compression=None) as target,
        ):
            shutil.copyfileobj(source, target, PUT_BYTES)
        with self.failures(relative, verb="written"):
            self._publish(relative)

    def move_here(self, local: Path, relative: str) -> None:
        """Moves a local file here, like `put`, but without copying where both are on one disk. Raises UsageError."""
        if not self.is_local:
            self.put(local, relative)
            return
        with self.failures(relative, verb="written"):
            shutil.move(local, Path(self.path) / relative)

    def remove(self, relative: str) -> None:
        """Removes a file if it is there. Raises UsageError."""
        with suppress(FileNotFoundError), self.failures(relative, missing=True, verb="removed"):
            self.filesystem.delete_file(self.inside(relative))

    def remove_folder(self, relative: str) -> None:
        """Removes a folder and its content, if it exists: a store removes a thousand files at once. Raises
        UsageError."""
        with suppress(FileNotFoundError), self.failures(relative, missing=True, verb="removed"):
            self.filesystem.delete_dir(self.inside(relative))

    def remove_empty_folders(self) -> None:
        """Removes the local folder, and those in it, if they contain no file; an object store has no folders."""
        if self.is_local:
            for folder, _, _ in os.walk(self.root, topdown=False):
                with suppress(OSError):  # not empty
                    Path(folder).rmdir()

    def _written(self, relative: str) -> str:
        """Returns the path to which a file is first written. An object store shows an object only when it is complete;
        HDFS needs a rename."""
        return self.inside(relative) + (".partial" if self.scheme == "hdfs" else "")

    def _publish(self, relative: str) -> None:
        """Gives a written file its final name. HDFS does not rename onto an existing file: for a moment
        there is none."""
        from pyarrow.fs import FileType

        if self.scheme == "hdfs":
            if self.filesystem.get_file_info(self.inside(relative)).type != FileType.NotFound:
                self.filesystem.delete_file(self.inside(relative))
            self.filesystem.move(self._written(relative), self.inside(relative))

    @contextmanager
    def failures(self, relative: str = "", *, missing: bool = False, verb: str = "read") -> Iterator[None]:
        """Turns exceptions of pyarrow and the storage into a UsageError. missing: whether FileNotFoundError is passed
        on; verb: what could not be done: `read`, `written`, `removed`."""
        import pyarrow as pa

        name = self.uri_of(relative) if relative else self.given
        try:
            yield
        except FileNotFoundError as error:
            if missing:
                raise
            raise UsageError(f"{name} is not there") from error
        except (OSError, pa.ArrowException, ImportError, ValueError) as error:
            raise UsageError(f"{name}: {reason(error, verb)}") from error


def _write_locally(path: Path, data: bytes, *, is_new: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        if not is_new or not _link(partial, path):
            os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _link(file: Path, name: Path) -> bool:
    """Gives a file a second, unused name; returns whether the file system supports that. Raises FileExistsError."""
    try:
        os.link(file, name)
    except FileExistsError:
        raise
    except OSError:  # FAT and some network file systems have no links
        return False
    return True


@lru_cache(maxsize=16)
def _open(storage: Storage, process: int) -> tuple[Any, str]:
    """Returns the file system and the folder in it. process: the process's id, because a fork must open its own."""
    del process
    if storage.is_local:
        from pyarrow.fs import LocalFileSystem

        return LocalFileSystem(), storage.path
    return open_store(storage.uri, storage.scheme, storage.path, storage.s3)
