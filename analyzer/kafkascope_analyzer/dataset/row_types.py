"""Rows of tables as dataclasses.

A `Row` has the columns of a table that a reader needs. A `StoryRow` has all of them, and is the only declaration of its
table: the Arrow schema, the reference page, and the rows of state machines, writers and reports come from its fields.

A field without a default is a column; one with a default is a value that the row has only in memory, or that a reader
adds. The type of the field is that of the column: str, bool, int (int64, unless the annotation says I32, I16 or I8),
tuple[T, ...] for a list, a dataclass for a struct, a Literal for a text of a closed list, `| None` where it may be
null. The annotation of a StoryRow's field has the description of its column, `Annotated[int | None, I32, "node that
failed"]`, and where a closed list is no Literal, the tuple of its values. TIME makes a column of nanoseconds since the
epoch with a timestamp beside it (`start_ts` of `start_ns`), NS one without. A table as an annotation, `Annotated[int |
None, REQUESTS]`, makes a column as that table's of the same name.

A StoryRow is a dataclass with slots, and `frozen=True` only where few are made: creating a frozen row takes half as
long again.
"""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import CLUSTER, Column, Table, time
from kafkascope_analyzer.dataset.manifest import STORIES

Converter = Callable[[Any], Any]
"""Function that makes the value of a field from that of a column."""
I32, I16, I8 = pa.int32(), pa.int16(), pa.int8()


class Moment(enum.Enum):
    """Marks a column of nanoseconds since the epoch: by itself, or with a timestamp beside it."""

    NS = "ns"
    TIME = "time"


NS, TIME = Moment


class Row:
    """A row of the table TABLE, with some of its columns; subclasses are dataclasses."""

    __slots__ = ()
    TABLE: ClassVar[Table]


class StoryRow(Row):
    """A row of a story table with all of its columns: see `declares`."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Reduces the row for pickle to its class and values. A dataclass with slots would be pickled with
        field names."""
        return type(self), values_of(self)


S = TypeVar("S", bound=StoryRow)
T = TypeVar("T")


def declares(
    name: str, row: str, *, sorted_by: tuple[str, ...], salted: tuple[str, ...] = ()
) -> Callable[[type[S]], type[S]]:
    """Returns a decorator that sets TABLE of a dataclass. name: name of the table; row: description of one row;
    sorted_by, salted: see Table. Raises TypeError for a field whose type no column has, or that has no description, and
    ValueError for a name in sorted_by or salted that no field has."""

    def declare(kind: type[S]) -> type[S]:
        unknown = {*sorted_by, *salted}.difference(column_fields(kind))
        if unknown:
            raise ValueError(f"{kind.__name__} has no fields {sorted(unknown)}")
        kind.TABLE = Table(name, row, (CLUSTER, *_declared(kind)), STORIES, sorted_by, salted)
        return kind

    return declare


def values_of(row: Any) -> tuple[Any, ...]:
    """Returns the values of all fields of a dataclass, in their order."""
    return tuple(getattr(row, name) for name in row.__match_args__)


def column_fields(kind: Any) -> tuple[str, ...]:
    """Returns the names of the fields of a dataclass that are columns."""
    return tuple(f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)


def column_converters(kind: Any) -> Mapping[str, Converter]:
    """Returns the converter for each field that is a column. Where a column is null, a field whose type has no None
    gets 0, "", b"", False, () or an object whose columns are null; lists become tuples, structs in them dataclasses,
    and maps dicts."""
    if kind not in _CONVERTERS:
        hints = get_type_hints(kind, include_extras=True)
        _CONVERTERS[kind] = {name: _converter(hints[name]) for name in column_fields(kind)}
    return _CONVERTERS[kind]


_CONVERTERS: dict[Any, Mapping[str, Converter]] = {}


def empty_row(kind: type[T]) -> T:
    """Returns a row of a dataclass in which all columns are null."""
    return kind(**{name: convert(None) for name, convert in column_converters(kind).items()})


def batch_of_rows(kind: type[T], rows: Sequence[T]) -> pa.RecordBatch:
    """Returns rows of a dataclass as the columns that are fields: without cluster, and timestamps beside
    nanoseconds."""
    schema = _schema_of(kind)
    arrays = [_array([getattr(row, field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _schema_of(kind: Any) -> pa.Schema:
    if kind not in _SCHEMAS:
        _SCHEMAS[kind] = pa.schema(list(arrow_type(kind)))
    return _SCHEMAS[kind]


_SCHEMAS: dict[Any, pa.Schema] = {}


def rows_of_batch(kind: type[T], batch: pa.RecordBatch) -> Iterator[T]:
    """Yields the rows of a batch that has a column for each field."""
    converters = column_converters(kind)
    return map(kind, *(map(converters[name], batch.column(name).to_pylist()) for name in converters))


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Returns values of fields as a column. Objects in lists become columns of a struct field by field."""
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        inside = [each for value in values for each in value or ()]
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value or ()))
        missing = pa.array([value is None for value in values], pa.bool_())
        offsets = pa.array(ends, pa.int32())
        return pa.ListArray.from_arrays(offsets, _array(inside, kind.value_type), type=kind, mask=missing)
    if pa.types.is_struct(kind):
        parts = [_array([None if v is None else getattr(v, part.name) for v in values], part.type) for part in kind]
        missing = pa.array([value is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=missing)
    return pa.array(values, kind)


def arrow_type(hint: Any) -> pa.DataType:
    """Returns the Arrow type of a field's type. Raises TypeError for one that no column has."""
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    width = next((mark for mark in marks if isinstance(mark, pa.DataType)), None)
    hint, _ = without_null(hint)
    if width is not None:
        return width if get_origin(hint) is not tuple else pa.list_(width)
    if get_origin(hint) is Literal:
        return pa.string()
    if get_origin(hint) is tuple:
        return pa.list_(arrow_type(get_args(hint)[0]))
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return pa.struct([(name, arrow_type(hints[name])) for name in column_fields(hint)])
    if hint not in _ARROW:
        raise TypeError(f"no column has the type {hint}")
    return _ARROW[hint]


_ARROW = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), bytes: pa.binary()}


def _declared(kind: type[StoryRow]) -> Iterator[Column]:
    """Yields the columns of a table, with a timestamp beside each column of time."""
    hints = get_type_hints(kind, include_extras=True)
    for column in declared_fields(kind, needs_sentences=True):
        if TIME in get_args(hints[column.name])[1:]:
            yield from time("" if column.name == "ts_ns" else column.name.removesuffix("_ns"), column.doc)
        else:
            yield column


def declared_fields(kind: Any, *, needs_sentences: bool = False) -> tuple[Column, ...]:
    """Returns the fields of a dataclass that are columns, or fields of its struct. Raises TypeError for a field whose
    type no column has, that has another type than the column that it names, or, if needs_sentences, that has no
    description."""
    hints = get_type_hints(kind, include_extras=True)
    found = tuple(_field(name, hints[name]) for name in column_fields(kind))
    for column in found:
        if needs_sentences and not column.doc:
            raise TypeError(f"{kind.__name__}.{column.name} has no sentence: Annotated[..., 'what it is']")
    return found


def _field(name: str, hint: Any) -> Column:
    """Returns the column of a field, completed from the table that its annotation names."""
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    table = next((mark for mark in marks if isinstance(mark, Table)), None)
    doc = " ".join(mark for mark in marks if isinstance(mark, str))
    if table is not None:
        named = table.column(name)
        if not _is_like(arrow_type(hint), named.type):
            raise TypeError(f"{name} is {named.type} in the table {table.name}, and no {hint}")
        return Column(name, named.type, doc or named.doc, named.values)
    values = next((mark for mark in marks if isinstance(mark, tuple)), _literals(hint))
    doc = f"{doc} (nanoseconds since the epoch)" if NS in marks else doc
    return Column(name, arrow_type(hint), doc, values, fields=_nested(hint))


def _is_like(declared: pa.DataType, named: pa.DataType) -> bool:
    """Whether a type equals that of a column, except for the width of integers."""
    return bool(declared == named or (pa.types.is_integer(declared) and pa.types.is_integer(named)))


def _nested(hint: Any) -> tuple[Column, ...]:
    """Returns the fields of a dataclass, also of one in a list."""
    hint, _ = without_null(hint)
    if get_origin(hint) is tuple:
        return _nested(get_args(hint)[0])
    return declared_fields(hint) if is_dataclass(hint) else ()


def _literals(hint: Any) -> tuple[str, ...]:
    """Returns the values of a Literal, also of one in a list; none for any other type."""
    hint, _ = without_null(hint)
    if get_origin(hint) is tuple:
        return _literals(get_args(hint)[0])
    return get_args(hint) if get_origin(hint) is Literal else ()


def without_null(hint: Any) -> tuple[Any, bool]:
    """Returns a type without its annotations and without None, and whether None was in it."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) not in (Union, UnionType) or NoneType not in get_args(hint):
        return hint, False
    inner = [part for part in get_args(hint) if part is not NoneType]
    return inner[0], True


def _converter(hint: Any) -> Converter:
    hint, may_be_null = without_null(hint)
    if may_be_null:
        convert = _converter(hint)
        return _same if convert in _SCALARS.values() else lambda value: None if value is None else convert(value)
    if get_origin(hint) is Literal:
        return _text
    if get_origin(hint) is tuple:
        of_element = _converter(get_args(hint)[0])
        return lambda value: tuple(map(of_element, value or ()))
    if get_origin(hint) is dict:
        return lambda value: dict(value or {})
    if is_dataclass(hint):
        parts, make = column_converters(hint), cast("Callable[..., Any]", hint)
        nothing = dict.fromkeys(parts)
        return lambda value: make(**{name: part((value or nothing)[name]) for name, part in parts.items()})
    return _SCALARS[hint]


def _same(value: Any) -> Any:
    return value


def _whole(value: Any) -> Any:
    return 0 if value is None else value


def _text(value: Any) -> Any:
    return "" if value is None else value


def _bytes(value: Any) -> Any:
    return b"" if value is None else value


_SCALARS: dict[Any, Converter] = {int: _whole, float: _whole, str: _text, bool: bool, bytes: _bytes}
"""Converters for types that have no None."""
