"""`_dataset.json`: what a dataset is, and which files its tables consist of. It is written last; a folder without it
is not a dataset.

`files` names every table of the dataset, the messages and the stories too, with its files relative to the dataset, the
rows and the bytes of each. A table without rows may have no file.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from kafkascope_analyzer.dataset.contract import SCHEMA_VERSION
from kafkascope_analyzer.dataset.failed_parts import FailedPart, part_from
from kafkascope_parsers.errors import UsageError

MANIFEST = "_dataset.json"
REPORT_FILE = "report.json"
"""The report, beside the tables: a rendering of them, which the manifest does not list."""
STORIES = "stories"
MESSAGES = "messages"
SAVED_SCAN_FOLDER = "saved_scan"


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A Parquet file of a table. path: relative to the dataset."""

    path: str
    rows: int
    bytes: int


Files = Mapping[str, tuple[DatasetFile, ...]]
"""Table -> its files, in order."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a dataset.

    options: of the ingest run; inputs: one entry a capture file; ledger: the byte ledger over all TCP directions;
    limits_hit: how much was left out at each limit that was hit (dataset.limits_hit); stall_ms: from which length on a
    wait is a stall in the stories, None where there are none; failed_parts: parts of the stories that failed;
    saved_scan: the files with which `--append` goes on from here, none where the run was not asked to keep them.
    """

    files: Files
    ledger: Mapping[str, int]
    inputs: Sequence[Mapping[str, Any]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    limits_hit: Mapping[str, int] = field(default_factory=dict)
    tool_version: str | None = None
    stall_ms: int | None = None
    saved_scan: Sequence[str] = ()
    failed_parts: Sequence[FailedPart] = ()

    @property
    def capture_span(self) -> tuple[int, int] | None:
        """Times of the first and the last packet of all inputs, nanoseconds since the epoch; None without packets."""
        first = [entry["first_ns"] for entry in self.inputs if entry.get("first_ns") is not None]
        last = [entry["last_ns"] for entry in self.inputs if entry.get("last_ns") is not None]
        return (min(first), max(last)) if first and last else None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of all tables and of the saved scan, relative to the dataset."""
        return (*(file.path for listed in self.files.values() for file in listed), *self.saved_scan)

    def with_files(self, files: Files) -> "Manifest":
        """The same manifest with other files."""
        return replace(self, files=dict(sorted(files.items())))

    def to_json(self) -> str:
        """The manifest as the file holds it."""
        content = {
            "schema_version": SCHEMA_VERSION,
            "tool_version": self.tool_version,
            "options": dict(self.options),
            "inputs": list(self.inputs),
            "ledger": dict(self.ledger),
            "limits_hit": dict(self.limits_hit),
            "stall_ms": self.stall_ms,
            "failed_parts": [part.plain() for part in self.failed_parts],
            "saved_scan": list(self.saved_scan),
            "files": {name: [asdict(file) for file in listed] for name, listed in self.files.items()},
        }
        return json.dumps(content, indent=2) + "\n"


def written_files(dataset: Path, pattern: str = "*.parquet") -> Files:
    """The Parquet files that a writer has just put into a local folder, by table: `bucket=3/` and the file's name are
    no part of a table's name. pattern: of the files' names. Reads the row counts from the files' footers.
    """
    import pyarrow.parquet as pq

    by_table: dict[str, list[DatasetFile]] = {}
    for path in sorted(dataset.rglob(pattern)):
        relative = path.relative_to(dataset)
        table = "/".join(part for part in relative.parts[:-1] if "=" not in part)
        rows = pq.read_metadata(path).num_rows
        by_table.setdefault(table, []).append(DatasetFile(relative.as_posix(), rows, path.stat().st_size))
    return {name: tuple(files) for name, files in sorted(by_table.items())}


def joined_files(parts: Iterable[Files]) -> Files:
    """The files of each table of all parts, in the order of their paths."""
    joined: dict[str, dict[str, DatasetFile]] = {}
    for files in parts:
        for table, listed in files.items():
            joined.setdefault(table, {}).update({file.path: file for file in listed})
    return {table: tuple(file for _, file in sorted(listed.items())) for table, listed in sorted(joined.items())}


def parse_manifest(content: Any, dataset: str) -> Manifest:
    """The manifest that a JSON value holds. Raises UsageError: of no or another version, or damaged."""
    if not isinstance(content, dict) or not isinstance(content.get("schema_version"), int):
        raise UsageError(f"{dataset} is not a kafkascope dataset: its {MANIFEST} names no schema_version")
    if content["schema_version"] < SCHEMA_VERSION:
        raise UsageError(f"{dataset} was made by an older kafkascope: run kafkascope ingest again")
    if content["schema_version"] > SCHEMA_VERSION:
        raise UsageError(f"{dataset} was made by a newer kafkascope: update this one, or run kafkascope ingest again")
    kinds = {"files": dict, "ledger": dict, "inputs": list, "options": dict, "limits_hit": dict}
    for name, kind in kinds.items():
        if not isinstance(content.get(name), kind):
            raise UsageError(f"{dataset}/{MANIFEST} is damaged: it has no {name}")
    return Manifest(
        {str(table): _files(table, listed, dataset) for table, listed in sorted(content["files"].items())},
        content["ledger"],
        content["inputs"],
        content["options"],
        content["limits_hit"],
        content.get("tool_version"),
        content.get("stall_ms"),
        _saved_scan(content.get("saved_scan", []), dataset),
        _failed_parts(content.get("failed_parts", []), dataset),
    )


def _failed_parts(listed: Any, dataset: str) -> tuple[FailedPart, ...]:
    """The parts of the stories that failed. Raises UsageError where an entry is not one."""
    try:
        return tuple(part_from(part) for part in listed)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise UsageError(f"{dataset}/{MANIFEST} is damaged: its failed_parts are none") from error


def _saved_scan(listed: Any, dataset: str) -> tuple[str, ...]:
    """The files of the saved scan. Raises UsageError where an entry names a file elsewhere."""
    paths = tuple(map(str, listed)) if isinstance(listed, list) else ("",)
    for path in paths:
        if ".." in PurePosixPath(path).parts or not path.startswith(f"{SAVED_SCAN_FOLDER}/"):
            raise UsageError(f"{dataset}/{MANIFEST} is damaged: {path} is no file of {SAVED_SCAN_FOLDER}")
    return paths


def _files(table: str, listed: Any, dataset: str) -> tuple[DatasetFile, ...]:
    """The files of one table. Raises UsageError where an entry is not one, or names a file outside its table."""
    try:
        files = tuple(DatasetFile(str(file["path"]), int(file["rows"]), int(file["bytes"])) for file in listed)
    except (TypeError, KeyError, ValueError) as error:
        raise UsageError(f"{dataset}/{MANIFEST} is damaged: it does not list the files of {table}") from error
    for file in files:
        if ".." in PurePosixPath(file.path).parts or not file.path.startswith(f"{table}/"):
            raise UsageError(f"{dataset}/{MANIFEST} is damaged: {file.path} is no file of {table}")
    return files
