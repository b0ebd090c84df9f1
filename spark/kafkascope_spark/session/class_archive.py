"""The archive of Spark's classes (AppCDS) in the user's cache, which halves the start of the JVM.

The first run that does all its work has its JVM write the archive when it ends; later runs map it. The JVM checks the
archive against its own build, its class path, and the sizes and times of the jars, and ignores it when they differ;
then it would be made never again, so the file's name depends on all that decides whether it fits.
"""

import contextlib
import hashlib
import os
import pathlib
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version

CLAIM_S = 120
"""For so long after one process has had its JVM write the archive no other does: writing takes twice the processor time
of a start without an archive. A JVM that works longer than that and one that was killed are not waited for."""
UNUSED_S = 30 * 24 * 3600
"""An archive that no run has used for so long, as of an environment that is gone, is removed: it has 180 MB."""
USE_ARCHIVE = "-XX:SharedArchiveFile="
"""The JVM option that uses an archive begins like this."""
WRITE_ARCHIVE = "-XX:ArchiveClassesAtExit="
"""The JVM option that has an archive written when the JVM ends begins like this."""
_MAGIC_BYTES = 4
"""An archive begins with its magic number. The JVM writes the header last (OpenJDK's FileMapInfo::open_for_write leaves
its place free), so a file that begins with zeros is not complete."""


def class_archive_option(java: str, launch_options: Sequence[str], jars: Sequence[pathlib.Path]) -> str | None:
    """The JVM option that uses the archive of Spark's classes, or that writes it where there is none yet; None where
    there is no cache to keep it in, and where the JVM of another process writes it.

    java: the java command; launch_options: the class path and the module options, jars: Spark's jars, all of which an
    archive must fit.
    """
    try:
        folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kafkascope"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    name = f"spark-{version('pyspark')}-{_fingerprint(java, launch_options, jars)}"
    archive = folder / f"{name}.jsa"
    _rename_complete(folder, name, archive)
    if archive.exists():
        with contextlib.suppress(OSError):
            os.utime(archive)
        return f"{USE_ARCHIVE}{archive}"
    _remove_unused(folder)
    if not os.access(folder, os.W_OK) or not _claim(folder / f"{name}.claim"):
        return None
    part = folder / f"{name}.{os.getpid()}.part"
    _parts_of_this_process.append(part)
    return f"{WRITE_ARCHIVE}{part}"


_parts_of_this_process: list[pathlib.Path] = []
"""The archives that the JVMs of this process write when they end."""


def keep_class_archive() -> None:
    """Note that this process has done its work, so that the archive that its JVM writes is kept. That of a run that
    failed or was interrupted lacks the classes that it did not come to, and would slow every later start."""
    for part in _parts_of_this_process:
        with contextlib.suppress(OSError):
            _note_of(part).touch()


def _note_of(part: pathlib.Path) -> pathlib.Path:
    return part.with_suffix(".keep")


def _rename_complete(folder: pathlib.Path, name: str, archive: pathlib.Path) -> None:
    """Give a finished archive that is to be kept its final name, and remove one that is not: the JVM writes it after
    this process has ended."""
    for part in sorted(folder.glob(f"{name}.*.part")):
        with contextlib.suppress(OSError):
            if not _is_complete(part):
                continue
            if _note_of(part).exists():
                part.replace(archive)
                _note_of(part).unlink()
            else:
                part.unlink()
                (folder / f"{name}.claim").unlink(missing_ok=True)


def _remove_unused(folder: pathlib.Path) -> None:
    """Remove what was neither used nor written for UNUSED_S."""
    for file in folder.glob("spark-*"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > UNUSED_S:
                file.unlink()


def _claim(claim: pathlib.Path) -> bool:
    """Whether no other process has had its JVM write the archive within CLAIM_S; others see then that this one has."""
    with contextlib.suppress(OSError):
        if time.time() - claim.stat().st_mtime < CLAIM_S:
            return False
    with contextlib.suppress(OSError):
        claim.touch()
    return True


def _is_complete(part: pathlib.Path) -> bool:
    """Whether the JVM has written all of an archive."""
    with part.open("rb") as file:
        return any(file.read(_MAGIC_BYTES))


def _fingerprint(java: str, launch_options: Sequence[str], jars: Sequence[pathlib.Path]) -> str:
    """A short name for this Java, this Python environment, these launch options and these jars: an environment that is
    made anew at the same place has other ones."""
    files = [_file_version(path) for path in (pathlib.Path(java).resolve(), *jars)]
    described = "|".join((*files, sys.prefix, *launch_options))
    return hashlib.sha256(described.encode()).hexdigest()[:12]


def _file_version(path: pathlib.Path) -> str:
    """The path of a file with its size and the time of its last change, which are 0 where it is not there."""
    try:
        found = path.stat()
    except OSError:
        return f"{path} 0 0"
    return f"{path} {found.st_size} {found.st_mtime_ns}"
