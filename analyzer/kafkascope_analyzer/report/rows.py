"""Reads rows of tables, and of queries over them, as dataclasses: the fields are the columns that are read."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from kafkascope_analyzer.dataset.row_types import column_converters
from kafkascope_analyzer.dataset.table_rows import read

if TYPE_CHECKING:
    from kafkascope_analyzer.sql.database import Database

T = TypeVar("T")
K = TypeVar("K")

__all__ = ["answers", "column_names", "grouped", "read", "select", "select_each"]


def select(database: "Database", query: str, kind: type[T]) -> list[T]:
    """Returns the rows of a query, whose columns have the fields' names, in any order. Raises UsageError."""
    return list(select_each(database, query, kind))


def select_each(database: "Database", query: str, kind: type[T]) -> Iterator[T]:
    """Yields the rows of a query one by one. The next query on the database ends the iteration. Raises UsageError."""
    converters = column_converters(kind)
    names, found = database.query(query)
    for row in found:
        yield kind(**{name: converters[name](value) for name, value in zip(names, row, strict=True)})


def answers(database: "Database", name: str, kind: type[T]) -> list[T]:
    """Returns the rows that answer a saved question; none where the dataset lacks a table that it reads. Raises
    UsageError."""
    from kafkascope_analyzer.sql.saved import question

    asked = question(name)
    return select(database, asked.text, kind) if database.can_answer(asked) else []


def column_names(kind: type[Any]) -> str:
    """Returns the columns of the kind as a query names them."""
    return ", ".join(column_converters(kind))


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Returns the rows grouped by a key, each group in the order of the rows."""
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found
