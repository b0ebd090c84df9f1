"""Finds the captures from which a dataset was made by its manifest, and checks that they are unchanged.

A file counts as unchanged if its size and the SHA-256 of its first and last MiB are the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.storage import is_uri
from kafkascope_analyzer.read.place import STANDARD_INPUT, CapturePlace, place_of
from kafkascope_analyzer.read.points.clock import PointClock, clock_from_json
from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_parsers.errors import CaptureError, UsageError

_PEEK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Original:
    """A capture to copy from: its place, its capture_id, the times of its first and last packet where known, and the
    clock correction of its capture point, which is part of these and all other times of the dataset."""

    place: CapturePlace
    capture_id: int
    first_ns: int | None = None
    last_ns: int | None = None
    clock: PointClock | None = None


def originals_of(dataset: Dataset, given: list[CapturePlace]) -> list[Original]:
    """Returns the dataset's inputs in its order. given: places to look in; without any, the place in the manifest, or
    beside the dataset.

    Raises UsageError where an input is not found or has changed, or where a given file is not an input.
    """
    inputs = dataset.manifest.inputs
    if not given:
        return [_original(entry, i, _place(entry, dataset)) for i, entry in enumerate(inputs)]
    prints = {place: _fingerprint(place) for place in given}
    found = []
    for i, entry in enumerate(inputs):
        match = next((place for place in given if _is_same(prints[place], entry)), None)
        if match is None:
            raise UsageError(f"{entry['path']}: none of the given captures is this file, which {dataset} was made from")
        found.append(_original(entry, i, match))
        prints[match] = (-1, None)
    unused = [place for place in given if prints[place] != (-1, None)]
    if unused:
        raise UsageError(f"{unused[0]}: {dataset} was not made from this file; ingest it, or leave it out")
    return found


def _original(entry: Mapping[str, Any], capture_id: int, place: CapturePlace) -> Original:
    clock = clock_from_json(entry["path"], entry["clock"]) if "clock" in entry else None
    return Original(place, capture_id, entry.get("first_ns"), entry.get("last_ns"), clock)


def _place(entry: Mapping[str, Any], dataset: Dataset) -> CapturePlace:
    """Returns the place of the file: the one that was given to ingest, or beside the dataset."""
    if entry["path"] == str(STANDARD_INPUT):
        raise UsageError(f"{dataset} was read from standard input; name the capture with --capture PATH")
    there = [place_of(entry["path"])] if is_uri(entry["path"]) else _local_places(Path(entry["path"]), dataset)
    for place in there:
        if _is_same(_fingerprint(place), entry):
            return place
    raise UsageError(
        f"{there[0]}: not the file any more that {dataset} was made from; ingest it again, "
        "or say with --capture PATH where the old one is"
    )


def _local_places(named: Path, dataset: Dataset) -> list[CapturePlace]:
    """Returns the existing files of that name. Raises UsageError where there is none."""
    beside = dataset.local_folder.parent if dataset.local_folder else Path.cwd()
    places = [named, beside / named, beside / named.name]
    there = [place_of(path) for path in dict.fromkeys(places) if path.is_file()]
    if not there:
        raise UsageError(f"{named}: {dataset} was made from it and it is not there; say where with --capture PATH")
    return there


def _fingerprint(place: CapturePlace) -> tuple[int, str | None]:
    """Returns size and digest, computed as by ingest. Raises CaptureError."""
    try:
        size = place.size_bytes()
    except OSError as error:
        raise CaptureError(error.strerror or str(error), name=str(place)) from error
    capture = CaptureFile(place, _PEEK_BYTES)
    blocks = capture.blocks()
    next(blocks, None)
    del blocks
    return size, capture.info.sha256


def _is_same(fingerprint: tuple[int, str | None], entry: Mapping[str, Any]) -> bool:
    """Whether the file is the one in the manifest. An input from standard input has no digest: then the
    size decides."""
    size, digest = fingerprint
    wanted = entry.get("sha256_first_and_last_mib")
    return bool(size == entry["size_bytes"] and wanted in (None, digest))
