"""What a detector reads: rows of a table (`Where`), or groups of them (`Groups`), from which its precondition follows
and its query selects.

    Where(CONNECTIONS, close_kind="refused", n_requests=at_least(10))
    Groups(Where(USAGE, status="ok"), per=("conn_id",), having=total("n") >= 5)

Both are checked when they are made: a column that the table lacks, a value of another type than the column's, and one
that the column's closed list lacks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of one kind, as `JoinGroup/request`, for queries."""

    name: str
    columns: str
    """The fields that queries use, as a Spark DDL."""


@dataclass(frozen=True, slots=True)
class Events:
    """The events of one kind, as `usage`: the fields of the kind's struct, and conn_id."""

    kind: str


Source = Table | Events
"""Where rows come from."""


class Where:
    """The rows of a table, or events of a kind, for which all conditions hold: conditions.all_of takes the same ones.

    Raises TypeError and ValueError where a condition does not fit the table.
    """

    __slots__ = ("condition", "source")

    def __init__(self, source: Source | type[Row], /, *conditions: Expression, **columns: Any) -> None:
        self.source: Source = source if isinstance(source, Table | Events) else source.TABLE
        self.condition = all_of(*conditions, **columns) if conditions or columns else None
        """None: all rows."""
        rows = rows_of_none(self.source)
        if self.condition is not None:
            _check(self.condition, self.source, lambda: rows)

    def and_where(self, *conditions: Expression, **columns: Any) -> "Where":
        """Those of the rows for which these conditions hold too."""
        own = () if self.condition is None else (self.condition,)
        return Where(self.source, *own, *conditions, **columns)

    def columns(self) -> set[str]:
        """The columns that the conditions name."""
        return set() if self.condition is None else self.condition.columns()

    def query(self, table: str) -> str:
        """The Spark SQL that selects the rows. table: the name of the source in the statement."""
        return f"select * from {table} where {self}"

    def __str__(self) -> str:
        """The conditions as Spark SQL."""
        return "true" if self.condition is None else str(self.condition)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows: those with the same values of `per`; without it, all rows are one group."""

    rows: Where
    per: tuple[str | Expression, ...] = ()
    having: Expression | None = None
    """A condition on aggregates of a group (conditions.total, ...); None: each group that has a row."""
    last_of: tuple[str, ...] = ()
    """Columns of `per`: of the groups that have the same values of these, the precondition keeps the one that has the
    last row. For a query that finds what repeats until the end, with nothing else of these values in between: such a
    group has the last row of each part of the table that it has a row in, and so no other group has to be counted."""

    def __post_init__(self) -> None:
        rows = rows_of_none(self.source)
        having = Constant(True) if self.having is None else self.having
        _check(having, self.source, lambda: groups_of(rows, self))

    @property
    def source(self) -> Source:
        """Where the rows come from."""
        return self.rows.source

    def columns(self) -> set[str]:
        """The columns that conditions and groups name."""
        return self.rows.columns() | self.made_of()

    def made_of(self) -> set[str]:
        """The columns of selected rows that the groups are made of."""
        return set[str]().union(*(each.columns() for each in (*map(_expression, self.per), *self.aggregates)))

    def group_columns(self) -> list[str]:
        """The columns of the groups that candidates may ask about: those of `per`, and the aggregates of the condition
        under their SQL."""
        return [*map(str, self.per), *map(str, self.aggregates)]

    @property
    def aggregates(self) -> list[Aggregate]:
        """The aggregates that are computed of each group, each once."""
        return list(dict.fromkeys([*_aggregates(self.having), *([_LAST_ROW] if self.last_of else [])]))

    def query(self, table: str) -> str:
        """The Spark SQL that selects the columns of `per` of each group; without these, the rows: then the query that
        selects from them has to check the group itself. table: the name of the source in the statement."""
        if not self.per:
            return self.rows.query(table)
        per = ", ".join(map(str, self.per))
        having = "" if self.having is None else f" having {self.having}"
        return f"select {per} from {table} where {self.rows} group by {per}{having}"

    def __str__(self) -> str:
        """What the groups are, before their condition."""
        columns = [", ".join(map(str, each)) for each in (self.per, self.aggregates, self.last_of)]
        return f"{self.rows} group by ({columns[0]}) select ({columns[1]}) last of ({columns[2]})"


Read = Where | Groups


_LAST_ROW = Aggregate("max", ColumnOf("ts_ns"))
MOST_GROUPS = 1 << 20
"""Groups of a read that are kept: some 300 MB of two texts and six numbers. Of more Spark finds out, which has
a disk."""


class GroupedRows:
    """The groups of a read, from the rows that it selects, batch by batch. most: groups that are kept; where there are
    more, `are_too_many`, and none are."""

    def __init__(self, read: Groups, most: int = MOST_GROUPS) -> None:
        self.read, self._most = read, most
        self.columns = read.made_of()
        self._parts = [groups_of(rows_of_none(read.source), read).slice(0, 0)]
        self._n_rows = 0
        self.are_too_many = False

    def take(self, rows: Rows) -> None:
        """Take rows that the read selects."""
        self.add(groups_of(rows, self.read))

    @property
    def is_complete(self) -> bool:
        """Whether further rows change nothing: there is a row, and nothing is computed."""
        return self._n_rows > 0 and not self.read.per and not self.read.aggregates

    def add(self, found: pa.Table | None) -> None:
        """Take the groups of other rows, as `found` gives them."""
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
        """The groups of all rows so far, whatever the read's condition; None where they are too many."""
        return None if self.are_too_many else self._combined()

    def table(self) -> pa.Table:
        """The groups that satisfy the read: the columns of `per` (and of aggregates)."""
        if self.are_too_many:
            return self._parts[0].slice(0, 0)
        groups = self._combined()
        return groups if self.read.having is None else groups.filter(self.read.having.value(groups))

    def _combined(self) -> pa.Table:
        """The groups of all rows so far."""
        read, names = self.read, [str(each) for each in self.read.per]
        combined = [(str(each), "sum" if each.function == "count_all" else each.function) for each in read.aggregates]
        return _last_groups(_grouped(pa.concat_tables(self._parts), names, combined), read.last_of)


def groups_of(rows: Rows, read: Groups) -> pa.Table:
    """The groups that a read makes of rows, which it selects all: the columns of `per`, and the aggregates under their
    SQL."""
    groups = _groups_of(rows, read.per, read.aggregates)
    return _last_groups(groups, read.last_of)


def has_group(rows: Rows, per: Sequence[str], having: Expression) -> bool:
    """Whether a condition on aggregates holds for a group of the rows with the same values of `per`."""
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
    """The groups that have the last row among those with the same values of the columns of these names; all without
    names. Groups of a null, which no query joins, are left out."""
    if not names:
        return groups
    last = str(_LAST_ROW)
    latest = groups.select([*names, last]).group_by(names, use_threads=False).aggregate([(last, "max")])
    return groups.join(latest.rename_columns([*names, last]), [*names, last], join_type="inner", use_threads=False)


def _grouped(rows: pa.Table, names: list[str], functions: Sequence[tuple[str, str]]) -> pa.Table:
    """The groups by the columns of these names, with (column, function) as columns of the same names."""
    if not names and not functions:
        return rows.slice(0, 1)
    groups = rows.group_by(names, use_threads=False).aggregate(list(dict.fromkeys(functions)))
    computed = {f"{column}_{function}": column for column, function in functions}
    return groups.rename_columns([computed.get(name, name) for name in groups.column_names])


def source_columns(source: Source) -> list[str]:
    """The names of the columns of a table, or of events of a kind."""
    names: list[str] = rows_of_none(source).schema.names
    return names


def rows_of_none(source: Source) -> pa.RecordBatch:
    """A batch without rows, of all columns of a table, or of events of a kind."""
    if isinstance(source, Table):
        return pa.RecordBatch.from_pylist([], source.schema)
    if source.kind not in KINDS:
        raise ValueError(f"there are no events of kind {source.kind}")
    return pa.RecordBatch.from_pylist([], pa.schema([("conn_id", pa.string()), *KINDS[source.kind]]))


def _check(condition: Expression, source: Source, rows: Callable[[], Rows]) -> None:
    """Raises TypeError where the condition names a column that there is not, or compares what cannot be compared, and
    ValueError where it names a value that the column never has. rows: gives the columns with their types."""
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
    """The columns that are compared with values, and the values."""
    for part in condition.parts():
        if isinstance(part, OneOf) and isinstance(part.of, ColumnOf):
            yield from ((part.of.name, value) for value in part.values)
        if isinstance(part, Comparison) and isinstance(part.left, ColumnOf) and isinstance(part.right, Constant):
            yield part.left.name, part.right.constant


def _closed_list(source: Source, name: str) -> Sequence[str]:
    """The values that a column may have; empty where it may have any. The usage of a connection has those of its
    requests."""
    table = REQUESTS if isinstance(source, Events) else source
    return table.column(name).values if name in table.schema.names else ()


def name_of(source: Source) -> str:
    """The name of the table or of the kind of events."""
    return source.name if isinstance(source, Table) else source.kind


def _expression(each: str | Expression) -> Expression:
    return ColumnOf(each) if isinstance(each, str) else each


def _aggregates(having: Expression | None) -> list[Aggregate]:
    """The aggregates in a condition, each once."""
    parts = () if having is None else having.parts()
    return list(dict.fromkeys(part for part in parts if isinstance(part, Aggregate)))
