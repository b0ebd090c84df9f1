"""`_dataset.json`: what a dataset is, and which files its tables consist of. It is written last; a folder without it
is not a dataset.

`files` names every table of the dataset, the messages and the stories too, with its files relative to the dataset, the
rows and the bytes of each. A table without rows may have no file.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kafkascope_analyzer.dataset.contract import SCHEMA_VERSION
from kafkascope_analyzer.dataset.dataset_uri import MANIFEST as MANIFEST
from kafkascope_analyzer.dataset.failed_parts import FailedPart
from kafkascope_analyzer.dataset.parquet_files import DatasetFile as DatasetFile
from kafkascope_analyzer.dataset.parquet_files import written_file
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered

REPORT_FILE = "report.json"
"""The report, beside the tables: a rendering of them, which the manifest does not list."""
VIEWS_FILE = "views.sql"
"""The tables and views for DuckDB, beside the tables as well."""
STORIES = "stories"
MESSAGES = "messages"
SAVED_SCAN_FOLDER = "saved_scan"
SAVED_READS_FOLDER = f"{STORIES}/_reads"
CHECKSUM = "crc32"
"""The key of the manifest's own checksum."""


Files = Mapping[str, tuple[DatasetFile, ...]]
"""Table -> its files, in order."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a dataset.

    options: of the ingest run; inputs: one entry a capture file; ledger: the byte ledger over all TCP directions;
    limits_hit: how much was left out at each limit that was hit (dataset.limits_hit); stall_ms: from which length on a
    wait is a stall in the stories, None where there are none; saved_scan: the files with which `--append` goes on from
    here, with the checksum (CRC-32) of each, none where the run was not asked to keep them; failed_parts: parts of the
    stories that failed; uncovered: the times between the inputs that none of them covers; saved_reads: the files
    that say what the stories found in files that a later run may keep.
    """

    files: Files
    ledger: Mapping[str, int]
    inputs: Sequence[Mapping[str, Any]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    limits_hit: Mapping[str, int] = field(default_factory=dict)
    tool_version: str | None = None
    stall_ms: int | None = None
    saved_scan: Mapping[str, int] = field(default_factory=dict)
    failed_parts: Sequence[FailedPart] = ()
    uncovered: Uncovered = NOTHING_UNCOVERED
    saved_reads: tuple[DatasetFile, ...] = ()

    @property
    def capture_span(self) -> tuple[int, int] | None:
        """Times of the first and the last packet of all inputs, nanoseconds since the epoch; None without packets."""
        first = [entry["first_ns"] for entry in self.inputs if entry.get("first_ns") is not None]
        last = [entry["last_ns"] for entry in self.inputs if entry.get("last_ns") is not None]
        return (min(first), max(last)) if first and last else None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of all tables and of what is saved for the next run, relative to the dataset."""
        listed = (*self.files.values(), self.saved_reads)
        return (*(file.path for files in listed for file in files), *self.saved_scan)

    def with_files(self, files: Files) -> "Manifest":
        """The same manifest with other files."""
        return replace(self, files=dict(sorted(files.items())))

    @property
    def checksum(self) -> str:
        """The checksum that the file names: two manifests that say the same have the same."""
        return checksum_of(self._content())

    def to_json(self) -> str:
        """The manifest as the file holds it."""
        content = self._content()
        return json.dumps({**content, CHECKSUM: checksum_of(content)}, indent=2) + "\n"

    def _content(self) -> dict[str, object]:
        return {
            "schema_version": SCHEMA_VERSION,
            "tool_version": self.tool_version,
            "options": dict(self.options),
            "inputs": list(self.inputs),
            "ledger": dict(self.ledger),
            "limits_hit": dict(self.limits_hit),
            "stall_ms": self.stall_ms,
            "failed_parts": [part.plain() for part in self.failed_parts],
            "saved_scan": dict(self.saved_scan),
            "uncovered": [list(time) for time in self.uncovered.times],
            "saved_reads": [file.plain() for file in self.saved_reads],
            "files": {name: [file.plain() for file in listed] for name, listed in self.files.items()},
        }


def written_files(dataset: Path, pattern: str = "*.parquet") -> Files:
    """The Parquet files that a writer has just put into a local folder, by table: `bucket=3/` and the file's name are
    no part of a table's name. pattern: of the files' names. Reads the row counts from the files' footers.
    """
    by_table: dict[str, list[DatasetFile]] = {}
    for path in sorted(dataset.rglob(pattern)):
        relative = path.relative_to(dataset)
        table = "/".join(part for part in relative.parts[:-1] if "=" not in part)
        by_table.setdefault(table, []).append(written_file(path, relative.as_posix()))
    return {name: tuple(files) for name, files in sorted(by_table.items())}


def joined_files(parts: Iterable[Files]) -> Files:
    """The files of each table of all parts, in the order of their paths."""
    joined: dict[str, dict[str, DatasetFile]] = {}
    for files in parts:
        for table, listed in files.items():
            joined.setdefault(table, {}).update({file.path: file for file in listed})
    return {table: tuple(file for _, file in sorted(listed.items())) for table, listed in sorted(joined.items())}


def checksum_of(content: Mapping[str, object]) -> str:
    """The checksum of a manifest's JSON, without the one that it names; white space and the order of keys do not
    count."""
    rest = {name: value for name, value in content.items() if name != CHECKSUM}
    return f"{zlib.crc32(json.dumps(rest, sort_keys=True).encode()):08x}"
