"""`transactions`: rows of the table of that name."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.contract import TIMESTAMP
from kafkascope_analyzer.dataset.stories import TRANSACTIONS
from kafkascope_spark.read import MOST_LOOKED_THROUGH, spark_schema
from kafkascope_spark.tables import Tables
from kafkascope_spark.transactions.events import transaction_events, unseen_events
from kafkascope_spark.transactions.machine import Transactions
from kafkascope_spark.transactions.shown import shows_held_back, shows_transactions

BATCH_ROWS = 4_096
SCHEMA = pa.schema([field for field in TRANSACTIONS.schema if not field.type.equals(TIMESTAMP)])
"""The table without its `*_ts` columns."""


def transactions(tables: Tables) -> DataFrame:
    """The rows of the table transactions, without its `*_ts` columns. Lazy."""
    if tables.n_requests > MOST_LOOKED_THROUGH or shows_transactions(tables.dataset):
        events = transaction_events(tables)
    elif shows_held_back(tables.dataset):
        events = unseen_events(tables)
    else:
        return tables.empty(TRANSACTIONS)
    return events.mapInArrow(teller(tables.capture_ns), spark_schema(SCHEMA))


def teller(capture_ns: tuple[int, int]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run over each partition."""

    def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        machine = Transactions(capture_ns)
        for batch in batches:
            rows = list(machine.feed(batch.to_pylist()))
            for at in range(0, len(rows), BATCH_ROWS):
                yield pa.RecordBatch.from_pylist(rows[at : at + BATCH_ROWS], SCHEMA)
        yield pa.RecordBatch.from_pylist(list(machine.finish()), SCHEMA)

    return tell
