"""Percentiles that DuckDB counts in steps, against sorted lists."""

from fractions import Fraction
from functools import cache

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.report.model.latency import percentiles_sql

LATENCIES = st.lists(st.integers(0, 2**53), min_size=1, max_size=200)


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all tests: to open one takes longer than a query."""
    return duckdb.connect()


def percentiles(latencies: list[int | None], names: list[str | None]) -> dict[str | None, tuple[int, ...]]:
    """name -> n, p50, p99, longest."""
    columns = {"name": pa.array(names, pa.string()), "us": pa.array(latencies, pa.int64())}
    connection = database()
    connection.register("requests", pa.table(columns))
    rows = connection.execute(percentiles_sql({"name": "name"}, "us", "requests")).fetchall()
    return {name: figures for name, *figures in rows}


@given(LATENCIES)
def test_a_percentile_is_within_a_step_of_the_sorted_list(latencies: list[int]) -> None:
    ((n, p50, p99, longest),) = percentiles(list(latencies), ["a"] * len(latencies)).values()
    assert (n, longest) == (len(latencies), max(latencies))
    for share, found in ((Fraction(1, 2), p50), (Fraction(99, 100), p99)):
        true = sorted(latencies)[-(-share * len(latencies) // 1) - 1]
        assert true - true // 128 - 1 <= found <= true


@pytest.mark.parametrize("value", [0, 1, 127, 128, 255])
def test_short_latencies_are_exact(value: int) -> None:
    assert percentiles([value], ["a"]) == {"a": [1, value, value, value]}


def test_groups_are_apart_and_what_has_no_latency_does_not_count() -> None:
    found = percentiles([10, 20, None, 30, -5], ["a", "a", "a", None, "b"])
    assert found == {"a": [2, 10, 20, 20], None: [1, 30, 30, 30], "b": [1, 0, 0, 0]}
