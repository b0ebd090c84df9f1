"""`rebalances`: rows of the table of that name."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.stories import REBALANCES
from kafkascope_spark.read import spark_schema
from kafkascope_spark.rebalances.events import group_events
from kafkascope_spark.rebalances.group_stories import GroupStories
from kafkascope_spark.rebalances.lag import with_lag
from kafkascope_spark.rebalances.wire import Row
from kafkascope_spark.tables import Tables

BATCH_ROWS = 256
"""Rows given out at once: one has all members of a group and their partitions."""
ADDED = ("lag_records", "n_lag_partitions")
TOLD = pa.schema([f for f in REBALANCES.schema if f.name not in ADDED and not pa.types.is_timestamp(f.type)])
"""What the state machines give: the table without its `*_ts` columns, and without what lag.with_lag adds."""


def rebalances(tables: Tables) -> DataFrame:
    """The rows of the table rebalances, without its `*_ts` columns. Lazy."""
    return with_lag(group_events(tables).mapInArrow(teller(tables.capture_ns), spark_schema(TOLD)), tables)


def teller(capture_ns: tuple[int, int]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run over each partition."""

    def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stories = GroupStories(capture_ns)
        rows: list[Row] = []
        for batch in batches:
            for row in stories.feed(batch.to_pylist()):
                rows.append(row)
                if len(rows) == BATCH_ROWS:
                    yield pa.RecordBatch.from_pylist(rows, TOLD)
                    rows = []
        rows += stories.finish()
        if rows:
            yield pa.RecordBatch.from_pylist(rows, TOLD)

    return tell
