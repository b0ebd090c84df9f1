"""Which files of a dataset's folder no reader sees: those that the manifest does not list.

A run writes its files before the manifest lists them, and removes the files that the manifest lists no more after it.
What a run leaves that dies in between is recognised by its name: a Parquet file in the folder of a table, a file in the
folder `_spill-<run_id>`, or the mark `_unfinished-<run_id>.json`, which a run puts first. Where there is no manifest,
only files of runs whose mark is there are leftovers; in a folder without either nothing is.
"""

import re
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto

from kafkascope_analyzer.dataset.manifest import (
    MANIFEST,
    MESSAGES,
    REPORT_FILE,
    SAVED_SCAN_FOLDER,
    STORIES,
    Manifest,
)
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.stories import STORY_TABLES
from kafkascope_analyzer.dataset.tables import INGEST_TABLES

MOST_REMOVED = 16
"""Files that are removed at the same time: an object store takes tens of milliseconds for each."""
_MARK = re.compile(r"_unfinished-([0-9a-f]{12})\.json")
_SPILLED = re.compile(r"(_spill-[0-9a-f]{12})/.+")
_PARTIAL = re.compile(rf"\.?({re.escape(MANIFEST)}|{re.escape(REPORT_FILE)})(\.\d+)?\.partial")
"""A file that was not renamed to its name: storage.write_bytes."""
_TABLES = "|".join(
    (
        *(table.name for table in INGEST_TABLES),
        *(f"{STORIES}/{table.name}" for table in STORY_TABLES),
        rf"{MESSAGES}/\w+/(?:request|response)",
    )
)
_TABLE_FILE = re.compile(rf"(?:{_TABLES})/(?:bucket=\d+/)?\.?part-[^/]*\.parquet(?:\.\d+)?(?:\.partial)?")
_SAVED_FILE = re.compile(rf"{SAVED_SCAN_FOLDER}/(?:[\d-]+/)?[0-9a-f]{{12}}-[^/]+")
_TOP_FOLDERS = frozenset({STORIES, MESSAGES, SAVED_SCAN_FOLDER, *(table.name for table in INGEST_TABLES)})


class Content(Enum):
    """What a place holds, as far as a run that wants to write a dataset there has to know."""

    NOTHING = auto()
    DATASET = auto()
    UNFINISHED = auto()
    """What runs have left that were aborted, or are still at work; no dataset."""
    OTHER = auto()
    """Files that are no dataset: they are never touched."""


def mark_of(run_id: str) -> str:
    """The name of the file by which a run says that it writes here."""
    return f"_unfinished-{run_id}.json"


def spill_folder(run_id: str) -> str:
    """The folder at a dataset's place in which the machines of a run leave files for each other."""
    return f"_spill-{run_id}"


def content_of(storage: Storage) -> Content:
    """What a place holds. Raises UsageError where it cannot be listed."""
    entries = storage.entries()
    names = {entry.base_name for entry in entries if entry.is_file}
    if MANIFEST in names:
        return Content.DATASET
    if any(map(_MARK.fullmatch, names)):
        return Content.UNFINISHED
    folders = [entry.base_name for entry in entries if not entry.is_file]
    # An object store keeps empty objects in place of the folders of files that were removed.
    others = [name for name in folders if storage.is_local or name not in _TOP_FOLDERS or storage.listed(name)]
    return Content.OTHER if names or others else Content.NOTHING


@dataclass(frozen=True, slots=True)
class Leftovers:
    """files: relative to the dataset, marks last; run_ids: of the runs that have left marks."""

    files: tuple[str, ...]
    run_ids: frozenset[str]


def find_leftovers(storage: Storage, manifest: Manifest | None) -> Leftovers:
    """The files of runs that did not end. manifest: the dataset's; None where there is none. Raises UsageError."""
    there = storage.listed("")
    run_ids = frozenset(match[1] for match in map(_MARK.fullmatch, there) if match)
    listed = frozenset(() if manifest is None else manifest.paths)
    files = [path for path in there if path not in listed and _is_left(path, run_ids, is_dataset=manifest is not None)]
    return Leftovers(tuple(sorted(files, key=lambda path: (_MARK.fullmatch(path) is not None, path))), run_ids)


def _is_left(path: str, run_ids: Collection[str], *, is_dataset: bool) -> bool:
    if _MARK.fullmatch(path) or (_PARTIAL.fullmatch(path) and (is_dataset or run_ids)):
        return True
    if not any(known.fullmatch(path) for known in (_TABLE_FILE, _SAVED_FILE, _SPILLED)):
        return False
    return is_dataset or any(run_id in path for run_id in run_ids)


def unlisted_stories(storage: Storage, manifest: Manifest) -> list[str]:
    """The files in the stories' folder that the manifest does not list. Raises UsageError."""
    listed = frozenset(manifest.paths)
    return [path for path in storage.listed(STORIES) if path not in listed]


def remove_files(storage: Storage, files: Iterable[str]) -> None:
    """Removes files, marks last: after an interruption the rest can be recognised. What runs have spilled goes by the
    folder: an object store would keep an empty object for each folder whose files go one by one. Raises UsageError."""
    chosen = list(files)
    marks = [path for path in chosen if _MARK.fullmatch(path)]
    spilled = {path: match[1] for path in chosen if (match := _SPILLED.fullmatch(path))}
    with ThreadPoolExecutor(MOST_REMOVED) as pool:
        list(pool.map(storage.remove_folder, sorted(set(spilled.values()))))
        list(pool.map(storage.remove, (path for path in chosen if path not in marks and path not in spilled)))
    for path in marks:
        storage.remove(path)
