"""What workers read of a storm is what Spark's own queries give, on random rows."""

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS, PARTITIONS, REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.deciding import after_failures, decides, deciding_requests
from kafkascope_spark.events import TOUCH, only_after_errors
from kafkascope_spark.read import spark_schema
from kafkascope_spark.usage import with_luck

pytestmark = pytest.mark.spark
Rows = list[dict[str, Any]]


def frame(spark: Any, table: Any, rows: Rows) -> Any:
    arrow = pa.Table.from_pylist(rows, schema=table.schema)
    return spark.createDataFrame(arrow.to_pylist(), spark_schema(table.schema))


def requests(chance: random.Random) -> Rows:
    return [
        {
            "request_id": f"c-{n % 60}-{n}" if n % 2 else f"d-{n % 70}",
            "api_key": chance.choice([wire.FETCH, wire.PRODUCE, wire.METADATA, wire.LIST_OFFSETS, wire.HEARTBEAT]),
            "client_ip": "a",
            "ts_ns": n,
            "status": chance.choice(["ok"] * 9 + ["unanswered", "undecoded", "no_response_expected"]),
            "error_code": chance.choice([None, 0, 0, 0, 6]),
            "n_errors": chance.choice([None, 0, 0, 0, 1]),
            "throttle_ms": chance.choice([None, 0, 999, 1_000]),
            "max_wait_ms": chance.choice([None, 500]),
            "latency_us": chance.choice([None, 100, 5_000_001, 5_500_001]),
            "in_flight": chance.choice([None, 1, 2]),
        }
        for n in range(600)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_the_requests_that_decide_are_the_same(spark: Any, seed: int) -> None:
    rows = requests(random.Random(seed))
    marked = with_luck(frame(spark, REQUESTS, rows))
    mine = pa.RecordBatch.from_pylist(rows, REQUESTS.schema)
    found = [row["request_id"] for row in mine.filter(decides(mine)).to_pylist()]
    followers = sorted(row["request_id"] for row in after_failures(marked).collect())
    told = sorted(row["request_id"] for row in deciding_requests(marked, fn.lit(True)).collect())
    assert sorted([*found, *followers]) == told
    assert 100 < len(found) < len(rows) - 50
    only_followers = deciding_requests(marked, fn.col("client_ip") != "a").collect()
    assert sorted(row["request_id"] for row in only_followers) == followers


def named(chance: random.Random) -> tuple[Rows, Rows, list[str]]:
    """Mentions, errors, and the requests that were asked in vain."""
    mentions, errors = [], []
    for n in range(400):
        row = {
            "request_id": f"r{n}",
            "conn_id": chance.choice(["c1", "c2", "c3"]),
            "topic": chance.choice(["t", "u"]),
            "partition": chance.randrange(2),
            "api_key": chance.choice([wire.PRODUCE, wire.FETCH, wire.METADATA, wire.LIST_OFFSETS, wire.OFFSET_COMMIT]),
        }
        code = chance.choice([0] * 30 + [6])
        at = 10 * n + chance.randrange(30)
        mentions.append(row | {"direction": "request", "ts_ns": at})
        leader = (
            {"current_leader_id": chance.choice([None, -1, 2])} if code else {"leader_id": chance.choice([None, 1])}
        )
        if n % 11:
            mentions.append(row | {"direction": "response", "ts_ns": at + 5, "error_code": code} | leader)
        owner = {"client_ip": {"c1": "a", "c2": "a", "c3": "b"}[row["conn_id"]]}
        if code:
            errors.append(row | owner | {"error_code": code, "ts_ns": at + 5})
        if n % 97 == 50:
            errors.append(row | owner | {"error_code": 29, "ts_ns": at + 6, "partition": None, "request_id": f"m{n}"})
    return mentions, errors, [f"r{n}" for n in range(0, 400, 77)]


@pytest.mark.parametrize("n_files", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_mentions_that_are_told_are_the_same(
    spark: Any, touches_apart: Callable[..., Rows], seed: int, n_files: int
) -> None:
    mentions, errors, vain = named(random.Random(seed))
    connections = [
        {"conn_id": "c1", "client_ip": "a", "client_ids": ["x"]},
        {"conn_id": "c2", "client_ip": "a", "client_ids": ["y", "x"]},
        {"conn_id": "c3", "client_ip": "b", "client_ids": []},
    ]
    tables = frame(spark, PARTITIONS, mentions), frame(spark, ERRORS, errors), frame(spark, CONNECTIONS, connections)
    names = ["client_ip", *TOUCH]
    expected = [
        tuple(row[name] for name in names) for row in only_after_errors(*tables, vain, of_topics=True).collect()
    ]
    told = [tuple(row[name] for name in names) for row in touches_apart(mentions, errors, connections, vain, n_files)]
    assert sorted(map(repr, told)) == sorted(map(repr, expected))
    assert len(told) > 100
    for address in ("a", "b"):
        times = [row[3] for row in told if row[0] == address]
        assert n_files > 1 or times == sorted(times)
