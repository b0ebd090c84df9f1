"""Finds and saves the machine code of kernels: shared libraries in a folder of this package, which a wheel contains,
and in a folder of the user with the code that was compiled on this machine, where other copies of kafkascope find it.

A process executes the code that it loads. The folder of the package is trusted like its modules. From the user's folder
only files are loaded that nobody else could have written: folders and files must belong to the user, to root, or to the
owner of this package, and only the owner may write to them.

The user's folder is `kernels` in NUMBA_CACHE_DIR where that is set, else `kafkascope/kernels` in XDG_CACHE_HOME or
~/.cache, else one among the temporary files. A file there is named
by the version of the compiler too, so that another version compiles again.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SHIPPED = Path(__file__).parent / "machine_code"
"""Folder in a wheel. A clone has none: its kernels are compiled when they are first called."""
UNUSED_S = 30 * 24 * 3600
"""Machine code that no process has loaded for this long, for example of an old version, is removed: a version has 3
MB."""
_NOTED_S = 24 * 3600
"""The use of a file is recorded once in this time."""
SUFFIX = ".so"
_OWN_MODE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_COMPILER = ("numba", "llvmlite", "numpy")
"""Packages whose versions determine the machine code of a kernel."""
_COMPILER_DIGITS = 8


def find_code(name: str) -> Path | None:
    """Returns the library of this name; None if there is none."""
    shipped = SHIPPED / f"{name}{SUFFIX}"
    if shipped.is_file():
        return shipped
    kept = _kept_file(name)
    with contextlib.suppress(OSError):
        if kept and _is_private(state := kept.stat()):
            _note_use(kept, state)
            return kept
    return None


def save_code(name: str, code: bytes) -> Path:
    """Saves a library for other processes, atomically. If that fails (a full disk), it is saved only for this process.
    Returns its path."""
    kept = _kept_file(name)
    with contextlib.suppress(OSError):
        if kept:
            _write(kept, code)
            _remove_unused(kept.parent)
            return kept
    path = _own_folder() / f"{name}{SUFFIX}"
    _write(path, code)
    return path


def _kept_file(name: str) -> Path | None:
    """Returns the path in the user's folder of a kernel as the installed compiler makes it; None without a folder or a
    compiler."""
    folder, compiler = user_folder(), _compiler()
    return folder / f"{name}-{compiler}{SUFFIX}" if folder and compiler else None


def _write(path: Path, code: bytes) -> None:
    number, partial = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=SUFFIX)
    try:
        with open(number, "wb") as file:
            file.write(code)
            file.flush()
            os.fsync(number)  # a file that is loaded after a crash of the machine must be complete
        Path(partial).replace(path)
    finally:
        Path(partial).unlink(missing_ok=True)


@cache
def _own_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="kafkascope-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _compiler() -> str | None:
    """Returns a hash of the versions of the compiler's packages; None if they are not installed."""
    try:
        found = [version(name) for name in _COMPILER]
    except PackageNotFoundError:
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest()[:_COMPILER_DIGITS]


@cache
def user_folder() -> Path | None:
    """Returns the first folder that is trusted and writable; None if there is none."""
    for folder in _candidates():
        with contextlib.suppress(OSError):
            folder.mkdir(mode=_OWN_MODE, parents=True, exist_ok=True)
            state = folder.lstat()
            if stat.S_ISDIR(state.st_mode) and _is_private(state) and os.access(folder, os.W_OK):
                return folder
    return None


def _candidates() -> Iterator[Path]:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen) / "kernels"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkascope" / "kernels"
    yield Path(tempfile.gettempdir()) / f"kafkascope-kernels-{os.getuid()}"


def _is_private(state: os.stat_result) -> bool:
    """Whether only users could have written the file whose code this process runs anyway."""
    return state.st_uid in _trusted_users() and not state.st_mode & _OTHERS_WRITE


@cache
def _trusted_users() -> set[int]:
    trusted = {0, os.getuid()}
    with contextlib.suppress(OSError):  # a package in an archive has no file of its own
        trusted.add(Path(__file__).stat().st_uid)
    return trusted


def _note_use(path: Path, state: os.stat_result) -> None:
    if time.time() - state.st_mtime > _NOTED_S:
        with contextlib.suppress(OSError):
            os.utime(path)


@cache
def _remove_unused(folder: Path) -> None:
    """Removes files that no process has used for long. Called once per process, as there may be many files."""
    for path in folder.glob("[!.]*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > UNUSED_S:
                path.unlink()
