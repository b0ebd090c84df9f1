"""`_dataset.json`: what a dataset is, and which files its tables consist of. It is written last; a folder without it
is not a dataset.

`files` lists every table of the dataset, including messages and stories, with its files relative to the dataset, and
the rows and bytes of each. A table without rows may have no file.
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
COUNTS_FILE = "_report_counts.parquet"
"""Counts of the requests in files that a later run keeps, for the next report; beside the tables as well."""
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

    options: options of the ingest run; inputs: one entry per capture file; ledger: the byte ledger over all TCP
    directions; limits_hit: how much was left out at each limit that was reached (dataset.limits_hit); stall_ms: the
    shortest wait that is a stall in the stories, None where there are none; saved_scan: the files from which `--append`
    continues, with the checksum (CRC-32) of each, none where the run did not keep them; failed_parts: parts of the
    stories that failed; uncovered: the times between the inputs that none of them covers; saved_reads: the files with
    the results of the stories about files that a later run may keep.
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
        """The files of all tables and the files that are saved for the next run, relative to the dataset."""
        listed = (*self.files.values(), self.saved_reads)
        return (*(file.path for files in listed for file in files), *self.saved_scan)

    def with_files(self, files: Files) -> "Manifest":
        """Returns the same manifest with other files."""
        return replace(self, files=dict(sorted(files.items())))

    @property
    def checksum(self) -> str:
        """The checksum in the file. Two manifests with the same content have the same checksum."""
        return checksum_of(self._content())

    def to_json(self) -> str:
        """Returns the manifest as the text of the file."""
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
    """Returns the Parquet files that a writer has just put into a local folder, by table: `bucket=3/` and the file's
    name are not part of a table's name. pattern: of the files' names. Reads the row counts from the files' footers.
    """
    by_table: dict[str, list[DatasetFile]] = {}
    for path in sorted(dataset.rglob(pattern)):
        relative = path.relative_to(dataset)
        if relative.name == COUNTS_FILE:
            continue
        table = "/".join(part for part in relative.parts[:-1] if "=" not in part)
        by_table.setdefault(table, []).append(written_file(path, relative.as_posix()))
    return {name: tuple(files) for name, files in sorted(by_table.items())}


def joined_files(parts: Iterable[Files]) -> Files:
    """Returns the files of each table of all parts, in the order of their paths."""
    joined: dict[str, dict[str, DatasetFile]] = {}
    for files in parts:
        for table, listed in files.items():
            joined.setdefault(table, {}).update({file.path: file for file in listed})
    return {table: tuple(file for _, file in sorted(listed.items())) for table, listed in sorted(joined.items())}


def checksum_of(content: Mapping[str, object]) -> str:
    """Returns the checksum of a manifest's JSON, without the checksum that it contains; white space and the order of
    keys do not count."""
    rest = {name: value for name, value in content.items() if name != CHECKSUM}
    return f"{zlib.crc32(json.dumps(rest, sort_keys=True).encode()):08x}"
