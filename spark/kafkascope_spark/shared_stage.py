"""The second stage of the story job: what several clients share, one group, transactional id or cause after the other.

It writes the tables rebalances, transactions and recoveries, and gives the files that both stages wrote.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.stories import REBALANCES, RECOVERIES, TRANSACTIONS
from kafkascope_spark.client_stage import GC_OBJECTS, RECOVERY, SHARED_KINDS, WRITTEN_FILE, Batches
from kafkascope_spark.groups.stories import GroupStories
from kafkascope_spark.recoveries.causes import Causes
from kafkascope_spark.story_writer import FILE, StoryRun, StoryWriter
from kafkascope_spark.transactions.machine import Transactions

Row = dict[str, Any]
FILES = pa.schema(list(FILE))
_WRITTEN = (REBALANCES, TRANSACTIONS, RECOVERIES)


def shared_stage(run: StoryRun) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run over each partition of the first stage's rows, sorted; it gives FILES."""

    def tell_shared(batches: Batches) -> Iterator[pa.RecordBatch]:
        gc.set_threshold(GC_OBJECTS, 50, 50)
        machines = SharedMachines(run)
        for batch in batches:
            machines.feed(batch)
        files = machines.finish()
        if files:
            yield pa.RecordBatch.from_pylist(files, FILES)
        pa.default_memory_pool().release_unused()

    return tell_shared


class SharedMachines:
    """The machines of one task: rows of the first stage in, files out."""

    def __init__(self, run: StoryRun) -> None:
        self._writer = StoryWriter(run, _WRITTEN)
        self._groups = GroupStories(run.capture_ns)
        self._transactions = Transactions(run.capture_ns)
        self._causes = Causes()
        self._files: list[Row] = []

    def feed(self, batch: pa.RecordBatch) -> None:
        """Take a batch of rows (client_stage.SHARED), sorted by SHARED_ORDER."""
        for key_kind, rows in groupby(rows_of(batch), key=itemgetter("key_kind")):
            self._feeders[key_kind](self, rows)

    def finish(self) -> list[Row]:
        """End the last group and transactional id. Returns the files that were written, here and in the first stage."""
        self._write(REBALANCES.name, self._groups.finish())
        self._write(TRANSACTIONS.name, self._transactions.finish())
        return self._files + self._writer.close()

    def _feed_groups(self, rows: Iterable[Row]) -> None:
        self._write(REBALANCES.name, self._groups.feed(rows))

    def _feed_transactions(self, rows: Iterable[Row]) -> None:
        self._write(TRANSACTIONS.name, self._transactions.feed(rows))

    def _feed_recoveries(self, rows: Iterable[Row]) -> None:
        for row in rows:
            recovery = row[RECOVERY]
            self._writer.take(RECOVERIES.name, recovery | {"cause_id": self._causes.cause_of(recovery)})

    def _feed_files(self, rows: Iterable[Row]) -> None:
        self._files += [row[WRITTEN_FILE] for row in rows]

    def _write(self, name: str, rows: Iterable[Row]) -> None:
        for row in rows:
            self._writer.take(name, row)

    _feeders: dict[str, Callable[["SharedMachines", Iterable[Row]], None]] = {
        "group": _feed_groups,
        "transaction": _feed_transactions,
        RECOVERY: _feed_recoveries,
        WRITTEN_FILE: _feed_files,
    }


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """Rows of client_stage.SHARED as dicts, with the struct of the row's kind under the name of the kind."""
    keys = [name for name in batch.schema.names if name not in SHARED_KINDS]
    structs = {kind: iter(batch.column(kind).flatten().to_pylist()) for kind in SHARED_KINDS}
    for row in batch.select(keys).to_pylist():
        kind = row["kind"]
        row[kind] = next(structs[kind])
        yield row
