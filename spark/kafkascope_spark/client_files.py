"""How the tables of many clients get onto disk: the worker that tells a partition's rows writes them.

Of a client's start come some twenty rows, and of many clients more than anything else that the stories make: they
pass neither the JVM nor this process. A partition has files of its own by its number, so that a task that is tried
again replaces what it wrote; each file is sorted. Only recoveries, which are few, go on through Spark: their causes
need all of them in one order (recoveries.causes).
"""

import gc
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories import CLIENT_TABLES, RECOVERIES
from kafkascope_spark.batches import event_rows
from kafkascope_spark.client_stories import ClientStories, TableRow
from kafkascope_spark.storms.packs import in_order
from kafkascope_spark.story_files import SORTED_BY, times_of
from kafkascope_spark.wire import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BATCH_ROWS = 4_096
GC_OBJECTS = 200_000
"""The machine makes many objects and no cycles: looking for cycles after each 700 costs a third of its time."""
HELD_BYTES = 96 << 20
"""What a worker holds of rows that wait to be sorted; more go into another file."""
_WRITTEN = tuple(table for table in CLIENT_TABLES if table is not RECOVERIES)


def write_client_tables(
    events: "DataFrame", capture_ns: tuple[int, int], place: pathlib.Path, held_bytes: int = HELD_BYTES
) -> None:
    """Replace the tables CLIENT_TABLES in the folder by what the events (events.client_events) tell: a file or more a
    table and partition. The folder has to be where all workers see it."""
    from kafkascope_spark.read import spark_schema
    from kafkascope_spark.recoveries.causes import with_causes

    for table in _WRITTEN:
        shutil.rmtree(place / table.name, ignore_errors=True)
        (place / table.name).mkdir(parents=True)
    told = events.mapInArrow(writer(capture_ns, str(place.absolute()), held_bytes), spark_schema(RECOVERIES.schema))
    order = SORTED_BY[RECOVERIES.name]
    ordered = with_causes(told).sortWithinPartitions(*order)
    ordered.write.mode("overwrite").parquet(str((place / RECOVERIES.name).absolute()))
    for table in _WRITTEN:
        if next((place / table.name).glob("*.parquet"), None) is None:
            _write(table.schema.empty_table(), place / table.name / "part-00000.parquet")


def writer(
    capture_ns: tuple[int, int], place: str, held_bytes: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run over each partition: it writes the tables and gives the recoveries,
    without causes."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        gc.set_threshold(GC_OBJECTS, 50, 50)
        task = TaskContext.get()
        files = Files(pathlib.Path(place), task.partitionId() if task is not None else 0, held_bytes)
        stories = ClientStories(capture_ns)
        for batch in in_order(batches):
            files.take(stories.feed(event_rows(batch)))
            yield from files.recoveries(BATCH_ROWS)
        files.take(stories.finish())
        yield from files.recoveries(1)
        files.close()

    return write


class Files:
    """The rows of one partition on their way into its files."""

    def __init__(self, place: pathlib.Path, number: int, held_bytes: int) -> None:
        self._place = place
        self._number = number
        self._most_bytes = held_bytes
        self._rows: dict[str, list[Row]] = {table.name: [] for table in CLIENT_TABLES}
        self._held: dict[str, list[pa.RecordBatch]] = {table.name: [] for table in _WRITTEN}
        self._held_bytes = 0
        self._n_files = 0

    def take(self, told: Iterable[TableRow]) -> None:
        """Add rows; what is more than a worker is to hold is written."""
        for name, row in told:
            self._rows[name].append(row)
        for table in _WRITTEN:
            if len(self._rows[table.name]) >= BATCH_ROWS:
                self._settle(table)
        if self._held_bytes >= self._most_bytes:
            self._write()

    def recoveries(self, least: int) -> Iterator[pa.RecordBatch]:
        """The recoveries that wait, once there are so many."""
        rows = self._rows[RECOVERIES.name]
        if len(rows) >= least:
            for at in range(0, len(rows), BATCH_ROWS):
                yield batch_of(RECOVERIES, rows[at : at + BATCH_ROWS])
            rows.clear()

    def close(self) -> None:
        """Write what is left."""
        for table in _WRITTEN:
            self._settle(table)
        self._write()

    def _settle(self, table: Table) -> None:
        """Rows as columns: some tenth of the memory."""
        rows = self._rows[table.name]
        if rows:
            batch = batch_of(table, rows)
            self._held[table.name].append(batch)
            self._held_bytes += batch.nbytes
            rows.clear()

    def _write(self) -> None:
        for table in _WRITTEN:
            held = self._held[table.name]
            if held:
                rows = pa.Table.from_batches(held)
                held.clear()
                ordered = rows.sort_by([(c, "ascending") for c in SORTED_BY[table.name]])
                _write(ordered, self._place / table.name / f"part-{self._number:05d}-{self._n_files:03d}.parquet")
        self._held_bytes = 0
        self._n_files += 1


def batch_of(table: Table, rows: list[Row]) -> pa.RecordBatch:
    """The rows, as the machines tell them, as columns of the table; `*_ts` columns are made from their `*_ns`."""
    stamps = dict(times_of(table))
    columns = []
    for field in table.schema:
        if field.name in stamps:
            nanoseconds = stamps[field.name]
            values = [None if (ns := row[nanoseconds]) is None else ns // 1000 for row in rows]
        else:
            values = [row[field.name] for row in rows]
        columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _write(rows: pa.Table, path: pathlib.Path) -> None:
    """Under another name first: a task that is tried twice at a time leaves one whole file."""
    import pyarrow.parquet as pq

    making = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(rows, making, compression="zstd")
    making.replace(path)
