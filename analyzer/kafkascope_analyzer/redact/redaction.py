"""Makes a redacted dataset: all tables except the stories, which contain sentences with names, and are made again from
the redacted tables. So a report can contain no name that the tables do not contain.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from kafkascope_analyzer.dataset import tables
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import STORIES, DatasetFile, Manifest
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.parquet_files import open_parquet
from kafkascope_analyzer.dataset.table_place import TablePlace, without_day
from kafkascope_analyzer.dataset.writer import TableWriter
from kafkascope_analyzer.redact.columns import RedactedColumns
from kafkascope_analyzer.redact.kept_texts import kept_words
from kafkascope_analyzer.redact.pseudonyms import Pseudonyms

_SERIES = re.compile(r"(.*/part-(?:open-)?\d+)-.*")
"""Pattern for a file of a table that ingest writes, without the numbers that distinguish files of one series."""
_NAME_COLUMNS = {
    "connections": ("advertised_host", "tls_sni", "principal"),
    "dns": ("name",),
    "errors": ("topic",),
    "partitions": ("topic",),
    "record_batches": ("topic",),
    "requests": ("client_id", "group_id", "transactional_id"),
    "topology": ("host", "topic"),
}
"""Columns whose names are collected first: topics, and names that may occur as a word in a sentence."""


def declared_tables() -> dict[str, Table]:
    """Returns the tables of a dataset, by name."""
    return {value.name: value for value in vars(tables).values() if isinstance(value, Table)}


def pseudonyms_for(dataset: Dataset, key: bytes) -> Pseudonyms:
    """Returns the pseudonyms of a dataset's names. Raises UsageError, DamagedDatasetError."""
    names: dict[str, set[str]] = defaultdict(set)
    for table, columns in _NAME_COLUMNS.items():
        if dataset.has(table):
            for batch in dataset.batches(table, list(columns)):
                for column in columns:
                    names[column].update(text for text in batch[column].unique().to_pylist() if text)
    known = set().union(*names.values())
    found = Pseudonyms(key, names["topic"], kept_words(iter(declared_tables().values())) - known)
    for name in sorted(known):
        found.of(name)
    return found


def redact(dataset: Dataset, new: NewDataset, pseudonyms: Pseudonyms) -> Dataset:
    """Writes the redacted tables of a dataset to a new one, which has no stories; it is not committed. Raises
    UsageError, DamagedDatasetError."""
    declared = declared_tables()
    for name, files in dataset.manifest.files.items():
        if not name.startswith(f"{STORIES}/"):
            columns = RedactedColumns(
                name, pseudonyms, _closed(declared.get(name)), is_event=name == tables.EVENTS.name
            )
            for part, own in _series(files):
                _write(dataset, TablePlace(new.folder / name, _part(name, part, new)), own, columns)
    return new.put_tables(_manifest(dataset.manifest, pseudonyms))


def _closed(table: Table | None) -> frozenset[str]:
    """Returns the columns whose values are enumerated."""
    return frozenset(column.name for column in table.columns if column.values) if table is not None else frozenset()


def _series(files: tuple[DatasetFile, ...]) -> Iterator[tuple[str, list[DatasetFile]]]:
    """Yields the files of each series, which are joined: they are written by day."""
    found: dict[str, list[DatasetFile]] = defaultdict(list)
    for file in files:
        match = _SERIES.fullmatch(file.path)
        found[without_day(match[1] if match else file.path.removesuffix(".parquet"))].append(file)
    yield from sorted(found.items())


def _part(table: str, path: str, new: NewDataset) -> str:
    return f"{path.removeprefix(f'{table}/')}{new.file_suffix}"


def _write(dataset: Dataset, place: TablePlace, files: list[DatasetFile], columns: RedactedColumns) -> None:
    writer: TableWriter | None = None
    for file in files:
        with open_parquet(dataset.storage, file) as parquet:
            writer = writer or TableWriter(place, parquet.schema_arrow)
            for number in range(parquet.num_row_groups):
                writer.write(columns.rows(parquet.read_row_group(number)))
    if writer is not None:
        writer.close()


def _manifest(manifest: Manifest, pseudonyms: Pseudonyms) -> Manifest:
    """Returns the manifest without everything that identifies the capture: paths, checksums, the state of scans."""
    inputs = [{name: _value(name, value, pseudonyms) for name, value in entry.items()} for entry in manifest.inputs]
    return Manifest(
        {},
        manifest.ledger,
        inputs,
        {name: value for name, value in manifest.options.items() if isinstance(value, int | bool) or name == "records"},
        manifest.limits_hit,
        manifest.tool_version,
        uncovered=manifest.uncovered,
    )


def _value(name: str, value: Any, pseudonyms: Pseudonyms) -> Any:
    """Returns the redacted value of an entry of a capture file."""
    if name in ("cut_why", "format") or not isinstance(value, str | list | Mapping):
        return value
    if name.startswith("sha256"):
        return ""
    if isinstance(value, str):
        return pseudonyms.of(value)
    if isinstance(value, Mapping):
        return {key: _value(key, each, pseudonyms) for key, each in value.items()}
    return [_value(name, each, pseudonyms) for each in value]
