"""Expands the arguments of a command to captures: files, directories and globs, here or in a store, web URLs, and `-`
for standard input."""

import glob
import re
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from kafkascope_analyzer.dataset.storage import Storage, is_uri
from kafkascope_analyzer.read.packed_copies import is_packed, without_packed_copies
from kafkascope_analyzer.read.place import (
    NOT_THERE,
    STANDARD_INPUT,
    CapturePlace,
    LocalCapture,
    StoredCapture,
    place_of,
)
from kafkascope_parsers.errors import CaptureError, UsageError

CAPTURE_SUFFIXES = frozenset({".pcap", ".pcapng", ".cap", ".dmp"})
_FIRST_KEY_PART = 3
"""The index of the first part of the key when scheme://bucket/key is split at its slashes."""


def expand_inputs(arguments: Sequence[str | Path]) -> list[CapturePlace]:
    """Returns the captures for files, directories, globs and `-`, each once, in the order given (directories sorted by
    path). Where a folder has a capture and a packed copy of it, only the unpacked one counts.

    Raises CaptureError for a file that does not exist, UsageError where a directory or glob matches no capture, or a
    store cannot be read.
    """
    found: dict[CapturePlace, None] = {}
    for argument in arguments:
        place = place_of(argument)
        if place == STANDARD_INPUT and sys.stdin.isatty():
            raise UsageError("standard input is a terminal: give a capture through a pipe, as in: xzcat F | ... -")
        matches = _captures_at(place, argument)
        if not matches:
            raise UsageError(f"{argument}: no capture (pcap or pcapng, also compressed) in there")
        found.update(dict.fromkeys(matches))
    if not found:
        raise UsageError("name at least one capture file, directory or glob, or - for standard input")
    return without_packed_copies(list(found))


def _captures_at(place: CapturePlace, argument: str | Path) -> list[CapturePlace]:
    if isinstance(place, LocalCapture):
        return _local_captures(place, argument)
    if isinstance(place, StoredCapture):
        return [place] if place.storage.file_info().is_file else _stored_captures(place.storage)
    return [place]


def _local_captures(place: LocalCapture, argument: str | Path) -> list[CapturePlace]:
    path = place.local if is_uri(argument) else Path(place.given)
    if path.is_dir():
        files = sorted(path.rglob("*"))
    elif path.exists():
        return [place]
    elif glob.has_magic(str(path)):
        files = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
    else:
        raise CaptureError(NOT_THERE, name=str(argument))
    return [capture for file in files if file.is_file() and _looks_like_capture(capture := _local(file, argument))]


def _local(file: Path, argument: str | Path) -> LocalCapture:
    """Returns a file for an argument; its name is a URI where the argument is one."""
    return LocalCapture(file.absolute(), file.as_uri() if is_uri(argument) else str(file))


def _stored_captures(storage: Storage) -> list[CapturePlace]:
    """Returns the captures in a folder of a store, or that a glob matches there. Only the folder before the glob's
    first wildcard is listed."""
    pattern: re.Pattern[str] | None = None
    folder, is_there = storage, storage.file_info().type.name == "Directory"
    if not is_there:
        if not glob.has_magic(storage.path):
            _raise_not_there(storage)
        folder, rest = _without_wildcards(storage)
        pattern = _glob_pattern(rest)
    names = [name for name in folder.listed("") if pattern is None or pattern.fullmatch(name)]
    places = [StoredCapture(Storage.of(folder.uri_of(name))) for name in names]
    return [place for place in places if _looks_like_capture(place)]


def _raise_not_there(storage: Storage) -> None:
    if not storage.has_folder():
        raise UsageError(f"{storage}: there is no such bucket")
    raise CaptureError(NOT_THERE, name=str(storage))


def _without_wildcards(storage: Storage) -> tuple[Storage, str]:
    """Returns the folder before the first wildcard of a glob, and the rest of the glob."""
    parts = str(storage).rstrip("/").split("/")
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    if first < _FIRST_KEY_PART:
        raise UsageError(f"{storage}: a wildcard cannot stand in the name of a bucket or a host")
    return Storage.of("/".join(parts[:first])), "/".join(parts[first:])


def _glob_pattern(text: str) -> re.Pattern[str]:
    """Returns the regular expression of a glob as in a shell: `*` does not match a slash, `**/` matches any folders. (A
    URI cannot contain `?`.)"""
    out = ""
    for part in re.findall(r"\*\*/|\*+|\[!?[^\]]+\]|.", text):
        if part == "**/":
            out += "(?:.*/)?"
        elif part.startswith("*"):
            out += "[^/]*"
        elif len(part) > 1:
            out += "[" + part[1:-1].replace("\\", "\\\\").replace("!", "^", 1 if part[1] == "!" else 0) + "]"
        else:
            out += re.escape(part)
    return re.compile(out, re.DOTALL)


def _looks_like_capture(place: CapturePlace) -> bool:
    """Whether a file is a capture by its name, else by its first bytes. Unreadable files count, so that the error is
    reported when they are opened."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(place.name).suffixes[-2:]]
    if is_packed(place.name):
        suffixes = suffixes[:-1]
    if suffixes and suffixes[-1] in CAPTURE_SUFFIXES:
        return True
    # Imported only here, because it loads kernels, and `analyze` launches Spark's JVM before they are loaded.
    from kafkascope_analyzer.read.source import begins_as_capture

    try:
        return begins_as_capture(place)
    except OSError:
        return False
