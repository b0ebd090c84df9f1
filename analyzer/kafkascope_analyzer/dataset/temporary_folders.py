"""Temporary folders: each belongs to a process that holds a lock on it (flock), and is removed with that process.

A process that is killed cannot remove its folder, but the system releases its lock. So the next process that makes a
folder beside it, and `kafkascope clean`, see that it has no owner any more and remove it. A child that inherits the
lock, as Spark's JVM does, owns the folder too.
"""

import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kafkascope_analyzer.dataset.run_marks import try_lock
from kafkascope_analyzer.dataset.storage import is_text
from kafkascope_parsers.errors import UsageError

_OURS = re.compile(r"kafkascope-(?:[a-z]+-)?[0-9a-f]{12}")
_BEING_MADE = re.compile(r"\.kafkascope-(?:[a-z]+-)?[0-9a-f]{12}")
_BEING_MADE_SECONDS = 60
"""Age up to which a folder without a lock may be one that is just being made."""


def temporary_root(temporary: Path | None = None) -> Path:
    """Returns the folder for temporary files. temporary: the folder of --temporary; None is the system's. Raises
    UsageError where there is none that can be written."""
    try:
        root = temporary or Path(tempfile.gettempdir())
    except OSError as error:
        raise UsageError(
            "there is no folder for temporary files that can be written: name one with TMPDIR or --temporary"
        ) from error
    if not is_text(str(root)):
        raise UsageError(f"{root}: the name of the folder for temporary files has to be UTF-8")
    return root


@dataclass(slots=True)
class OwnedFolder:
    """A temporary folder of this process. lock: the open file descriptor that holds its lock, None afterwards."""

    path: Path
    lock: int | None

    @classmethod
    def make(cls, path: Path) -> "OwnedFolder":
        """Makes a folder that only this user can read, and removes folders beside it that have no owner. Raises
        OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_ownerless(path.parent)
        unlocked = path.with_name(f".{path.name}")
        unlocked.mkdir(mode=0o700)
        try:
            lock = os.open(unlocked, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try_lock(lock)
            unlocked.rename(path)  # others see the folder under its name only when it is locked
        except BaseException:
            shutil.rmtree(unlocked, ignore_errors=True)
            raise
        return cls(path, lock)

    def remove(self) -> None:
        """Removes the folder and its content, and releases the lock. A second call does nothing: by then the number of
        the descriptor may belong to another file."""
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self.lock = self.lock, None
        if lock is not None:
            os.close(lock)


@contextmanager
def temporary_folder(kind: str) -> Iterator[Path]:
    """Makes a folder in the system's folder for temporary files for the duration of the block. kind: part of its name.
    Raises UsageError where it cannot be made."""
    path = temporary_root() / f"kafkascope-{kind}-{uuid.uuid4().hex[:12]}"
    try:
        folder = OwnedFolder.make(path)
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{path.parent}: cannot be written: {why}; name another folder with TMPDIR") from error
    try:
        yield folder.path
    finally:
        folder.remove()


def ownerless(parent: Path) -> list[Path]:
    """Returns the folders of killed processes in a folder for temporary files."""
    with suppress(OSError), os.scandir(parent) as entries:
        return sorted(Path(entry.path) for entry in entries if _is_ownerless(entry))
    return []


def remove_ownerless(parent: Path) -> None:
    """Removes the folders of killed processes."""
    for folder in ownerless(parent):
        shutil.rmtree(folder, ignore_errors=True)


def _is_ownerless(entry: "os.DirEntry[str]") -> bool:
    """Whether an entry is a folder that a process of this user has made and on which nobody holds the lock."""
    is_made = _OURS.fullmatch(entry.name) is not None
    if not is_made and not _BEING_MADE.fullmatch(entry.name):
        return False
    try:
        opened = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        about = os.fstat(opened)
        is_old = is_made or time.time() - about.st_mtime > _BEING_MADE_SECONDS
        return about.st_uid == os.geteuid() and is_old and try_lock(opened) is True
    except OSError:
        return False
    finally:
        os.close(opened)
