"""The captures that a dataset was made from: found by its manifest, and proved to be the same files.

A file is the same if its size is and the SHA-256 of its first and last MiB.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.read.source import STANDARD_INPUT, CaptureFile
from kafkascope_parsers.errors import CaptureError, UsageError

_PEEK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Original:
    """A capture to copy from: its file, its capture_id, and the times of its first and last packet where known."""

    path: Path
    capture_id: int
    first_ns: int | None = None
    last_ns: int | None = None


def originals_of(dataset: Dataset, given: list[Path]) -> list[Original]:
    """The dataset's inputs in its order. given: where to look; none is where the manifest says, or beside the dataset.

    Raises UsageError where one is not found or is not the same any more, or where a given file is none of them.
    """
    inputs = dataset.manifest.inputs
    if not given:
        return [_original(entry, i, _place(entry, dataset)) for i, entry in enumerate(inputs)]
    prints = {path: _fingerprint(path) for path in given}
    found = []
    for i, entry in enumerate(inputs):
        match = next((path for path in given if _is_same(prints[path], entry)), None)
        if match is None:
            raise UsageError(f"{entry['path']}: none of the given captures is this file, which {dataset} was made from")
        found.append(_original(entry, i, match))
        prints[match] = (-1, None)
    unused = [path for path in given if prints[path] != (-1, None)]
    if unused:
        raise UsageError(f"{unused[0]}: {dataset} was not made from this file; ingest it, or leave it out")
    return found


def _original(entry: Mapping[str, Any], capture_id: int, path: Path) -> Original:
    return Original(path, capture_id, entry.get("first_ns"), entry.get("last_ns"))


def _place(entry: Mapping[str, Any], dataset: Dataset) -> Path:
    """Where the file is: its path as given to ingest, or beside the dataset."""
    named = Path(entry["path"])
    if named == STANDARD_INPUT:
        raise UsageError(f"{dataset} was read from standard input; name the capture with --capture PATH")
    beside = dataset.local_folder.parent if dataset.local_folder else Path.cwd()
    places = [named, beside / named, beside / named.name]
    there = [path for path in dict.fromkeys(places) if path.is_file()]
    if not there:
        raise UsageError(f"{named}: {dataset} was made from it and it is not there; say where with --capture PATH")
    for path in there:
        if _is_same(_fingerprint(path), entry):
            return path
    raise UsageError(
        f"{there[0]}: not the file any more that {dataset} was made from; ingest it again, "
        "or say with --capture PATH where the old one is"
    )


def _fingerprint(path: Path) -> tuple[int, str | None]:
    """Size and digest, as ingest takes them. Raises CaptureError."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CaptureError(error.strerror or str(error), name=str(path)) from error
    capture = CaptureFile(path, _PEEK_BYTES)
    blocks = capture.blocks()
    next(blocks, None)
    del blocks
    return size, capture.info.sha256


def _is_same(fingerprint: tuple[int, str | None], entry: Mapping[str, Any]) -> bool:
    """Whether the file is the manifest's; one that came through standard input has no digest, and its size decides."""
    size, digest = fingerprint
    wanted = entry.get("sha256_first_and_last_mib")
    return bool(size == entry["size_bytes"] and wanted in (None, digest))
