"""The lag of committed offsets, on tables small enough to see."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_spark.read import spark_schema
from kafkascope_spark.rebalances.lag import lag_of_generations

pytestmark = pytest.mark.spark
SECOND = 1_000_000_000


@pytest.fixture
def tables(spark: Any) -> Callable[..., dict[Table, Any]]:
    def make(requests: list[dict[str, Any]], partitions: list[dict[str, Any]]) -> dict[Table, Any]:
        made = {}
        for table, rows in ((REQUESTS, requests), (PARTITIONS, partitions)):
            arrow = pa.Table.from_pylist(rows, schema=pa.schema([f.with_nullable(True) for f in table.schema]))
            made[table] = spark.createDataFrame(arrow.to_pylist(), spark_schema(table.schema))
        return made

    return make


def commit(number: int, generation: int, at_s: int, n_errors: int = 0, **offsets: int) -> tuple[Any, list[Any]]:
    request_id = f"c-{number}"
    request = {"request_id": request_id, "api_key": 8, "status": "ok", "n_errors": n_errors, "group_id": "g"}
    named = [
        {"request_id": request_id, "api_key": 8, "direction": "request", "topic": "t", "partition": int(p[1:])}
        | {"offset": offset, "ts_ns": at_s * SECOND}
        for p, offset in offsets.items()
    ]
    return request | {"generation_or_epoch": generation, "ts_ns": at_s * SECOND}, named


def end(partition: int, at_s: int, high_watermark: int) -> dict[str, Any]:
    row = {"request_id": f"f-{partition}-{at_s}", "api_key": 1, "direction": "response", "topic": "t"}
    return row | {"partition": partition, "high_watermark": high_watermark, "ts_ns": at_s * SECOND + 5}


def test_lag_is_against_the_end_that_was_known_at_the_last_commit(tables: Callable[..., Any]) -> None:
    """Generation 1 commits 10 and then 40 of 50 (p0), and 7 of 7 (p1); by generation 2 the end of p0 is 90. What was
    refused, and p2, which nobody fetched from, do not count."""
    commits = [
        commit(1, 1, 10, p0=10),
        commit(2, 1, 20, p0=40, p1=7, p2=3),
        commit(3, 1, 21, n_errors=1, p0=49),
        commit(4, 2, 60, p0=70),
        commit(5, -1, 70, p0=1),
    ]
    ends = [end(0, 9, 30), end(0, 15, 50), end(1, 15, 7), end(0, 40, 90), end(0, 80, 200), end(3, 10, 5)]
    made = tables([c for c, _ in commits], [p for _, ps in commits for p in ps] + ends)
    found = {(r["group_id"], r["generation"]): r for r in lag_of_generations(made).collect()}
    assert set(found) == {("g", 1), ("g", 2)}
    assert (found["g", 1]["lag_records"], found["g", 1]["n_lag_partitions"]) == (10, 2)
    assert (found["g", 2]["lag_records"], found["g", 2]["n_lag_partitions"]) == (20, 1)
