"""Where the machine code of kernels is: shared libraries, in a folder of this package that a wheel brings, and in a
folder of the user's, where what is compiled here is kept, so that other copies of kafkascope on this machine find it.

A process executes what it loads. The folder of the package is loaded from as its modules are. Of the user's, it loads
only what nobody else could have put there: folders and files that belong to the user, to root, or to the owner of this
package, and that nobody but the owner may write to.

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
"""The folder that a wheel brings. A clone has none: its kernels are compiled when they are first called."""
UNUSED_S = 30 * 24 * 3600
"""Machine code that no process has loaded for so long, as that of an old version, is removed: a version's has 3 MB."""
_NOTED_S = 24 * 3600
"""The use of a file is noted once in so long a time."""
SUFFIX = ".so"
_OWN_MODE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_COMPILER = ("numba", "llvmlite", "numpy")
"""The packages whose versions decide what is made of a kernel."""
_COMPILER_DIGITS = 8


def find_code(name: str) -> Path | None:
    """The library of this name."""
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
    """Saves a library for other processes, whole or not at all; where that fails (a full disk), for this one alone."""
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
    """Where the user's folder has what the installed compiler makes of a kernel; None without one of them."""
    folder, compiler = user_folder(), _compiler()
    return folder / f"{name}-{compiler}{SUFFIX}" if folder and compiler else None


def _write(path: Path, code: bytes) -> None:
    number, partial = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=SUFFIX)
    try:
        with open(number, "wb") as file:
            file.write(code)
            file.flush()
            os.fsync(number)  # what is loaded after a crash of the machine must not have holes
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
    """The versions of what compiles kernels, as digits; None where it is not installed."""
    try:
        found = [version(name) for name in _COMPILER]
    except PackageNotFoundError:
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest()[:_COMPILER_DIGITS]


@cache
def user_folder() -> Path | None:
    """The first folder that may be trusted and written to."""
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
    """Whether nobody could have written it whose code this process does not run anyway."""
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
    """Removes what no process has used for long: once in a process, as there may be many files."""
    for path in folder.glob("[!.]*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > UNUSED_S:
                path.unlink()
