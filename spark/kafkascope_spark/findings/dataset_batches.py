"""`table_batches`: the one place where this package opens files of a dataset."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import MESSAGES, STORIES, Dataset
from kafkascope_analyzer.dataset.stories import STORY_TABLES
from kafkascope_spark.findings.read import Messages

_STORIES = frozenset(table.name for table in STORY_TABLES)


def table_batches(dataset: Dataset, source: Table | Messages, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These columns of the table or messages, batch by batch; nothing where the dataset lacks the table. A column of
    the contract that the dataset lacks is null."""
    if isinstance(source, Messages):
        return dataset.batches(f"{MESSAGES}/{source.name}", columns)
    folder = f"{STORIES}/" if source.name in _STORIES else ""
    return dataset.batches(f"{folder}{source.name}", columns)
