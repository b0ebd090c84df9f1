"""Finds and removes files in a dataset's folder that the manifest does not list.

A run writes its files before the manifest lists them, and afterwards removes the files that the manifest no longer
lists. The files of a run that dies in between are recognised by their names: a Parquet file in the folder of a table, a
file in the folder `_spill-<run_id>`, or the mark `_unfinished-<run_id>.json`, which a run writes first. Where there is
no manifest, only files of runs with a mark are leftovers; in a folder without either there are none. Files of a run
that may still be running (run_marks) are not leftovers.
"""

import re
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto

from kafkascope_analyzer.dataset.manifest import (
    COUNTS_FILE,
    MANIFEST,
    MESSAGES,
    REPORT_FILE,
    SAVED_SCAN_FOLDER,
    STORIES,
    VIEWS_FILE,
    Manifest,
)
from kafkascope_analyzer.dataset.place_lock import CLAIM, LOCK
from kafkascope_analyzer.dataset.run_marks import MARK, runs_at_work
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.tables import INGEST_TABLES

MOST_REMOVED = 16
"""Most files that are removed at the same time: an object store takes tens of milliseconds for each."""
_SPILLED = re.compile(r"(_spill-[0-9a-f]{12})/.+")
_PARTIAL = re.compile(
    rf"\.?({'|'.join(map(re.escape, (MANIFEST, REPORT_FILE, VIEWS_FILE, COUNTS_FILE)))})(\.\d+)?\.partial"
)
"""Pattern for a file that was not renamed to its final name: see storage.write_bytes."""
_TABLES = "|".join(
    (
        *(table.name for table in INGEST_TABLES),
        rf"{STORIES}/\w+",
        rf"{MESSAGES}/\w+/(?:request|response)",
    )
)
_FOLDERS = r"(?:date=[^/]+/)?(?:kind=\w+/)?(?:bucket=\d+/)?"
_TABLE_FILE = re.compile(rf"(?:{_TABLES})/{_FOLDERS}\.?part-[^/]*\.parquet(?:\.\d+)?(?:\.partial)?")
_SAVED_FILE = re.compile(rf"{SAVED_SCAN_FOLDER}/(?:[\d-]+/)?[0-9a-f]{{12}}-[^/]+")
_TOP_FOLDERS = frozenset({STORIES, MESSAGES, SAVED_SCAN_FOLDER, *(table.name for table in INGEST_TABLES)})


class Content(Enum):
    """The content of a place, as far as a run that wants to write a dataset there has to know it."""

    NOTHING = auto()
    DATASET = auto()
    UNFINISHED = auto()
    """Files of runs that were aborted, or are still running; no dataset."""
    OTHER = auto()
    """Files that are not a dataset's: they are never touched."""


def spill_folder(run_id: str) -> str:
    """Returns the folder at a dataset's place in which the machines of a run leave files for each other."""
    return f"_spill-{run_id}"


def content_of(storage: Storage) -> Content:
    """Returns the content of a place. Raises UsageError where it cannot be listed."""
    entries = storage.entries()
    names = {name for entry in entries if entry.is_file and (name := entry.base_name) != LOCK}
    names = {name for name in names if not CLAIM.fullmatch(name)}
    if MANIFEST in names:
        return Content.DATASET
    if any(map(MARK.fullmatch, names)):
        return Content.UNFINISHED
    folders = [entry.base_name for entry in entries if not entry.is_file]
    # An object store keeps empty objects in place of the folders of files that were removed.
    others = [name for name in folders if storage.is_local or name not in _TOP_FOLDERS or storage.listed(name)]
    return Content.OTHER if names or others else Content.NOTHING


@dataclass(frozen=True, slots=True)
class Leftovers:
    """files: relative to the dataset, marks last; run_ids: ids of the runs that have left marks; at_work: ids of those
    that may still be running, whose files are not included."""

    files: tuple[str, ...]
    run_ids: frozenset[str]
    at_work: frozenset[str]


def find_leftovers(
    storage: Storage, manifest: Manifest | None, ended: Collection[str] = (), *, all_runs: bool = False
) -> Leftovers:
    """Returns the files of runs that did not end. manifest: the dataset's; None where there is none; ended: runs that
    are known not to be running; all_runs: assume that no run is running. Raises UsageError."""
    there = storage.listed("")
    marked = frozenset(match[1] for match in map(MARK.fullmatch, there) if match)
    at_work = frozenset() if all_runs else runs_at_work(storage, there) - frozenset(ended)
    listed = frozenset(() if manifest is None else manifest.paths)
    files = [
        path
        for path in there
        if path not in listed
        and _is_left(path, marked, is_dataset=manifest is not None)
        and not any(run_id in path for run_id in at_work)
    ]
    ordered = tuple(sorted(files, key=lambda path: (MARK.fullmatch(path) is not None, path)))
    return Leftovers(ordered, marked - at_work, at_work)


def _is_left(path: str, run_ids: Collection[str], *, is_dataset: bool) -> bool:
    if MARK.fullmatch(path) or (_PARTIAL.fullmatch(path) and (is_dataset or run_ids)):
        return True
    if not any(known.fullmatch(path) for known in (_TABLE_FILE, _SAVED_FILE, _SPILLED)):
        return False
    return is_dataset or any(run_id in path for run_id in run_ids)


def remove_files(storage: Storage, files: Iterable[str]) -> None:
    """Removes files, marks last, so that the rest can be recognised after an interruption. Spilled files are removed by
    folder: an object store would otherwise keep an empty object for each folder whose files are removed one by one.
    Raises UsageError."""
    chosen = list(files)
    marks = [path for path in chosen if MARK.fullmatch(path)]
    spilled = {path: match[1] for path in chosen if (match := _SPILLED.fullmatch(path))}
    with ThreadPoolExecutor(MOST_REMOVED) as pool:
        list(pool.map(storage.remove_folder, sorted(set(spilled.values()))))
        list(pool.map(storage.remove, (path for path in chosen if path not in marks and path not in spilled)))
    for path in marks:
        storage.remove(path)
