"""Joins the small files of a dataset's tables. Its rows, and the order of the rows of each bucket, stay as they are.

Each append and each Spark task adds files; readers open every one of them, and a store takes some ten milliseconds for
each. A file of SMALL_BYTES or more is left as it is. Files are joined row group by row group, so memory does not grow
with the table.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import STORIES, DatasetFile, Files
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.parquet_files import open_parquet
from kafkascope_analyzer.dataset.table_place import TablePlace, without_day
from kafkascope_analyzer.dataset.writer import TableWriter

SMALL_BYTES = 64 << 20
_SERIES = re.compile(r"(.*/part-(?:open-)?\d+)-[^/]*")
"""Pattern for a file of a table that ingest writes: its folder, whether later captures may replace it, and its series
of files."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Files that are joined to one. path: path of the new file, without the part of its name that differs
    between runs."""

    table: str
    path: str
    files: tuple[DatasetFile, ...]


def files_to_join(files: Files) -> list[Joined]:
    """Returns the groups of two or more small files that may be joined: files of one bucket and series, or of one table
    of stories."""
    groups: dict[tuple[str, str], list[DatasetFile]] = defaultdict(list)
    for table, listed in files.items():
        for file in listed:
            if file.bytes < SMALL_BYTES and (path := _joined_path(table, file.path)):
                groups[table, path].append(file)
    return [Joined(table, path, tuple(own)) for (table, path), own in sorted(groups.items()) if len(own) > 1]


def _joined_path(table: str, path: str) -> str | None:
    if table.startswith(f"{STORIES}/"):
        return f"{table}/part-00000-000"
    match = _SERIES.fullmatch(path)
    return match and match[1]


def compact(dataset: Dataset, new: NewDataset, groups: Sequence[Joined]) -> Dataset:
    """Writes the joined files of a dataset to its place. Returns the dataset with them; it is not committed. Raises
    UsageError, DamagedDatasetError."""
    for group in groups:
        _join(dataset, _place_of(group, new), group.files)
    gone = {file.path for group in groups for file in group.files}
    kept = {
        table: tuple(file for file in listed if file.path not in gone)
        for table, listed in dataset.manifest.files.items()
    }
    return new.put_tables(dataset.manifest, kept)


def _place_of(group: Joined, new: NewDataset) -> TablePlace:
    part = without_day(group.path).removeprefix(f"{group.table}/")
    return TablePlace(new.folder / group.table, f"{part}{new.file_suffix}", not group.table.startswith(f"{STORIES}/"))


def _join(dataset: Dataset, place: TablePlace, files: Sequence[DatasetFile]) -> None:
    made_of = dict.fromkeys(key for file in files for key in file.made_of)
    writer: TableWriter | None = None
    for file in files:
        with open_parquet(dataset.storage, file) as parquet:
            writer = writer or TableWriter(place, parquet.schema_arrow, made_of=list(made_of))
            for number in range(parquet.num_row_groups):
                writer.write(parquet.read_row_group(number))
    if writer is not None:
        writer.close()
