"""Pieces of SQL that several queries share."""

import random
import sqlite3
from typing import Any

import pytest

from kafkascope_spark.stories.findings.sql import first_ids, joined_lists, literals, sorted_set


@pytest.mark.parametrize(
    ("values", "one", "found"),
    [
        (["NOT_LEADER_OR_FOLLOWER", "NONE"], "'NONE'", 1),
        (["NOT_LEADER_OR_FOLLOWER", "NONE"], "'NOT'", 0),
        ([3, -1], "-1", 1),
        ([3], "2", 0),
    ],
)
def test_literals_are_a_list_that_sql_reads(values: list[str | int], one: str, found: int) -> None:
    ((answer,),) = sqlite3.connect(":memory:").execute(f"select {one} in {literals(values)}")
    assert answer == found


def test_the_text_does_not_depend_on_the_order_of_a_set() -> None:
    assert literals(["b", "a"]) == literals(["a", "b"])


@pytest.mark.spark
def test_aggregates_do_not_depend_on_the_order_of_rows(spark: Any) -> None:
    """Two rows of one time, one without a request, and a repeated value."""
    rows = [(2, "r-c", "x", ["l3"]), (1, "r-b", "y", ["l2"]), (1, "r-a", "x", ["l0", "l1"]), (0, None, None, [])]
    random.Random(1).shuffle(rows)
    columns = "ts_ns bigint, request_id string, value string, lists array<string>"
    spark.createDataFrame(rows, columns).repartition(3).createOrReplaceTempView("rows_of_pieces")
    lists = joined_lists("lists", "ts_ns, request_id")
    query = f"select {first_ids(most=2)} as ids, {lists} as lists, {sorted_set('value')} as kinds from rows_of_pieces"
    (row,) = spark.sql(query).collect()
    assert (row.ids, row.lists, row.kinds) == (["r-a", "r-b"], ["l0", "l1", "l2", "l3"], ["x", "y"])
