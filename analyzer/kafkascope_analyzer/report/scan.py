"""A dataset's tables on disk, batch by batch, in the types that the contract declares.

A table that is not there has no rows; a column that its files lack is null. Batches come in file order, on one thread,
so that what is built from them is the same each time. Memory is a few batches, whatever the size of the table.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.manifest import read_manifest
from kafkascope_analyzer.dataset.stories import STORY_TABLES
from kafkascope_parsers.errors import UsageError

BATCH_ROWS = 65_536
_AHEAD = {"batch_readahead": 1, "fragment_readahead": 1}
"""Arrow's default is to have 16 batches of 4 files in memory before they are asked for."""
_STORIES = frozenset(table.name for table in STORY_TABLES)


def load_manifest(dataset: Path) -> dict[str, Any]:
    """What `_dataset.json` says. Raises UsageError where there is none, or none of ours."""
    manifest = read_manifest(dataset)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("ledger"), dict):
        raise UsageError(f"{dataset} is not a kafkascope dataset: its manifest has no byte ledger")
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
        yield from source.to_batches(columns=columns, filter=only, batch_size=BATCH_ROWS, use_threads=False, **_AHEAD)
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{place}: cannot be read: {error}") from error


def rows(
    dataset: Path, table: Table, columns: list[str], only: ds.Expression | None = None
) -> Iterator[dict[str, Any]]:
    """The same rows as dicts: for tables and filters that let few through."""
    for batch in scan(dataset, table, columns, only):
        yield from batch.to_pylist()


def one_of(column: str, values: list[str]) -> ds.Expression:
    """The filter: the text of column is one of values; none is, where there are no values."""
    return ds.field(column).isin(pa.array(values, pa.string()))
