"""`table_batches`: the one place where this package opens files of a dataset."""

import pathlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories import STORY_TABLES
from kafkascope_spark.findings.read import Messages

_STORIES = frozenset(table.name for table in STORY_TABLES)


def table_batches(dataset: pathlib.Path, source: Table | Messages, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These columns of the table or messages, batch by batch; nothing where the dataset lacks the table. A column of
    the contract that the dataset lacks is null."""
    if isinstance(source, Messages):
        place, schema = dataset / "messages" / source.name, None
    else:
        place = dataset / "stories" / source.name if source.name in _STORIES else dataset / source.name
        schema = pa.schema([source.column(name).field.with_nullable(True) for name in columns])
    if place.is_dir() and next(place.rglob("*.parquet"), None) is not None:
        yield from ds.dataset(place, schema=schema, format="parquet").to_batches(columns=list(columns))
