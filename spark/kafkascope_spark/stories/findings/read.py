"""The reads of a detector: rows of a table, messages or events (`Where`), or groups of them (`Groups`). Its
precondition follows from them, and its query selects from them.

    Where(CONNECTIONS, close_kind="refused", n_requests=at_least(10))
    Groups(Where(USAGE, status="ok"), per=("conn_id",), having=total("n") >= 5)

Both are checked when they are created: a missing column, a value of another type, and a value that is not in the
column's closed list raise an error.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.dataset.tables.events import KINDS
from kafkascope_spark.stories.findings.conditions import (
    Aggregate,
    ColumnOf,
    Comparison,
    Constant,
    Expression,
    OneOf,
    Rows,
    all_of,
)


@dataclass(frozen=True)
class Messages(Table):
    """The messages of one kind, with the fields that queries use. name: their name in queries; folder: where the
    dataset has them, such as `messages/JoinGroup/request`. A field that no message of the dataset has is null."""

    @property
    def stored_as(self) -> str:
        """The name of the messages in the manifest, and their directory."""
        return self.folder


@dataclass(frozen=True, slots=True)
class Events:
    """The events of one kind, such as `usage`: the fields of the kind's struct, and conn_id."""

    kind: str


Source = Table | Events
"""Source of rows."""


class Where:
    """The rows of a table, or events of a kind, for which all conditions hold. The arguments are those of
    conditions.all_of.

    Raises TypeError or ValueError if a condition does not fit the table.
    """

    __slots__ = ("condition", "source")

    def __init__(self, source: Source | type[Row], /, *conditions: Expression, **columns: Any) -> None:
        self.source: Source = source if isinstance(source, Table | Events) else source.TABLE
        self.condition = all_of(*conditions, **columns) if conditions or columns else None
        """Condition of the rows; None for all rows."""
        rows = rows_of_none(self.source)
        if self.condition is not None:
            _check(self.condition, self.source, lambda: rows)

    def and_where(self, *conditions: Expression, **columns: Any) -> "Where":
        """Returns a read of the rows for which these conditions hold, too."""
        own = () if self.condition is None else (self.condition,)
        return Where(self.source, *own, *conditions, **columns)

    def columns(self) -> set[str]:
        """Returns the columns in the conditions."""
        return set() if self.condition is None else self.condition.columns()

    def query(self, table: str) -> str:
        """Returns the Spark SQL that selects the rows. table: name of the source in the statement."""
        return f"select * from {table} where {self}"

    def __str__(self) -> str:
        """The conditions as Spark SQL."""
        return "true" if self.condition is None else str(self.condition)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows with the same values of `per`; if that is empty, all rows are one group."""

    rows: Where
    per: tuple[str | Expression, ...] = ()
    having: Expression | None = None
    """Condition on aggregates of a group (conditions.total, ...); None for all groups with a row."""
    last_of: tuple[str, ...] = ()
    """Columns of `per`: of the groups with the same values of these columns, the precondition keeps the one with the
    last row. For queries that look for repetitions until the end of the capture, without other rows with these values
    in between: such a group has the last row of each part of the table in which it has rows, so no other group has to
    be counted."""

    def __post_init__(self) -> None:
        rows = rows_of_none(self.source)
        having = Constant(True) if self.having is None else self.having
        _check(having, self.source, lambda: groups_of(rows, self))

    @property
    def source(self) -> Source:
        """Source of the rows."""
        return self.rows.source

    def columns(self) -> set[str]:
        """Returns the columns in conditions and groups."""
        return self.rows.columns() | self.made_of()

    def made_of(self) -> set[str]:
        """Returns the columns of selected rows from which the groups are made."""
        return set[str]().union(*(each.columns() for each in (*map(_expression, self.per), *self.aggregates)))

    def group_columns(self) -> list[str]:
        """Returns the columns of the groups that candidates may use: those of `per`, and the aggregates of the
        condition, named by their SQL."""
        return [*map(str, self.per), *map(str, self.aggregates)]

    @property
    def aggregates(self) -> list[Aggregate]:
        """Aggregates of each group, without repetition."""
        return list(dict.fromkeys([*_aggregates(self.having), *([_LAST_ROW] if self.last_of else [])]))

    def query(self, table: str) -> str:
        """Returns the Spark SQL that selects the columns of `per` of each group. Without `per` it selects the rows, and
        the query that selects from them has to check the group itself. table: name of the source in the statement."""
        if not self.per:
            return self.rows.query(table)
        per = ", ".join(map(str, self.per))
        having = "" if self.having is None else f" having {self.having}"
        return f"select {per} from {table} where {self.rows} group by {per}{having}"

    @property
    def schema(self) -> pa.Schema:
        """The columns of the groups, with their types."""
        return no_groups(self).schema

    def __str__(self) -> str:
        """The groups before their condition, as a text that identifies them."""
        columns = [", ".join(map(str, each)) for each in (self.per, self.aggregates, self.last_of)]
        return f"{self.rows} group by ({columns[0]}) select ({columns[1]}) last of ({columns[2]})"


Read = Where | Groups


@dataclass(frozen=True, slots=True)
class Columns:
    """Some columns of the rows that a read selects. names: in the order in which they are kept."""

    rows: Where
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types."""
        fields = rows_of_none(self.rows.source).select(self.names).schema
        return pa.schema([pa.field(each.name, each.type) for each in fields])

    def __str__(self) -> str:
        """The rows, as a text that identifies them."""
        return f"{self.rows} select ({', '.join(self.names)})"


_LAST_ROW = Aggregate("max", ColumnOf("ts_ns"))
MOST_GROUPS = 1 << 20
"""Largest number of groups of a read that are kept: about 300 MB of two texts and six numbers. If there are more, the
detector runs in Spark, which can use the disk."""


class GroupedRows:
    """Makes the groups of a read from the rows that it selects, batch by batch. most: largest number of groups; if
    there are more, `are_too_many` is set and none are kept."""

    def __init__(self, read: Groups, most: int = MOST_GROUPS) -> None:
        self.read, self._most = read, most
        self.columns = read.made_of()
        self._parts = [no_groups(read)]
        self._n_rows = 0
        self.are_too_many = False

    def anew(self) -> "GroupedRows":
        """Returns the same without rows."""
        return GroupedRows(self.read, self._most)

    def take(self, rows: Rows) -> None:
        """Takes rows that the read selects."""
        self.add(groups_of(rows, self.read))

    @property
    def is_complete(self) -> bool:
        """Whether further rows would change nothing: there is a row, and nothing is computed."""
        return self._n_rows > 0 and not self.read.per and not self.read.aggregates

    def add(self, found: pa.Table | None) -> None:
        """Adds the groups of other rows, as `found` returns them."""
        if self.are_too_many or found is None:
            self.are_too_many = True
            return
        self._parts.append(found)
        self._n_rows += found.num_rows
        if self._n_rows > 2 * self._most:
            self._parts = [self._combined()]
            self._n_rows = self._parts[0].num_rows
            self.are_too_many = self._n_rows > self._most

    def found(self) -> pa.Table | None:
        """Returns the groups of all rows so far, before the read's condition; None if there are too many."""
        return None if self.are_too_many else self._combined()

    def table(self) -> pa.Table:
        """Returns the groups that satisfy the read, with the columns of `per` and of aggregates."""
        if self.are_too_many:
            return self._parts[0].slice(0, 0)
        groups = self._combined()
        return groups if self.read.having is None else groups.filter(self.read.having.value(groups))

    def _combined(self) -> pa.Table:
        """Returns the groups of all rows so far."""
        read, names = self.read, [str(each) for each in self.read.per]
        combined = [(str(each), "sum" if each.function == "count_all" else each.function) for each in read.aggregates]
        return _last_groups(_grouped(pa.concat_tables(self._parts), names, combined), read.last_of)


def groups_of(rows: Rows, read: Groups) -> pa.Table:
    """Returns the groups that a read makes of rows that it has selected: the columns of `per`, and the aggregates,
    named by their SQL."""
    groups = _groups_of(rows, read.per, read.aggregates)
    return _last_groups(groups, read.last_of)


@cache
def no_groups(read: Groups) -> pa.Table:
    """Returns the columns of the groups that a read makes, without rows."""
    return groups_of(rows_of_none(read.source), read).slice(0, 0)


def has_group(rows: Rows, per: Sequence[str], having: Expression) -> bool:
    """Whether a condition on aggregates holds for any group of rows with the same values of `per`."""
    found = pc.any(having.value(_groups_of(rows, per, _aggregates(having))))
    return found.as_py() is True


def _groups_of(rows: Rows, per: Sequence[str | Expression], aggregates: Sequence[Aggregate]) -> pa.Table:
    columns = {str(each): _expression(each).value(rows) for each in per}
    columns |= {str(each): each.of.value(rows) for each in aggregates if each.of is not None}
    counts = [each for each in aggregates if each.of is None]
    columns |= {str(each): pa.repeat(1, rows.num_rows) for each in counts}
    columns = columns or {"rows": pa.repeat(1, rows.num_rows)}
    functions = [(str(each), "sum" if each in counts else each.function) for each in aggregates]
    return _grouped(pa.table(columns), [str(each) for each in per], functions)


def _last_groups(groups: pa.Table, names: Sequence[str]) -> pa.Table:
    """Returns, of the groups with the same values of the named columns, those with the last row; all groups without
    names. Groups of null values, which no query joins, are left out."""
    if not names:
        return groups
    last = str(_LAST_ROW)
    latest = groups.select([*names, last]).group_by(names, use_threads=False).aggregate([(last, "max")])
    return groups.join(latest.rename_columns([*names, last]), [*names, last], join_type="inner", use_threads=False)


def _grouped(rows: pa.Table, names: list[str], functions: Sequence[tuple[str, str]]) -> pa.Table:
    """Returns the groups by the named columns. functions: (column, function) pairs; each result keeps the name of its
    column."""
    if not names and not functions:
        return rows.slice(0, 1)
    groups = rows.group_by(names, use_threads=False).aggregate(list(dict.fromkeys(functions)))
    computed = {f"{column}_{function}": column for column, function in functions}
    return groups.rename_columns([computed.get(name, name) for name in groups.column_names])


def source_columns(source: Source) -> list[str]:
    """Returns the names of the columns of a table, or of events of a kind."""
    names: list[str] = rows_of_none(source).schema.names
    return names


@cache
def rows_of_none(source: Source) -> pa.RecordBatch:
    """Returns an empty batch with all columns of a table, or of events of a kind."""
    if isinstance(source, Table):
        return pa.RecordBatch.from_pylist([], source.schema)
    if source.kind not in KINDS:
        raise ValueError(f"there are no events of kind {source.kind}")
    return pa.RecordBatch.from_pylist([], pa.schema([("conn_id", pa.string()), *KINDS[source.kind]]))


def _check(condition: Expression, source: Source, rows: Callable[[], Rows]) -> None:
    """Raises TypeError if the condition uses a missing column or compares incompatible types, and ValueError if it uses
    a value that the column never has. rows: returns the columns with their types."""
    try:
        found = condition.value(rows())
    except (KeyError, pa.ArrowException) as error:
        raise TypeError(f"{condition}, of {name_of(source)}: {error}") from error
    if not pa.types.is_boolean(found.type):
        raise TypeError(f"{condition}, of {name_of(source)}: a condition is true or false")
    for name, value in _compared(condition):
        known = _closed_list(source, name)
        if known and value not in known:
            raise ValueError(f"{name_of(source)}.{name} is never {value!r}")


def _compared(condition: Expression) -> Iterator[tuple[str, Any]]:
    """Yields the columns that are compared with values, and the values."""
    for part in condition.parts():
        if isinstance(part, OneOf) and isinstance(part.of, ColumnOf):
            yield from ((part.of.name, value) for value in part.values)
        if isinstance(part, Comparison) and isinstance(part.left, ColumnOf) and isinstance(part.right, Constant):
            yield part.left.name, part.right.constant


def _closed_list(source: Source, name: str) -> Sequence[str]:
    """Returns the values that a column may have; empty if it may have any. Usage events have the values of the table
    requests."""
    table = REQUESTS if isinstance(source, Events) else source
    return table.column(name).values if name in table.schema.names else ()


def name_of(source: Source) -> str:
    """Returns the name of the table or of the kind of events."""
    return source.name if isinstance(source, Table) else source.kind


def _expression(each: str | Expression) -> Expression:
    return ColumnOf(each) if isinstance(each, str) else each


def _aggregates(having: Expression | None) -> list[Aggregate]:
    """Returns the aggregates in a condition, without repetition."""
    parts = () if having is None else having.parts()
    return list(dict.fromkeys(part for part in parts if isinstance(part, Aggregate)))
