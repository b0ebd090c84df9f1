"""The archive of Spark's classes (AppCDS) in the user's cache, which halves the start time of the JVM.

The JVM of the first run that completes its work writes the archive when it ends; later runs map it. The JVM checks the
archive against its own build, its class path, and the sizes and times of the jars, and ignores it if they differ. The
name of the file depends on all of these, so that a new archive is made when they change.
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
"""For this time after one process has let its JVM write the archive, no other process does: writing takes twice the
processor time of a start without an archive. A JVM that takes longer or was killed is not waited for."""
UNUSED_S = 30 * 24 * 3600
"""An archive that no run has used for this long, for example of a deleted environment, is removed: it has 180 MB."""
USE_ARCHIVE = "-XX:SharedArchiveFile="
"""Begin of the JVM option that uses an archive."""
WRITE_ARCHIVE = "-XX:ArchiveClassesAtExit="
"""Begin of the JVM option that writes an archive when the JVM ends."""
_MAGIC_BYTES = 4
"""Length of the magic number at the begin of an archive. The JVM writes the header last (OpenJDK's
FileMapInfo::open_for_write leaves its place free), so a file that begins with zeros is incomplete."""


def class_archive_option(java: str, launch_options: Sequence[str], jars: Sequence[pathlib.Path]) -> str | None:
    """Returns the JVM option that uses the archive of Spark's classes, or that writes it if there is none yet; None
    without a cache, or if the JVM of another process is writing it.

    java: the java command; launch_options: class path and module options; jars: Spark's jars. An archive must fit all
    of these.
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
"""Archives that the JVMs of this process write when they end."""


def keep_class_archive() -> None:
    """Records that this process has completed its work, so that the archive of its JVM is kept. The archive of a run
    that failed or was interrupted lacks classes, and would slow every later start."""
    for part in _parts_of_this_process:
        with contextlib.suppress(OSError):
            _note_of(part).touch()


def _note_of(part: pathlib.Path) -> pathlib.Path:
    return part.with_suffix(".keep")


def _rename_complete(folder: pathlib.Path, name: str, archive: pathlib.Path) -> None:
    """Renames a complete archive that is to be kept to its final name, and removes others. A later process does this,
    because the JVM writes the archive after its own process has ended."""
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
    """Removes files that were neither used nor written for UNUSED_S."""
    for file in folder.glob("spark-*"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > UNUSED_S:
                file.unlink()


def _claim(claim: pathlib.Path) -> bool:
    """Whether no other process has let its JVM write the archive within CLAIM_S. If so, claims it for this process."""
    with contextlib.suppress(OSError):
        if time.time() - claim.stat().st_mtime < CLAIM_S:
            return False
    with contextlib.suppress(OSError):
        claim.touch()
    return True


def _is_complete(part: pathlib.Path) -> bool:
    """Whether an archive is complete."""
    with part.open("rb") as file:
        return any(file.read(_MAGIC_BYTES))


def _fingerprint(java: str, launch_options: Sequence[str], jars: Sequence[pathlib.Path]) -> str:
    """Returns a short hash of this Java, this Python environment, these launch options and these jars. It changes if an
    environment is made again at the same place."""
    files = [_file_version(path) for path in (pathlib.Path(java).resolve(), *jars)]
    described = "|".join((*files, sys.prefix, *launch_options))
    return hashlib.sha256(described.encode()).hexdigest()[:12]


def _file_version(path: pathlib.Path) -> str:
    """Returns the path of a file with its size and the time of its last change, which are 0 if the file is missing."""
    try:
        found = path.stat()
    except OSError:
        return f"{path} 0 0"
    return f"{path} {found.st_size} {found.st_mtime_ns}"
