"""Rows of tables, and of queries over them, as dataclasses: the fields are the columns that are read.

A field without a default is a column. Where a column is null, a field whose type has no None gets 0, "", False or ();
lists become tuples, structs in them dataclasses, and maps dicts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, cast, get_args, get_origin, get_type_hints

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import scan

if TYPE_CHECKING:
    from kafkascope_analyzer.sql.database import Database

Converter = Callable[[Any], Any]


class Row:
    """A row of the table TABLE, or some of its columns; to be a frozen dataclass."""

    __slots__ = ()
    TABLE: ClassVar[Table]


R = TypeVar("R", bound=Row)
T = TypeVar("T")
K = TypeVar("K")


def read(dataset: Dataset, kind: type[R], only: ds.Expression | None = None) -> Iterator[R]:
    """The table's rows that `only` lets through; none where the dataset lacks the table. Raises UsageError."""
    converters = _converters(kind)
    for batch in scan(dataset, kind.TABLE, list(converters), only):
        columns = (map(converters[name], batch.column(name).to_pylist()) for name in converters)
        yield from map(kind, *columns)


def select(database: "Database", query: str, kind: type[T]) -> list[T]:
    """The rows of a query, whose columns have the fields' names, in any order. Raises UsageError."""
    return list(select_each(database, query, kind))


def select_each(database: "Database", query: str, kind: type[T]) -> Iterator[T]:
    """The same, one row after the other. The next query on the database ends it."""
    converters = _converters(kind)
    names, found = database.query(query)
    for row in found:
        yield kind(**{name: converters[name](value) for name, value in zip(names, row, strict=True)})


def column_names(kind: type[Any]) -> str:
    """The columns of the kind as a query names them."""
    return ", ".join(_converters(kind))


_CONVERTERS: dict[Any, Mapping[str, Converter]] = {}


def _converters(kind: Any) -> Mapping[str, Converter]:
    """What makes the value of each field that is a column."""
    if kind not in _CONVERTERS:
        hints = get_type_hints(kind, include_extras=True)
        required = [f for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
        _CONVERTERS[kind] = {field.name: _converter(hints[field.name]) for field in required}
    return _CONVERTERS[kind]


def _converter(hint: Any) -> Converter:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    inner = [part for part in get_args(hint) if part is not NoneType]
    if NoneType in get_args(hint):
        convert = _converter(inner[0])
        return _same if convert in _SCALARS.values() else lambda value: None if value is None else convert(value)
    if get_origin(hint) is tuple:
        of_element = _converter(inner[0])
        return lambda value: tuple(map(of_element, value or ()))
    if get_origin(hint) is dict:
        return lambda value: dict(value or {})
    if is_dataclass(hint):
        parts, make = _converters(hint), cast("Callable[..., Any]", hint)
        return lambda value: make(**{name: part(value[name]) for name, part in parts.items()})
    return _SCALARS[hint]


def _same(value: Any) -> Any:
    return value


def _whole(value: Any) -> Any:
    return 0 if value is None else value


def _text(value: Any) -> Any:
    return "" if value is None else value


_SCALARS: dict[Any, Converter] = {int: _whole, float: _whole, str: _text, bool: bool}
"""What makes a value of a type that has no None."""


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The rows by a key of theirs, in their order."""
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found
