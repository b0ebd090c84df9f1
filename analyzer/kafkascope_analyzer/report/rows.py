"""Rows of tables, and of queries over them, as dataclasses: the fields are the columns that are read."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row, column_converters
from kafkascope_analyzer.dataset.table_rows import scan

if TYPE_CHECKING:
    from kafkascope_analyzer.sql.database import Database

R = TypeVar("R", bound=Row)
T = TypeVar("T")
K = TypeVar("K")


def read(dataset: Dataset, kind: type[R], only: ds.Expression | None = None) -> Iterator[R]:
    """The table's rows that `only` lets through; none where the dataset lacks the table. Raises UsageError."""
    converters = column_converters(kind)
    for batch in scan(dataset, kind.TABLE, list(converters), only):
        columns = (map(converters[name], batch.column(name).to_pylist()) for name in converters)
        yield from map(kind, *columns)


def select(database: "Database", query: str, kind: type[T]) -> list[T]:
    """The rows of a query, whose columns have the fields' names, in any order. Raises UsageError."""
    return list(select_each(database, query, kind))


def select_each(database: "Database", query: str, kind: type[T]) -> Iterator[T]:
    """The same, one row after the other. The next query on the database ends it."""
    converters = column_converters(kind)
    names, found = database.query(query)
    for row in found:
        yield kind(**{name: converters[name](value) for name, value in zip(names, row, strict=True)})


def column_names(kind: type[Any]) -> str:
    """The columns of the kind as a query names them."""
    return ", ".join(column_converters(kind))


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The rows by a key of theirs, in their order."""
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found
