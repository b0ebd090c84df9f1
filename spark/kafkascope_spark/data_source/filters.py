"""Conditions of Spark as pyarrow's expressions, and the latest time that they let through.

A condition is taken over where pyarrow decides every row as Spark does: comparisons of whole columns that are no
structs or lists with values that are not null. The rest is left to Spark.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as spark

from kafkascope_analyzer.dataset.contract import TIMESTAMP

_COMPARISONS: dict[type, str] = {
    spark.EqualTo: "__eq__",
    spark.GreaterThan: "__gt__",
    spark.GreaterThanOrEqual: "__ge__",
    spark.LessThan: "__lt__",
    spark.LessThanOrEqual: "__le__",
}
_TEXT: dict[type, Any] = {
    spark.StringStartsWith: pc.starts_with,
    spark.StringEndsWith: pc.ends_with,
    spark.StringContains: pc.match_substring,
}
_BOUNDS = (spark.EqualTo, spark.LessThan, spark.LessThanOrEqual)
_FIRST_TIMES = frozenset({"ts", "ts_ns", "first_ts", "first_ns"})
"""Columns whose time is that of a packet, in every table of ingest but `events`."""


def expression(condition: spark.Filter, schema: pa.Schema) -> pc.Expression | None:
    """The condition on a table with this schema; None where it is left to Spark."""
    if isinstance(condition, spark.Not):
        child = expression(condition.child, schema)
        return None if child is None else ~child
    attribute: tuple[str, ...] = getattr(condition, "attribute", ())
    if len(attribute) != 1 or attribute[0] not in schema.names:
        return None
    kind = schema.field(attribute[0]).type
    return None if pa.types.is_nested(kind) else _of_column(condition, pc.field(attribute[0]), kind)


def _of_column(condition: spark.Filter, column: pc.Expression, kind: pa.DataType) -> pc.Expression | None:
    if isinstance(condition, spark.IsNull):
        return column.is_null()
    if isinstance(condition, spark.IsNotNull):
        return column.is_valid()
    if isinstance(condition, spark.In):
        return _one_of(column, condition.value, kind)
    value = getattr(condition, "value", None)
    if value is None or _is_local_time(value):
        return None
    if type(condition) in _TEXT:
        return _TEXT[type(condition)](column, value)
    if type(condition) in _COMPARISONS:
        return getattr(column, _COMPARISONS[type(condition)])(pa.scalar(value, kind))
    return None


def _one_of(column: pc.Expression, values: Sequence[Any], kind: pa.DataType) -> pc.Expression | None:
    """`isin`, which for a null gives false, not null; its negation would let nulls through, so they are ruled out."""
    if any(value is None or _is_local_time(value) for value in values):
        return None
    found = column.isin(pa.array(values, kind))
    return pc.if_else(column.is_valid(), found, pa.scalar(None, pa.bool_()))


def _is_local_time(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is None


def all_of(conditions: Sequence[pc.Expression]) -> pc.Expression | None:
    """One condition that holds where all do; None where there are none."""
    return reduce(and_, conditions) if conditions else None


def latest_ns(conditions: Sequence[spark.Filter]) -> int | None:
    """The latest time of a row's first packet, nanoseconds since the epoch, that the conditions let through; None where
    they do not limit it."""
    return min((_time_ns(each) for each in conditions if _limits_time(each)), default=None)


def _limits_time(condition: spark.Filter) -> bool:
    return isinstance(condition, _BOUNDS) and len(condition.attribute) == 1 and condition.attribute[0] in _FIRST_TIMES


def _time_ns(condition: Any) -> int:
    """The value of a condition on time, in nanoseconds: that of the microsecond's end for a timestamp."""
    value = condition.value
    if isinstance(value, datetime):
        return (int(pa.scalar(value, TIMESTAMP).value) + 1) * 1_000
    return int(value)
