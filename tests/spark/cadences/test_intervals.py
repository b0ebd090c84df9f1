"""The native aggregates, on loops whose gaps are known."""

from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.cadences import intervals
from kafkascope_spark.cadences.intervals import cadence_rows
from kafkascope_spark.read import spark_schema

pytestmark = pytest.mark.spark

MS = 1_000_000


def rows_of(spark: Any, loop: list[dict[str, Any]], parts: int) -> list[tuple[Any, ...]]:
    table = spark.createDataFrame(
        [dict.fromkeys(REQUESTS.schema.names) | r for r in loop], spark_schema(REQUESTS.schema)
    ).repartition(parts)
    columns = ["conn_id", "cadence", "n", "p50", "p99", "max"]
    return sorted(tuple(r[c] for c in columns) for r in cadence_rows(table).collect())


def request(number: int, api_key: int, at_ms: int, **changes: Any) -> dict[str, Any]:
    row = {"request_id": f"c1-{number}", "conn_id": "c1", "client_ip": "10.0.0.1", "api_key": api_key}
    return row | {"ts_ns": at_ms * MS, "response_ns": (at_ms + 2) * MS, **changes}


@pytest.mark.parametrize(("parts", "bits"), [(1, intervals.STRETCH_BITS), (3, intervals.STRETCH_BITS), (3, 2), (2, 0)])
def test_gaps_between_rounds_and_after_answers(
    spark: Any, parts: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intervals, "STRETCH_BITS", bits)
    beats = [request(n, wire.HEARTBEAT, 3_000 * n) for n in range(102)]
    beats[101] |= {"ts_ns": (3_000 * 100 + 20_000) * MS}
    polls = [request(1_000 + n, wire.FETCH, 500 * n, response_last_ns=(500 * n + 100) * MS) for n in range(5)]
    sent = [request(2_000 + n, wire.PRODUCE, n, in_flight=1 + n % 2) for n in range(4)]
    assert rows_of(spark, [*beats, *polls, *sent], parts) == [
        ("c1", "fetch", 4, 500, 500, 500),
        ("c1", "heartbeat", 101, 3_000, 3_000, 20_000),
        ("c1", "in_flight", 4, 1, 2, 2),
        ("c1", "poll_gap", 4, 400, 400, 400),
    ]
