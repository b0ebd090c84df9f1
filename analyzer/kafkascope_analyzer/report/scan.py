"""A dataset's tables on disk, batch by batch, in the types that the contract declares.

A table that is not there has no rows; a column that its files lack is null. Batches come in file order, on one thread,
so that what is built from them is the same each time. Memory is a few batches, whatever the size of the table.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from kafkascope_parsers.errors import UsageError

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories import STORY_TABLES

MANIFEST = "_dataset.json"
BATCH_ROWS = 65_536
_STORIES = frozenset(table.name for table in STORY_TABLES)


def is_dataset(place: Path) -> bool:
    """Whether the directory is a whole kafkascope dataset: its manifest is written last."""
    return (place / MANIFEST).is_file()


def load_manifest(dataset: Path) -> dict[str, Any]:
    """What `_dataset.json` says. Raises UsageError where there is none or it is not ours."""
    if not is_dataset(dataset):
        raise UsageError(f"{dataset}: not a kafkascope dataset (no {MANIFEST} in it)")
    try:
        manifest = json.loads((dataset / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{dataset / MANIFEST}: cannot be read: {error}") from error
    if not isinstance(manifest, dict) or "ledger" not in manifest:
        raise UsageError(f"{dataset / MANIFEST}: not a manifest of kafkascope")
    return manifest


def place_of(dataset: Path, table: Table) -> Path:
    """The directory of a table."""
    return dataset / "stories" / table.name if table.name in _STORIES else dataset / table.name


def has_table(dataset: Path, table: Table) -> bool:
    """Whether the table's directory is there."""
    return place_of(dataset, table).is_dir()


def scan(
    dataset: Path, table: Table, columns: list[str], only: ds.Expression | None = None
) -> Iterator[pa.RecordBatch]:
    """The table's batches with these columns, of the rows that `only` lets through. Raises UsageError, unreadable."""
    place = place_of(dataset, table)
    if not place.is_dir():
        return
    try:
        source = ds.dataset(place, schema=table.schema, format="parquet", exclude_invalid_files=False)
        yield from source.to_batches(columns=columns, filter=only, batch_size=BATCH_ROWS, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"{place}: cannot be read: {error}") from error


def rows(
    dataset: Path, table: Table, columns: list[str], only: ds.Expression | None = None
) -> Iterator[dict[str, Any]]:
    """The same rows as dicts: for tables and filters that let few through."""
    for batch in scan(dataset, table, columns, only):
        yield from batch.to_pylist()


def one_of(column: str, values: list[Any]) -> ds.Expression:
    """The filter: column is one of values."""
    return ds.field(column).isin(values)
