"""Conditions on the rows of a table as objects: pyarrow evaluates them on a batch of rows, and str() returns the same
condition as Spark SQL.

    all_of(kind=("producer", "consumer"), group_id=NOT_NULL, n_requests=at_least(100))
    any_of(column("last_ns") - column("first_ns") > 5, status="unanswered")
    all_of(total("n") >= 100, largest("ts_ns") - smallest("ts_ns") >= 5)      # of a group of rows

A column is compared with a value, one of several (a tuple), null (None), or by a test of this module. Null is as in
SQL: the result of a computation with null is null, and rows and groups for which a condition is null are left out.
Numbers with a fraction are float, or Decimal if they are compared exactly.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Value = str | int | float | Decimal
Rows: TypeAlias = "pa.RecordBatch | pa.Table"


class Expression:
    """An expression over a row, or over a group of rows."""

    def value(self, rows: Rows) -> Any:
        """Returns the values for these rows, as an array, or a single one for all. Raises KeyError for a missing
        column, and pa.ArrowException if the types do not fit."""
        return self._value(rows)

    def _value(self, rows: Rows) -> Any:
        raise NotImplementedError

    def __str__(self) -> str:
        raise NotImplementedError

    def parts(self) -> Iterator["Expression"]:
        """Yields this expression and all its subexpressions."""
        yield self
        for each in fields(self):  # type: ignore[arg-type]  # each expression is a dataclass
            inner = getattr(self, each.name)
            for part in inner if isinstance(inner, tuple) else (inner,):
                if isinstance(part, Expression):
                    yield from part.parts()

    def columns(self) -> set[str]:
        """Returns the names of the columns in it."""
        return {part.name for part in self.parts() if isinstance(part, ColumnOf)}

    def __add__(self, other: "Operand") -> "Expression":
        return Calculation("+", self, _operand(other))

    def __sub__(self, other: "Operand") -> "Expression":
        return Calculation("-", self, _operand(other))

    def __mul__(self, other: "Operand") -> "Expression":
        return Calculation("*", self, _operand(other))

    def __lt__(self, other: "Operand") -> "Expression":
        return Comparison("<", self, _operand(other))

    def __le__(self, other: "Operand") -> "Expression":
        return Comparison("<=", self, _operand(other))

    def __gt__(self, other: "Operand") -> "Expression":
        return Comparison(">", self, _operand(other))

    def __ge__(self, other: "Operand") -> "Expression":
        return Comparison(">=", self, _operand(other))


Operand = Expression | Value
Test = Callable[[Expression], Expression]
"""A test of a column: makes a condition from it."""


@dataclass(frozen=True, slots=True)
class ColumnOf(Expression):
    """The value of a column."""

    name: str

    def _value(self, rows: Rows) -> Any:
        return rows.column(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A constant of a rule."""

    constant: Value

    def _value(self, rows: Rows) -> Any:
        return pa.scalar(self.constant)

    def __str__(self) -> str:
        if isinstance(self.constant, bool):
            return str(self.constant).lower()
        if isinstance(self.constant, str):
            escaped = self.constant.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        return f"{self.constant!r}D" if isinstance(self.constant, float) else str(self.constant)


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Returns the two operands with the same type: an integer next to a float becomes a float, as in Spark. pyarrow
    itself refuses integers that float64 does not hold exactly."""
    if pa.types.is_floating(left.type) and pa.types.is_integer(right.type):
        return left, pc.cast(right, pa.float64(), safe=False)
    if pa.types.is_floating(right.type) and pa.types.is_integer(left.type):
        return pc.cast(left, pa.float64(), safe=False), right
    return left, right


@dataclass(frozen=True, slots=True)
class Calculation(Expression):
    """A sum, difference or product. Raises pa.ArrowInvalid on overflow, where Spark fails, too."""

    FUNCTIONS: ClassVar = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
    sign: str
    left: Expression
    right: Expression

    def _value(self, rows: Rows) -> Any:
        return self.FUNCTIONS[self.sign](*_alike(self.left.value(rows), self.right.value(rows)))

    def __str__(self) -> str:
        return f"({self.left} {self.sign} {self.right})"


@dataclass(frozen=True, slots=True)
class Comparison(Expression):
    """A comparison of two values."""

    FUNCTIONS: ClassVar = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
    sign: str
    left: Expression
    right: Expression

    def _value(self, rows: Rows) -> Any:
        return self.FUNCTIONS[self.sign](*_alike(self.left.value(rows), self.right.value(rows)))

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


@dataclass(frozen=True, slots=True)
class OneOf(Expression):
    """Whether a value is one of several."""

    of: Expression
    values: tuple[Value, ...]

    def _value(self, rows: Rows) -> Any:
        values = self.of.value(rows)
        known = pc.is_in(values, pa.array(self.values, values.type))
        return pc.if_else(pc.is_valid(values), known, pa.scalar(None, pa.bool_()))

    def __str__(self) -> str:
        return f"{self.of} in ({', '.join(str(Constant(value)) for value in self.values)})"


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    """Whether a value is null."""

    of: Expression

    def _value(self, rows: Rows) -> Any:
        return pc.is_null(self.of.value(rows))

    def __str__(self) -> str:
        return f"{self.of} is null"


@dataclass(frozen=True, slots=True)
class Contains(Expression):
    """Whether a text contains another one."""

    of: Expression
    text: str

    def _value(self, rows: Rows) -> Any:
        return pc.match_substring(self.of.value(rows), self.text)

    def __str__(self) -> str:
        return f"contains({self.of}, {Constant(self.text)})"


@dataclass(frozen=True, slots=True)
class Matches(Expression):
    """Whether a regular expression matches a part of a text. It must have the same meaning in RE2 and in Java."""

    of: Expression
    pattern: str

    def _value(self, rows: Rows) -> Any:
        return pc.match_substring_regex(self.of.value(rows), self.pattern)

    def __str__(self) -> str:
        return f"regexp_like({self.of}, {Constant(self.pattern)})"


@dataclass(frozen=True, slots=True)
class Length(Expression):
    """Number of elements of a list."""

    of: Expression

    def _value(self, rows: Rows) -> Any:
        return pc.list_value_length(self.of.value(rows))

    def __str__(self) -> str:
        return f"size({self.of})"


@dataclass(frozen=True, slots=True)
class FirstKnown(Expression):
    """The first of several values that is not null."""

    of: tuple[Expression, ...]

    def _value(self, rows: Rows) -> Any:
        return pc.coalesce(*(each.value(rows) for each in self.of))

    def __str__(self) -> str:
        return f"coalesce({', '.join(map(str, self.of))})"


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """Whether a condition is false."""

    of: Expression

    def _value(self, rows: Rows) -> Any:
        return pc.invert(self.of.value(rows))

    def __str__(self) -> str:
        return f"not ({self.of})"


@dataclass(frozen=True, slots=True)
class Joined(Expression):
    """Whether all of the conditions hold, or one of them."""

    FUNCTIONS: ClassVar = {"and": pc.and_kleene, "or": pc.or_kleene}
    word: str
    conditions: tuple[Expression, ...]

    def _value(self, rows: Rows) -> Any:
        found = self.conditions[0].value(rows)
        for condition in self.conditions[1:]:
            found = self.FUNCTIONS[self.word](found, condition.value(rows))
        return found

    def __str__(self) -> str:
        return f"({f' {self.word} '.join(map(str, self.conditions))})"


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """An aggregate over the rows of a group. Its value is a column of the groups (read.groups_of)."""

    SQL: ClassVar = {"count_all": "count(*)", "sum": "sum({})", "min": "min({})", "max": "max({})"}
    function: str
    of: Expression | None = None

    def _value(self, rows: Rows) -> Any:
        return rows.column(str(self))

    def __str__(self) -> str:
        return self.SQL[self.function].format(self.of)


@dataclass(frozen=True, slots=True)
class AsNumber(Expression):
    """1 for the rows for which a condition holds, 0 for others."""

    condition: Expression

    def _value(self, rows: Rows) -> Any:
        return pc.cast(pc.fill_null(self.condition.value(rows), False), pa.int64())

    def __str__(self) -> str:
        return f"if({self.condition}, 1, 0)"


def column(name: str) -> Expression:
    """Returns a column for computations."""
    return ColumnOf(name)


def all_of(*conditions: Expression, **columns: Any) -> Expression:
    """Returns the condition that all of these conditions hold, and each column has the given value."""
    return Joined("and", (*conditions, *_of_columns(**columns)))


def any_of(*conditions: Expression, **columns: Any) -> Expression:
    """Returns the condition that one of these conditions holds, or one of the columns has the given value."""
    return Joined("or", (*conditions, *_of_columns(**columns)))


def _of_columns(**columns: Any) -> Iterator[Expression]:
    for name, wanted in columns.items():
        of = ColumnOf(name)
        if wanted is None:
            yield IsNull(of)
        elif isinstance(wanted, tuple | frozenset | set):
            yield OneOf(of, tuple(sorted(wanted)))
        elif callable(wanted):
            yield wanted(of)
        else:
            yield Comparison("=", of, Constant(wanted))


def NOT_NULL(of: Expression) -> Expression:  # noqa: N802 - stands where values stand
    """Tests that a column is not null."""
    return Not(IsNull(of))


def at_least(number: Value) -> Test:
    """Tests that a column is that number or more."""
    return lambda of: of >= number


def above(number: Value) -> Test:
    """Tests that a column is more than that number."""
    return lambda of: of > number


def below(number: Value) -> Test:
    """Tests that a column is less than that number."""
    return lambda of: of < number


def none_of(*values: Value) -> Test:
    """Tests that a column is none of these values, nor null."""
    return lambda of: Not(OneOf(of, tuple(sorted(values))))


def contains(text: str) -> Test:
    """Tests that a column contains this text."""
    return lambda of: Contains(of, text)


def matches(pattern: str) -> Test:
    """Tests that the regular expression matches a part of a column."""
    return lambda of: Matches(of, pattern)


def no_match(pattern: str) -> Test:
    """Tests that the regular expression matches no part of a column, and that the column is not null."""
    return lambda of: Not(Matches(of, pattern))


def longer_than(length: int) -> Test:
    """Tests that a column's list has more elements than that."""
    return lambda of: Length(of) > length


def first_known(*names: str) -> Expression:
    """Returns the first of these columns that is not null."""
    return FirstKnown(tuple(map(ColumnOf, names)))


def count() -> Expression:
    """Returns the number of rows of a group."""
    return Aggregate("count_all")


def count_if(condition: Expression) -> Expression:
    """Returns the number of rows of a group for which the condition holds (null without rows)."""
    return Aggregate("sum", AsNumber(condition))


def total(of: str | Expression) -> Expression:
    """Returns the sum over a group."""
    return Aggregate("sum", _column(of))


def smallest(of: str | Expression) -> Aggregate:
    """Returns the smallest value in a group."""
    return Aggregate("min", _column(of))


def largest(of: str | Expression) -> Aggregate:
    """Returns the largest value in a group."""
    return Aggregate("max", _column(of))


def _column(of: str | Expression) -> Expression:
    return ColumnOf(of) if isinstance(of, str) else of


def _operand(value: Operand) -> Expression:
    return value if isinstance(value, Expression) else Constant(value)
