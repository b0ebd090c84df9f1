"""`table_batches`: the one place where this package opens files of a dataset."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MESSAGES, STORIES
from kafkascope_analyzer.dataset.stories import STORY_TABLES
from kafkascope_analyzer.dataset.tables.events import EVENTS
from kafkascope_spark.stories.findings.read import Events, Messages, Source

_STORIES = frozenset(table.name for table in STORY_TABLES)


def table_batches(dataset: Dataset, source: Source, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These columns of the table, messages or events, batch by batch; nothing where the dataset lacks the table. A
    column of the contract that the dataset lacks is null."""
    if isinstance(source, Events):
        fields = {name: pc.field(name) if name == "conn_id" else pc.field(source.kind, name) for name in columns}
        return dataset.batches(EVENTS.name, fields, pc.field("kind") == source.kind)
    if isinstance(source, Messages):
        return dataset.batches(f"{MESSAGES}/{source.name}", columns)
    folder = f"{STORIES}/" if source.name in _STORIES else ""
    return dataset.batches(f"{folder}{source.name}", columns)
