"""The mark of a run at the place of the dataset that it writes, which shows whether the run is still running.

A run writes its mark before its first file and removes it after its last. On a local file system it holds a lock on the
mark (flock), which the system releases however the process ends; forked workers hold it too. In a store, and where a
file system has no locks, the mark names the process: on the same machine the process is looked up, and a run of another
machine counts as running for MOST_HOURS.
"""

import errno
import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from kafkascope_analyzer.dataset.storage import Storage

MARK = re.compile(r"_unfinished-([0-9a-f]{12})\.json")
MOST_HOURS = 24
"""Time for which a run of another machine counts as running, because that cannot be checked."""
_NO_LOCKS = frozenset({errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK, errno.EINVAL, errno.EBADF})
"""Errors of flock on file systems that have no locks."""


def mark_of(run_id: str) -> str:
    """Returns the name of the mark of a run."""
    return f"_unfinished-{run_id}.json"


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that wrote a mark. host: its machine and container; started: when the process began, in the system's
    clock ticks, None where the system does not tell; begun_s: when the mark was written, Unix time."""

    host: str
    pid: int
    started: int | None
    begun_s: float

    @classmethod
    def this_process(cls) -> "Owner":
        """Returns this process, now."""
        return cls(_host(), os.getpid(), _started(os.getpid()), time.time())

    @classmethod
    def parse(cls, data: bytes) -> "Owner | None":
        """Returns the owner in a mark; None where there is none."""
        try:
            content = json.loads(data)
            host, pid, started, begun = (content[name] for name in ("host", "pid", "started", "begun_s"))
            return cls(str(host), int(pid), None if started is None else int(started), float(begun))
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
            return None

    def to_bytes(self) -> bytes:
        """Returns the bytes that `parse` reads."""
        return json.dumps(asdict(self)).encode()

    def is_at_work(self, most_seconds: float) -> bool:
        """Whether the process is running; a process of another machine counts as running for this long after it wrote
        the mark."""
        if self.host != _host():
            return time.time() - self.begun_s < most_seconds
        with suppress(PermissionError):
            try:
                os.kill(self.pid, 0)
            except (ProcessLookupError, OverflowError, ValueError):
                return False
        return self.started is None or _started(self.pid) == self.started


def _host() -> str:
    """Returns an id for this machine, until its next boot, and the container on it: process ids are valid
    only there."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def _started(pid: int) -> int | None:
    """Returns when a process began, in clock ticks; None where the system does not tell, or the process is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


class RunMark:
    """The mark of a run in this process. Call `put` before the first file, and `release` after the mark was removed."""

    def __init__(self, storage: Storage, run_id: str) -> None:
        self._storage, self._name = storage, mark_of(run_id)
        self._locked: int | None = None

    def put(self) -> None:
        """Writes the mark, and locks it. Raises UsageError."""
        data = Owner.this_process().to_bytes()
        if not self._storage.is_local:
            self._storage.write_bytes(self._name, data)
            return
        with self._storage.failures(self._name, verb="written"):
            path = Path(self._storage.path) / self._name
            self._locked = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            try_lock(self._locked)
            os.write(self._locked, data)

    @property
    def is_there(self) -> bool:
        """Whether the mark still exists at the place. Raises UsageError."""
        return bool(self._storage.file_info(self._name).is_file)

    def release(self) -> None:
        """Releases the lock."""
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None


def try_lock(opened: int) -> bool | None:
    """Tries to lock an open file; returns whether this process has the lock now, None where the file system has no
    locks."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None
    return True


def runs_at_work(storage: Storage, files: Collection[str]) -> frozenset[str]:
    """Returns the ids of the runs that may still be running, of those whose marks are among these files of a place. A
    run whose mark is gone meanwhile has just ended: its files may belong to a dataset now. Raises UsageError."""
    marks = {path: match[1] for path in files if (match := MARK.fullmatch(path))}
    return frozenset(run_id for path, run_id in marks.items() if _is_at_work(storage, path))


def _is_at_work(storage: Storage, mark: str) -> bool:
    try:
        if storage.is_local and (is_locked := _is_locked(Path(storage.path) / mark)) is not None:
            return is_locked
        owner = Owner.parse(storage.read_bytes(mark))
    except FileNotFoundError:
        return True
    return owner is not None and owner.is_at_work(MOST_HOURS * 3600)


def _is_locked(mark: Path) -> bool | None:
    """Whether a process holds the lock of a mark; None where that cannot be determined. Raises FileNotFoundError."""
    try:
        opened = os.open(mark, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError:
        return None
    try:
        is_free = try_lock(opened)
    finally:
        os.close(opened)
    return None if is_free is None else not is_free
