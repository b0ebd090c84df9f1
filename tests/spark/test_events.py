"""The reduction before the stories, on tables small enough to see."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories import RECOVERIES
from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS, PARTITIONS, REQUESTS
from kafkascope_spark import events, wire
from kafkascope_spark.deciding import EARLY, deciding_requests
from kafkascope_spark.neighbours import with_near_closes
from kafkascope_spark.read import spark_schema
from kafkascope_spark.recoveries.causes import filled, with_causes
from kafkascope_spark.rows import first_of
from kafkascope_spark.usage import id_samples, usages, with_luck
from kafkascope_spark.vain import asked_in_vain

pytestmark = pytest.mark.spark

SECOND = 1_000_000_000
Frame = Callable[..., Any]


@pytest.fixture(scope="module")
def frame(spark: Any) -> Frame:
    def make(table: Table, *rows: dict[str, Any]) -> Any:
        arrow = pa.Table.from_pylist(list(rows), schema=table.schema)
        return spark.createDataFrame(arrow.to_pylist(), spark_schema(table.schema))

    return make


def request(number: int, api_key: int, **changes: Any) -> dict[str, Any]:
    row = {
        "request_id": f"c1-{number}",
        "conn_id": "c1",
        "client_ip": "10.0.0.1",
        "client_id": "app",
        "api_key": api_key,
        "api_version": 1,
        "correlation_id": number,
        "ts_ns": number * SECOND // 10,
        "request_packet_no": number,
        "status": "ok",
        "error_code": 0,
    }
    return row | changes


def touched(
    frame: Frame,
    touches_apart: Frame | None,
    mentions: list[dict[str, Any]],
    errors: list[dict[str, Any]],
    connections: list[dict[str, Any]],
    vain: Any = (),
) -> list[Any]:
    """The mentions that are told: by Spark, or as those of a storm (touches_apart)."""
    if touches_apart is not None:
        return touches_apart(mentions, errors, connections, vain)
    tables = frame(PARTITIONS, *mentions), frame(ERRORS, *errors), frame(CONNECTIONS, *connections)
    which = list(vain) if isinstance(vain, (list, tuple)) else vain
    of_topics = any(error.get("partition") is None for error in errors)
    return list(events.only_after_errors(*tables, which, of_topics=of_topics).collect())


def kept(table: Any) -> list[str]:
    """Ids of the requests that become events: those that decide by themselves, and the first of each hot kind."""
    marked = with_luck(table)
    firsts = [first_of(r.asDict()) for r in usages(marked).collect()]
    own = [r["request_id"] for r in deciding_requests(marked, fn.lit(True)).collect()]
    return sorted({*own, *(f.request_id for f in firsts if f is not None)})


def test_of_a_healthy_fetch_loop_the_first_ones_are_left(frame: Frame) -> None:
    loop = [request(n, wire.FETCH, n_records=n % 2) for n in range(40)]
    assert kept(frame(REQUESTS, *loop)) == ["c1-0", "c1-1"]


def test_the_first_of_a_kind_is_whole(frame: Frame) -> None:
    loop = [request(n, wire.FETCH, n_records=3, max_wait_ms=500 + n, response_ns=n + 1) for n in (7, 8, 9)]
    (row,) = usages(with_luck(frame(REQUESTS, *loop))).collect()
    first = first_of(row.asDict())
    assert first is not None
    told = (first.request_id, first.ts_ns, first.response_ns, first.n_records, first.correlation_id)
    assert told == ("c1-7", 7 * SECOND // 10, 8, 3, 7)
    assert (row["n"], row["last_ns"], row["max_wait_ms"]) == (3, 9 * SECOND // 10, 509)


def test_failures_and_what_follows_them_are_left(frame: Frame) -> None:
    beats = [request(n, wire.HEARTBEAT, group_id="g") for n in range(9)]
    beats[5] |= {"error_code": 16}
    other = [request(n + 20, wire.HEARTBEAT, group_id="h") for n in range(3)]
    assert kept(frame(REQUESTS, *beats, *other)) == ["c1-0", "c1-20", "c1-5", "c1-6"]


def test_an_error_of_another_name_is_a_failure(frame: Frame) -> None:
    """AddPartitionsToTxn tells its errors in partition_error_code."""
    calls = [request(n + 40, wire.ADD_PARTITIONS_TO_TXN, n_errors=int(n == 2)) for n in range(6)]
    assert kept(frame(REQUESTS, *calls)) == ["c1-40", "c1-42", "c1-43"]


def test_the_control_plane_is_left_whole(frame: Frame) -> None:
    calls = [request(n, wire.METADATA) for n in range(7)]
    assert len(kept(frame(REQUESTS, *calls))) == 7


def test_early_beats_of_a_group_are_left(frame: Frame) -> None:
    beats = [request(n, wire.CONSUMER_GROUP_HEARTBEAT) for n in range(40)]
    assert len(kept(frame(REQUESTS, *beats))) == EARLY


def test_correlation_ids_are_sampled_and_sasl_ones_left_out(frame: Frame) -> None:
    calls = [request(n, wire.FETCH) for n in range(200)]
    calls[3] |= {"correlation_id": wire.FIRST_RESERVED_CORRELATION_ID}
    (row,) = id_samples(with_luck(frame(REQUESTS, *calls))).collect()
    assert row["correlation_ids"] == [n for n in range(65) if n != 3] + list(range(70, 200, 10))
    assert row["times"] == [n * SECOND // 10 for n in row["correlation_ids"]]


def test_of_a_long_connection_one_sample_a_minute_is_left(frame: Frame) -> None:
    calls = [request(n, wire.FETCH, ts_ns=n * 10 * SECOND) for n in range(300)]
    (row,) = id_samples(with_luck(frame(REQUESTS, *calls))).collect()
    assert row["correlation_ids"] == [*range(64), *range(66, 300, 6)]


def test_mentions_follow_an_error_of_the_same_client_and_partition(frame: Frame) -> None:
    def mention(number: int, error_code: int | None, **changes: Any) -> dict[str, Any]:
        direction = "request" if error_code is None else "response"
        row = {
            "request_id": f"r{number}",
            "conn_id": "c1",
            "ts_ns": number,
            "api_key": wire.PRODUCE,
            "direction": direction,
            "topic": "t",
            "partition": 0,
            "error_code": error_code,
        }
        return row | changes

    mentions = [
        mention(1, 0),
        mention(2, 6),
        mention(3, None),
        mention(4, 0),
        mention(5, 0, partition=1),
        mention(6, 0, conn_id="c2"),
    ]
    connections = [
        {"conn_id": "c1", "client_ip": "10.0.0.1", "client_ids": ["app"]},
        {"conn_id": "c2", "client_ip": "10.0.0.2", "client_ids": ["app"]},
    ]
    errors = [{"request_id": "r2", "topic": "t", "partition": 0, "error_code": 6}]
    kept = events.only_after_errors(
        frame(PARTITIONS, *mentions), frame(ERRORS, *errors), frame(CONNECTIONS, *connections), [], of_topics=False
    )
    assert sorted((r["request_id"], r["answered"]) for r in kept.collect()) == [("r3", False), ("r4", True)]


@pytest.mark.parametrize("apart", [False, True])
def test_the_first_success_is_seen_however_often_metadata_comes_before_it(
    frame: Frame, touches_apart: Frame, apart: bool
) -> None:
    """librdkafka asks for Metadata every second while a broker is down, and only then fetches elsewhere."""

    def mention(number: int, api_key: int, direction: str, error_code: int | None = 0) -> dict[str, Any]:
        row = {"request_id": f"r{number}", "conn_id": "c1", "ts_ns": number, "api_key": api_key, "topic": "t"}
        return row | {"direction": direction, "partition": 0, "error_code": error_code}

    metadata = [mention(n, wire.METADATA, "response") for n in range(2, 60)]
    fetches = [mention(60 + n // 2, wire.FETCH, ("request", "response")[n % 2]) for n in range(40)]
    mentions = [mention(1, wire.FETCH, "response", 6), *metadata, *fetches]
    connections = [{"conn_id": "c1", "client_ip": "10.0.0.1", "client_ids": ["app"]}]
    errors = [{"request_id": "r1", "topic": "t", "partition": 0, "error_code": 6}]
    errors[0] |= {"client_ip": "10.0.0.1"}
    kept = touched(frame, touches_apart if apart else None, mentions, errors, connections)
    assert [r["request_id"] for r in kept if r["api_key"] == wire.METADATA] == [f"r{n}" for n in range(2, 18)]
    assert {r["request_id"] for r in kept if r["api_key"] == wire.FETCH} == {f"r{n}" for n in range(60, 76)}


@pytest.mark.parametrize("apart", [False, True])
def test_the_first_success_is_seen_however_many_requests_wait_before_it(
    frame: Frame, touches_apart: Frame, apart: bool
) -> None:
    """As recorded of a kafkajs producer: it goes on sending while too few replicas are there to acknowledge."""

    def mention(number: int, direction: str, error_code: int | None) -> dict[str, Any]:
        row = {"request_id": f"r{number}", "conn_id": "c1", "ts_ns": number, "api_key": wire.PRODUCE, "topic": "t"}
        return row | {"direction": direction, "partition": 0, "error_code": error_code}

    waiting = [mention(n, "request", None) for n in range(2, 42)]
    answers = [mention(n + 40, "response", 0) | {"request_id": f"r{n}"} for n in range(2, 42)]
    connections = [{"conn_id": "c1", "client_ip": "10.0.0.1", "client_ids": ["app"]}]
    errors = [{"request_id": "r1", "topic": "t", "partition": 0, "error_code": 6}]
    errors[0] |= {"client_ip": "10.0.0.1"}
    mentions = [mention(1, "response", 6), *waiting, *answers]
    kept = touched(frame, touches_apart if apart else None, mentions, errors, connections)
    assert sorted(r["ts_ns"] for r in kept if r["answered"]) == list(range(42, 58))
    assert sorted(r["ts_ns"] for r in kept if not r["answered"]) == list(range(2, 18))


@pytest.mark.parametrize("apart", [False, True])
def test_what_follows_an_error_of_a_whole_topic_is_seen(frame: Frame, touches_apart: Frame, apart: bool) -> None:
    """Metadata denies the topic, and names no topic-partition; later it may be written to."""

    def mention(number: int, direction: str, partition: int, topic: str = "t") -> dict[str, Any]:
        row = {"request_id": f"r{number}", "conn_id": "c1", "ts_ns": number, "api_key": wire.PRODUCE}
        return row | {"direction": direction, "topic": topic, "partition": partition}

    mentions = [mention(1, "response", 0), mention(3, "request", 0), mention(4, "response", 0, "u")]
    mentions += [mention(5, "response", 1)]
    connections = [{"conn_id": "c1", "client_ip": "10.0.0.1", "client_ids": ["app"]}]
    denied = {"request_id": "r2", "conn_id": "c1", "ts_ns": 2, "api_key": wire.METADATA, "topic": "t", "error_code": 29}
    denied |= {"client_ip": "10.0.0.1"}
    kept = touched(frame, touches_apart if apart else None, mentions, [denied], connections)
    assert sorted((r["request_id"], r["answered"]) for r in kept) == [("r3", False), ("r5", True)]
    tables = frame(PARTITIONS, *mentions), frame(ERRORS, denied), frame(CONNECTIONS, *connections)
    assert events.only_after_errors(*tables, [], of_topics=False).count() == 0


@pytest.mark.parametrize("apart", [False, True])
def test_mentions_of_requests_that_failed_with_their_connection_are_errors(
    frame: Frame, touches_apart: Frame, apart: bool
) -> None:
    sent = [request(n, wire.PRODUCE, status="unanswered", request_last_ns=n * SECOND) for n in (1, 2, 3, 4)]
    sent[1] |= {"conn_id": "c2", "api_key": wire.FETCH}
    sent[2] |= {"conn_id": "c3"}
    sent[3] |= {"conn_id": "c2"}
    ends = {"client_ip": "10.0.0.1", "client_ids": ["app"], "close_ns": 5 * SECOND}
    kinds = {"c1": "rst_server", "c2": "fin_client", "c3": "fin_client"}
    closed = [{"conn_id": c, "close_kind": kind, **ends} for c, kind in kinds.items()]
    closed[2] |= {"close_ns": 60 * SECOND}
    vain = asked_in_vain(frame(REQUESTS, *sent), frame(CONNECTIONS, *closed))
    assert sorted(r["request_id"] for r in vain.collect()) == ["c1-1", "c1-3", "c1-4"]

    mention = {"conn_id": "c1", "api_key": wire.PRODUCE, "topic": "t", "partition": 0}
    asked = {"request_id": "c1-1", "ts_ns": 1, "direction": "request", **mention}
    again = [
        {"request_id": "c1-9", "ts_ns": 7 + n, "direction": d, **mention} for n, d in enumerate(("request", "response"))
    ]
    other = {**asked, "request_id": "c1-0", "ts_ns": 0, "partition": 1}
    unnamed = {**asked, "request_id": "c1-3", "ts_ns": 2, "topic": None}
    for which in (["c1-1", "c1-3"],) if apart else (vain, ["c1-1", "c1-3"]):
        kept = touched(frame, touches_apart if apart else None, [other, asked, unnamed, *again], [], closed, which)
        told = sorted((r["ts_ns"], r["request_id"], r["answered"], r["vain"]) for r in kept)
        assert told == [(1, "c1-1", False, True), (7, "c1-9", False, False), (8, "c1-9", True, False)]


def test_closes_of_one_moment_and_refusals_after_them_are_seen(frame: Frame) -> None:
    def closed(conn_id: str, at: float, kind: str, idle_ms: int, **changes: Any) -> dict[str, Any]:
        row = {
            "conn_id": conn_id,
            "server_ip": "10.0.0.5",
            "server_port": 9092,
            "close_ns": int(at * SECOND),
            "close_kind": kind,
            "idle_before_close_ms": idle_ms,
        }
        return row | changes

    table = frame(
        CONNECTIONS,
        closed("idle", 10, "fin_server", 90_000),
        closed("busy", 10.2, "fin_server", 20),
        closed("elsewhere", 10.2, "fin_server", 7, server_ip="10.0.0.6"),
        closed("client", 10.1, "fin_client", 1),
        closed("refused", 13, "refused", 0),
        closed("later", 40, "fin_server", 600_000),
    )
    found = {r["conn_id"]: (r["near_idle_ms"], r["refused_after"]) for r in with_near_closes(table).collect()}
    assert found["idle"] == (20, 1)
    assert found["elsewhere"] == (7, 0)
    assert found["later"] == (600_000, 0)


def test_causes_are_the_same_on_the_workers_and_in_this_process(spark: Any) -> None:
    def episode(number: int, at: float, node: int, error: str, resource: str) -> dict[str, Any]:
        return dict.fromkeys(c.name for c in RECOVERIES.columns) | {
            "recovery_id": f"rec-{number}",
            "client_instance_id": f"ci-{number % 2}",
            "start_ns": int(at * SECOND),
            "old_node_id": node,
            "first_error_name": error,
            "resource_kind": "connection" if "9092" in resource else "partition",
            "resource": resource,
        }

    rows = [
        episode(4, 5, 2, "NOT_LEADER_OR_FOLLOWER", "t-0"),
        episode(5, 30, 3, "CONNECTION_CLOSED", "10.0.0.3:9092"),
        episode(1, 1, 3, "CONNECTION_CLOSED", "10.0.0.3:9092"),
        episode(2, 5, 3, "NOT_LEADER_OR_FOLLOWER", "t-0"),
    ]
    frame = spark.createDataFrame(rows, spark_schema(RECOVERIES.schema)).repartition(3)
    told = {r["recovery_id"]: r["cause_id"] for r in with_causes(frame).collect()}
    here = filled(pa.Table.from_pylist(rows, RECOVERIES.schema)).to_pylist()
    assert told == {r["recovery_id"]: r["cause_id"] for r in here}
    assert told["rec-1"] == told["rec-2"]
    assert len(set(told.values())) == 3
