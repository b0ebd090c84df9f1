"""The exchanges of the story job: rows are partitioned by a key, and sorted, for a Python function.

The first key is the cluster, because topics, groups, transactional ids and nodes of two clusters may have the same
names.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import CLUSTER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterable[pa.RecordBatch]
NO_CLUSTER = ""
"""Cluster of rows about the job itself, such as the files that it wrote; it sorts first."""
Stage = Callable[[Batches], Iterator[pa.RecordBatch]]
"""Function that a worker runs over a sorted partition. It yields rows of a schema."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange of rows. keys: rows with the same values of these columns go to the same task; if empty, all rows go
    to one task; order: columns by which the rows of each task are sorted. Raises ValueError if the cluster is not the
    first column."""

    keys: tuple[str, ...]
    order: tuple[str, ...]

    def __post_init__(self) -> None:
        """Checks that the cluster comes first."""
        for names in (self.keys, self.order):
            if names and names[0] != CLUSTER.name:
                raise ValueError(f"rows of two clusters would meet: {names}")

    def sorted(self, rows: "DataFrame") -> "DataFrame":
        """Returns the rows, partitioned and sorted. Lazy."""
        parts = rows.repartition(*self.keys) if self.keys else rows.repartition(1)
        return parts.sortWithinPartitions(*self.order)


def clusters(batches: Batches) -> Iterator[tuple[str, Batches]]:
    """Yields the batches of each cluster. All batches of one cluster must be read before those of the next. batches:
    sorted by the column `cluster`."""
    for cluster, pieces in groupby(_pieces(batches), key=itemgetter(0)):
        yield cluster, (piece for _, piece in pieces)


def _pieces(batches: Batches) -> Iterator[tuple[str, pa.RecordBatch]]:
    for batch in batches:
        runs = pc.run_end_encode(batch.column(CLUSTER.name), run_end_type=pa.int32())
        start = 0
        for cluster, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield cluster, batch.slice(start, end - start)
            start = end


def batch_of(schema: pa.Schema, cluster: str, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Makes a batch from rows of a cluster. schema: its first column is the cluster; rows: values of the other
    columns."""
    values = zip(*rows, strict=True) if rows else ((),) * (len(schema) - 1)
    columns = [pa.array(column, field.type) for field, column in zip(list(schema)[1:], values, strict=True)]
    return pa.RecordBatch.from_arrays([pa.array([cluster] * len(rows), pa.string()), *columns], schema=schema)
