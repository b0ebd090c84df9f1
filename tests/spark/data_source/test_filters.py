"""What the conditions let through, compared with what SQL says of them (three-valued logic), row by row."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import datasource as spark

from kafkascope_spark.data_source.filters import all_of, expression, latest_ns

TIMES = [datetime(2026, 11, 22, 12, 0, second, 250, tzinfo=UTC) for second in range(4)]
ROWS = pa.table(
    {
        "n": pa.array([0, 1, 2, 3]),
        "api_name": ["Fetch", None, "FetchSnapshot", "Produce"],
        "api_key": pa.array([1, 3, None, 0], pa.int16()),
        "ts": pa.array(TIMES, pa.timestamp("us", "UTC")),
        "topics": pa.array([["a"], [], None, ["b"]]),
    }
)
API_NAME, API_KEY, TS = ("api_name",), ("api_key",), ("ts",)


def rows_of(condition: spark.Filter) -> list[int]:
    found = expression(condition, ROWS.schema)
    assert found is not None
    return ds.dataset(ROWS).to_table(filter=found)["n"].to_pylist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (spark.EqualTo(API_KEY, 1), [0]),
        (spark.Not(spark.EqualTo(API_KEY, 1)), [1, 3]),
        (spark.GreaterThan(API_KEY, 1), [1]),
        (spark.LessThanOrEqual(API_KEY, 1), [0, 3]),
        (spark.In(API_KEY, (0, 1)), [0, 3]),
        (spark.Not(spark.In(API_KEY, (0, 1))), [1]),
        (spark.IsNull(API_NAME), [1]),
        (spark.Not(spark.IsNull(API_NAME)), [0, 2, 3]),
        (spark.IsNotNull(API_KEY), [0, 1, 3]),
        (spark.StringStartsWith(API_NAME, "Fetch"), [0, 2]),
        (spark.Not(spark.StringStartsWith(API_NAME, "Fetch")), [3]),
        (spark.StringEndsWith(API_NAME, "uce"), [3]),
        (spark.StringContains(API_NAME, "hS"), [2]),
        (spark.GreaterThanOrEqual(TS, TIMES[2]), [2, 3]),
        (spark.In(TS, (TIMES[0], TIMES[3])), [0, 3]),
    ],
)
def test_a_condition_lets_the_rows_through_that_sql_would(condition: spark.Filter, expected: list[int]) -> None:
    assert rows_of(condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        spark.EqualTo(("topics",), ["a"]),
        spark.IsNull(("topics",)),
        spark.EqualTo(("request", "api_key"), 1),
        spark.EqualNullSafe(API_KEY, 1),
        spark.In(API_KEY, (1, None)),
        spark.EqualTo(API_KEY, None),
        spark.EqualTo(TS, TIMES[0].replace(tzinfo=None)),
        spark.EqualTo(("unknown",), 1),
    ],
)
def test_what_pyarrow_would_decide_otherwise_is_left_to_spark(condition: spark.Filter) -> None:
    assert expression(condition, ROWS.schema) is None
    assert expression(spark.Not(condition), ROWS.schema) is None


def test_several_conditions_hold_together() -> None:
    found = [expression(spark.IsNotNull(API_KEY), ROWS.schema), expression(spark.LessThan(API_KEY, 3), ROWS.schema)]
    both = all_of([each for each in found if each is not None])
    assert ds.dataset(ROWS).to_table(filter=both)["n"].to_pylist() == [0, 3]
    assert all_of([]) is None


SECOND_NS = int(TIMES[1].timestamp()) * 1_000_000_000


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], None),
        ([spark.GreaterThan(TS, TIMES[1])], None),
        ([spark.LessThan(("response_ns",), 5)], None),
        ([spark.Not(spark.LessThan(("ts_ns",), 5))], None),
        ([spark.LessThan(("ts_ns",), 7), spark.LessThanOrEqual(("first_ns",), 5)], 5),
        ([spark.LessThanOrEqual(TS, TIMES[1])], SECOND_NS + 251_000),  # 250.999 µs are 250 µs in the column
    ],
)
def test_the_latest_time_is_the_least_upper_bound(conditions: list[Any], expected: int | None) -> None:
    assert latest_ns(conditions) == expected
