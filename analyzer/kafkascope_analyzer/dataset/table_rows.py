"""A dataset's tables, batch by batch, in the types that the contract declares.

A table that the dataset lacks has no rows; a column that its files lack is null. Batches come in file order, on one
thread, so that results are the same each time. Memory is a few batches, whatever the size of the table.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row, column_fields, rows_of_batch
from kafkascope_analyzer.dataset.tables import CAPTURES

R = TypeVar("R", bound=Row)


def has_table(dataset: Dataset, table: Table) -> bool:
    """Whether the dataset has the table."""
    return dataset.has(table.stored_as)


def scan(
    dataset: Dataset, table: Table, columns: list[str], only: ds.Expression | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields the table's batches with these columns, of the rows that match `only`. Raises UsageError, unreadable."""
    return dataset.batches(table, columns, only)


def read(dataset: Dataset, kind: type[R], only: ds.Expression | None = None) -> Iterator[R]:
    """Yields the rows of the kind's table that match `only`; none where the dataset lacks the table. Raises
    UsageError."""
    for batch in scan(dataset, kind.TABLE, list(column_fields(kind)), only):
        yield from rows_of_batch(kind, batch)


def rows(
    dataset: Dataset, table: Table, columns: list[str], only: ds.Expression | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the rows of a table that match `only` as dicts; for small results."""
    for batch in scan(dataset, table, columns, only):
        yield from batch.to_pylist()


def capture_span(dataset: Dataset) -> tuple[int, int]:
    """Returns the times of the first and last packet of all captures, nanoseconds since the epoch; (0, 0) without
    packets."""
    found = list(rows(dataset, CAPTURES, ["first_ns", "last_ns"]))
    begun = (row["first_ns"] for row in found if row["first_ns"] is not None)
    ended = (row["last_ns"] for row in found if row["last_ns"] is not None)
    return min(begun, default=0), max(ended, default=0)


def one_of(column: str, values: list[str]) -> ds.Expression:
    """Returns the filter: the text of column is one of values; it matches nothing where there are no values."""
    return ds.field(column).isin(pa.array(values, pa.string()))
