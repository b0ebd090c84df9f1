"""Writes story tables: the worker that makes the rows of a partition also writes them.

The start of a client makes about twenty rows, and with many clients these are most rows of the stories, so rows pass
neither the JVM nor the driver. Each task writes files with names that no other task or attempt uses, and reports them;
they are part of the dataset when the driver has listed them in the manifest (NewDataset.commit).
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
"""Largest size of rows that a task holds to sort them; further rows go into another file."""


@dataclass(frozen=True, slots=True)
class StoryRun:
    """Facts about a run for all its tasks. capture_ns: first and last packet of the capture; run_id: unique id of the
    run; stall_ms: shortest wait that counts as a stall; has_several_clusters: whether the dataset has several clusters;
    cluster: the cluster of a run over one."""

    dataset: Dataset
    capture_ns: tuple[int, int]
    run_id: str
    stall_ms: int = DEFAULT_STALL_MS
    has_several_clusters: bool = False
    cluster: str = NO_CLUSTER

    @property
    def stall_limits(self) -> StallLimits:
        """Limits from which on a wait is a stall."""
        return StallLimits(self.capture_ns[1], self.stall_ms * 1_000_000, self.dataset.manifest.uncovered)

    def surroundings(self, failed_parts: FailedParts) -> Surroundings:
        """Returns the facts that the machines need. failed_parts: failed parts of the task."""
        return Surroundings(self.capture_ns, self.stall_limits, failed_parts)


class StoryWriter:
    """Writes rows of story tables of one task. held_bytes: size of rows that it holds before it writes."""

    def __init__(self, run: StoryRun, held_bytes: int = HELD_BYTES) -> None:
        self._run = run
        self._most_bytes = held_bytes
        self._part, self._attempt = _task()
        self._tables: dict[str, Table] = {}
        """Tables of which it has taken rows."""
        self._rows: dict[str, list[StoryRow]] = defaultdict(list)
        self._held: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        self._held_bytes = 0
        self._n_files = 0
        self._reports: list[TaskReport] = []
        self._cluster = NO_CLUSTER
        self.failed_parts = FailedParts()
        """Failed parts of the task."""

    def begin_cluster(self, cluster: str) -> None:
        """Sets the cluster of the rows that follow."""
        self._to_columns()
        self._cluster = cluster

    def take(self, row: StoryRow) -> None:
        """Adds a row of a table."""
        rows = self._rows[row.TABLE.name]
        rows.append(row)
        if len(rows) >= BATCH_ROWS:
            self._to_columns()

    def take_batch(self, table: Table, batch: pa.RecordBatch) -> None:
        """Adds a batch of rows of a table, with or without its `*_ts` columns."""
        self._hold(table, self._of_cluster(table, batch))

    def close(self) -> list[TaskReport]:
        """Writes the remaining rows. Returns the reports of the task: all written files and the failed parts."""
        self._to_columns()
        self._write()
        return [*self._reports, *(of_failed(part) for part in self.failed_parts.taken())]

    def _to_columns(self) -> None:
        """Converts the held rows to columns, which need about a tenth of the memory."""
        for rows in self._rows.values():
            if rows:
                self._hold_rows(rows[0].TABLE, rows)
                rows.clear()

    def _hold_rows(self, table: Table, rows: list[StoryRow]) -> None:
        """Holds rows as columns; rows with values that do not fit a column are dropped as failed parts."""
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
        """Returns the batch in the table's schema."""
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
    """Returns the batch in the table's schema. Each `*_ts` column is made from the `*_ns` column of the same name.
    cluster: cluster of the rows; salt: text that is hashed into their ids; ids stay unchanged if it is empty."""
    columns = list(_columns(table, batch, cluster))
    if salt:
        columns = [
            _salted(column, salt) if field.name in table.salted else column
            for field, column in zip(table.schema, columns, strict=True)
        ]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _salted(ids: pa.Array, salt: str) -> pa.Array:
    """Returns ids of a story, such as `incident-0123456789abcdef`, or lists of them, with the salt hashed in."""
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
    """Returns partition and attempt of the Spark task; zeros outside of a task."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return (task.partitionId(), task.taskAttemptId()) if task is not None else (0, 0)
