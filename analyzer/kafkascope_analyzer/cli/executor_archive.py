"""The archive for Spark's executors: our packages, the packages that they need, and compiled kernels.

Spark unpacks it beside each executor (`--archives FILE#env`), whose Python is then `./env/bin/python`: a script that
runs the machine's own Python of the same version with the packages of the archive. So nothing in it depends on where it
is unpacked. Spark itself is not in it: executors have their own.

Kernels are in our package, as in a wheel: the archive contains neither numba nor a compiler.
"""

import io
import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.kernel_files import SHIPPED, SUFFIX
from kafkascope_parsers.kernel_signatures import listed_kernels
from kafkascope_parsers.kernels import listed_code

_PACKAGES = ("kafkascope_parsers", "kafkascope_analyzer", "kafkascope_spark")
_OURS = "kafkascope"
_NOT_NEEDED = frozenset({"pyspark", "duckdb", "rich", "typer"})
"""Packages that kafkascope requires and tasks do not: Spark itself, and packages that only the command line uses."""
_OF_SPARK = "pandas"
"""A package that Spark's Python workers import, but kafkascope does not."""
_LEFT_OUT = frozenset({"tests", "include", "script"})
"""Folders that are not imported at run time: tests, headers for compilers, the sources of the report's page."""
_WITH_KERNELS = _PACKAGES[:2]
_KERNELS = f"lib/kafkascope_parsers/{SHIPPED.name}"
"""The folder in the archive for compiled kernels."""
_PYTHON_MODE = 0o755
_COMPRESSION_LEVEL = 1
"""Compression level: takes a third of the time of level 6, for an archive that is a twelfth larger."""


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file for the archive. name: its path in the archive, with slashes."""

    path: Path
    name: str

    @property
    def is_kernel(self) -> bool:
        """Whether it is the machine code of a kernel."""
        return self.name.startswith(f"{_KERNELS}/")


@dataclass(frozen=True, slots=True)
class ArchiveContent:
    """The content of an archive: number of files and of compiled kernels, and the archive's bytes."""

    n_files: int
    n_kernels: int
    n_bytes: int


def write_executor_archive(out: Path) -> ArchiveContent:
    """Writes the archive, whole or not at all. Raises UsageError where it cannot be written."""
    partial = out.with_name(f".{out.name}.partial")
    files = packed_files()
    try:
        with tarfile.open(partial, "w:gz", format=tarfile.PAX_FORMAT, compresslevel=_COMPRESSION_LEVEL) as archive:
            _add_python(archive)
            for file in files:
                _add(archive, file)
        partial.replace(out)
        return ArchiveContent(len(files), sum(file.is_kernel for file in files), out.stat().st_size)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def packed_files() -> list[PackedFile]:
    """Returns the files of our packages, of those that they need on an executor, and the compiled kernels, by name."""
    found = {file.name: file for name in _PACKAGES for file in _files_of_package(name)}
    found |= {file.name: file for file in _kernel_files()}
    for each in _needed_distributions():
        found |= {file.name: file for file in _files_of_distribution(each)}
    return [found[name] for name in sorted(found)]


def _files_of_package(name: str) -> Iterator[PackedFile]:
    """Yields the files of one of our packages, whose distribution may only point to its sources."""
    spec = find_spec(name)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place)
        for path in folder.rglob("*"):
            inside = path.relative_to(folder)
            if path.is_file() and not _LEFT_OUT.intersection(inside.parts):
                yield PackedFile(path, f"lib/{name}/{inside.as_posix()}")


def _kernel_files() -> Iterator[PackedFile]:
    """Yields all kernels that the program calls, compiled now where that was not done before."""
    for package in _WITH_KERNELS:
        for module, kernel in listed_kernels(package):
            for name, path in listed_code(module, kernel):
                yield PackedFile(path, f"{_KERNELS}/{name}{SUFFIX}")


def _needed_distributions() -> Iterator[Distribution]:
    """Yields our distribution, its requirements, and their requirements, as far as they are installed."""
    waiting, seen = [_OURS, _OF_SPARK], set(_NOT_NEEDED)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:  # required only on other systems
            continue
        waiting += [_name_of(each) for each in found.requires or () if "extra ==" not in each]
        yield found


def _name_of(requirement: str) -> str:
    """Returns the name in `pandas<3,>=2.2; python_version > "3"`, normalized (PEP 503)."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def _files_of_distribution(found: Distribution) -> Iterator[PackedFile]:
    for file in found.files or ():
        path = Path(str(found.locate_file(file)))
        inside = file.as_posix()
        is_module = not inside.startswith("..") and not _LEFT_OUT.intersection(file.parts)
        if is_module and path.suffix != ".pth" and path.is_file():
            yield PackedFile(path, f"lib/{inside}")


def _add_python(archive: tarfile.TarFile) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    text = f"""#!/bin/sh
# {version} with the packages of this archive. KAFKASCOPE_PYTHON names it where it is not on the PATH.
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}" exec "${{KAFKASCOPE_PYTHON:-{version}}}" "$@"
"""
    entry = tarfile.TarInfo("bin/python")
    entry.size, entry.mode = len(text), _PYTHON_MODE
    archive.addfile(entry, io.BytesIO(text.encode()))


def _add(archive: tarfile.TarFile, file: PackedFile) -> None:
    state = file.path.stat()
    entry = tarfile.TarInfo(file.name)
    entry.size, entry.mode = state.st_size, state.st_mode & 0o755 | 0o444
    entry.mtime = int(state.st_mtime)  # Python checks its compiled files by it
    with file.path.open("rb") as source:
        archive.addfile(entry, source)
