"""How story tables get onto storage: the worker that makes a partition's rows writes them.

Of a client's start come some twenty rows, and of many clients more than anything else that the stories make: they pass
neither the JVM nor the driver. Each task writes files under names that no other task or attempt has, and reports them;
they are part of the dataset once the driver has listed them in the manifest (NewDataset.commit).
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import CLUSTER, TIMESTAMP, Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import StoryRow, batch_of_rows
from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS
from kafkascope_analyzer.dataset.story_files import story_file
from kafkascope_spark.exchange import NO_CLUSTER
from kafkascope_spark.stories.job import Surroundings
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.task_reports import TaskReport, of_failed, of_file

BATCH_ROWS = 4_096
HELD_BYTES = 96 << 20
"""What a task holds of rows that wait to be sorted; more go into another file."""


@dataclass(frozen=True, slots=True)
class StoryRun:
    """What every task of a run knows. capture_ns: first and last packet of the capture; run_id: unlike any other
    run's; stall_ms: from which length on a wait is a stall; has_several_clusters: whether the dataset has
    more than one; cluster: that of a run over one."""

    dataset: Dataset
    capture_ns: tuple[int, int]
    run_id: str
    stall_ms: int = DEFAULT_STALL_MS
    has_several_clusters: bool = False
    cluster: str = NO_CLUSTER

    @property
    def stall_limits(self) -> StallLimits:
        """What makes a wait a stall."""
        return StallLimits(self.capture_ns[1], self.stall_ms * 1_000_000, self.dataset.manifest.uncovered)

    def surroundings(self, failed_parts: FailedParts) -> Surroundings:
        """What its machines may know. failed_parts: those of the task."""
        return Surroundings(self.capture_ns, self.stall_limits, failed_parts)


class StoryWriter:
    """Writes rows of story tables: those of one task. held_bytes: what it holds before it writes."""

    def __init__(self, run: StoryRun, held_bytes: int = HELD_BYTES) -> None:
        self._run = run
        self._most_bytes = held_bytes
        self._part, self._attempt = _task()
        self._tables: dict[str, Table] = {}
        """The tables of which it has taken rows."""
        self._rows: dict[str, list[StoryRow]] = defaultdict(list)
        self._held: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        self._held_bytes = 0
        self._n_files = 0
        self._reports: list[TaskReport] = []
        self._cluster = NO_CLUSTER
        self.failed_parts = FailedParts()
        """What fails in the task."""

    def begin_cluster(self, cluster: str) -> None:
        """What is taken from now on is of this cluster."""
        self._to_columns()
        self._cluster = cluster

    def take(self, row: StoryRow) -> None:
        """Add a row of a table."""
        rows = self._rows[row.TABLE.name]
        rows.append(row)
        if len(rows) >= BATCH_ROWS:
            self._to_columns()

    def take_batch(self, table: Table, batch: pa.RecordBatch) -> None:
        """Add rows of a table that are columns already, with or without its `*_ts` columns."""
        self._hold(table, self._of_cluster(table, batch))

    def close(self) -> list[TaskReport]:
        """Write what is left. Returns what the task reports: all files that were written, and the parts that failed."""
        self._to_columns()
        self._write()
        return [*self._reports, *(of_failed(part) for part in self.failed_parts.taken())]

    def _to_columns(self) -> None:
        """Rows as columns need some tenth of the memory."""
        for rows in self._rows.values():
            if rows:
                self._hold_rows(rows[0].TABLE, rows)
                rows.clear()

    def _hold_rows(self, table: Table, rows: list[StoryRow]) -> None:
        """Holds rows as columns, without those that hold what a column cannot."""
        batch = FailedParts().value("", "", None, lambda: self._batch_of(table, rows))
        if batch is not None:
            self._hold(table, batch)
            return
        for row in rows:
            with self.failed_parts.part("row of table", table.name):
                self._hold(table, self._batch_of(table, [row]))

    def _batch_of(self, table: Table, rows: Sequence[StoryRow]) -> pa.RecordBatch:
        return self._of_cluster(table, batch_of_rows(type(rows[0]), rows))

    def _of_cluster(self, table: Table, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch in the table's schema."""
        salt = self._cluster if self._run.has_several_clusters else ""
        return in_schema(table, batch, self._cluster, salt)

    def _hold(self, table: Table, batch: pa.RecordBatch) -> None:
        self._tables[table.name] = table
        self._held[table.name].append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes >= self._most_bytes:
            self._write()

    def _write(self) -> None:
        for name, held in self._held.items():
            if held:
                order = [(column, "ascending") for column in (CLUSTER.name, *self._tables[name].sorted_by)]
                rows = pa.Table.from_batches(held).sort_by(order)
                held.clear()
                self._write_file(self._tables[name], rows)
        self._held_bytes = 0
        self._n_files += 1

    def _write_file(self, table: Table, rows: pa.Table) -> None:
        run_id = f"{self._run.run_id}-{self._attempt}"
        path = story_file(table.stored_as, run_id, self._part, self._n_files)
        file = self._run.dataset.write_file(path, rows.replace_schema_metadata(table.described_schema.metadata))
        self._reports.append(of_file(table, file))


def in_schema(table: Table, batch: pa.RecordBatch, cluster: str, salt: str = "") -> pa.RecordBatch:
    """The batch in the table's schema: each `*_ts` column is made from the `*_ns` column of its name. cluster: that of
    the rows; salt: what their ids hash beside what they hash already; nothing where it is empty."""
    columns = list(_columns(table, batch, cluster))
    if salt:
        columns = [
            _salted(column, salt) if field.name in table.salted else column
            for field, column in zip(table.schema, columns, strict=True)
        ]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _salted(ids: pa.Array, salt: str) -> pa.Array:
    """Ids of a story, as `incident-0123456789abcdef`, or lists of them, that hash the salt too."""
    if pa.types.is_list(ids.type):
        return pa.ListArray.from_arrays(ids.offsets, _salted(ids.values, salt), type=ids.type, mask=ids.is_null())
    coded = ids.dictionary_encode()
    anew = pa.array([_hashed(value, salt) for value in coded.dictionary.to_pylist()], ids.type)
    return anew.take(coded.indices)


def _hashed(value: str, salt: str) -> str:
    kind, _, _ = value.rpartition("-")
    return f"{kind}-{hashlib.sha256(f'{value}|{salt}'.encode()).hexdigest()[:16]}"


def _columns(table: Table, batch: pa.RecordBatch, cluster: str) -> Iterator[pa.Array]:
    for field in table.schema:
        if field.name == CLUSTER.name:
            yield pa.repeat(pa.scalar(cluster, field.type), batch.num_rows)
        elif field.type.equals(TIMESTAMP):
            source = "ts_ns" if field.name == "ts" else f"{field.name.removesuffix('_ts')}_ns"
            yield pc.divide(batch.column(source), 1000).cast(TIMESTAMP)
        else:
            yield batch.column(field.name).cast(field.type)


def _task() -> tuple[int, int]:
    """Partition and attempt of the Spark task; zeros outside of one."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return (task.partitionId(), task.taskAttemptId()) if task is not None else (0, 0)
