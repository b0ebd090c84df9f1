"""Spilled rows as rows of the contract's tables: by hand."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import SECOND, Row, only, rows_of, spilled_requests

from kafkascope_analyzer.connections.roles import PARTIAL_SCHEMA
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.tables import ERRORS, OUT_OF_RANGE, RECORDS, TCP_EVENTS, TOPOLOGY, UNDECODED
from kafkascope_analyzer.resolve.tables import contract_rows
from kafkascope_analyzer.resolve.tables.contract_rows import Names
from kafkascope_analyzer.scan.partitions import CODED_TEXT
from kafkascope_parsers.api_keys import FETCH, METADATA
from kafkascope_parsers.records.layout import BATCH
from kafkascope_parsers.schema import api_keys, api_name

IDS = [f"{n:016x}" for n in range(2)]
CONN = pa.table(
    {
        "conn_id": IDS,
        "client_ip": ["10.0.0.8", "10.0.0.9"],
        "client_port": pa.array([1, 2], pa.int32()),
        "server_ip": ["10.0.0.1", "10.0.0.2"],
        "server_port": pa.array([9092, 9093], pa.int32()),
        "node_id": pa.array([7, None], pa.int32()),
        "client_side": pa.array([0, 1], pa.int8()),
        "decoded_by": ["plain", "tls_keys"],
    }
)
NAMES = Names(CONN, TopicNames.of({"aa": "orders"}), "cluster")
SECOND_US = 1_000_000
PLACE = [("conn", pa.int64()), ("number", pa.int64())]


def spilled_like(schema: pa.Schema, *rows: Row, more: list[tuple[str, pa.DataType]] | None = None) -> pa.Table:
    """Spilled rows with the columns of a table that do not come from the connection, and others."""
    own = [field for field in schema if field.name not in (*CONN.column_names, "cluster", "request_id", "ts")]
    columns = {field.name: field.type for field in own} | dict(PLACE) | dict(more or [])
    return rows_of(pa.schema(list(columns.items())), ({"conn": 0, "number": n} | row for n, row in enumerate(rows)))


def request(**row: Any) -> Row:
    (found,) = contract_rows.request_rows(spilled_requests(row), NAMES).to_pylist()
    return dict(found)


def test_a_row_has_the_columns_of_its_connection() -> None:
    found = request(conn=1, number=5, ts_ns=SECOND, api_key=FETCH)
    names = ("request_id", "conn_id", "cluster", "client_ip", "client_port", "server_port", "node_id", "decoded_by")
    assert only([found], *names) == [(f"{IDS[1]}-5", IDS[1], "cluster", "10.0.0.9", 2, 9093, None, "tls_keys")]
    assert (found["api_name"], found["status"], found["ts"].timestamp()) == ("Fetch", "ok", 1)
    assert request(number=-3)["request_id"] == f"{IDS[0]}-r2", "a response without a request"


@pytest.mark.parametrize("api_key", [None, -1, max(api_keys()) + 1, -(2**15), 2**15 - 1])
def test_an_api_that_kafka_does_not_have_has_no_name(api_key: int | None) -> None:
    found = request(api_key=api_key)
    assert (found["api_key"], found["api_name"]) == (api_key, None)


@pytest.mark.parametrize("api_key", [0, max(api_keys())])
def test_the_first_and_the_last_api_have_names(api_key: int) -> None:
    assert request(api_key=api_key)["api_name"] == api_name(api_key)


def test_latency_is_from_the_last_byte_of_the_request_and_without_the_queue_the_brokers() -> None:
    found = request(request_last_ns=SECOND, response_ns=3 * SECOND + 999, queued_ns=SECOND // 2)
    names = ("latency_us", "broker_us", "queued_us")
    assert only([found], *names) == [(2 * SECOND_US, 3 * SECOND_US // 2, SECOND_US // 2)]
    assert only([request(request_last_ns=SECOND, queued_ns=0)], *names) == [(None, None, None)]
    assert request(request_last_ns=SECOND, response_ns=3 * SECOND)["broker_us"] is None


@pytest.mark.parametrize(
    ("asked", "answered", "expected"),
    [("m", "n", "m"), ("", "n", "n"), (None, "n", "n"), ("", None, ""), (None, None, None)],
)
def test_a_member_that_has_no_id_yet_gets_that_of_the_response(
    asked: str | None, answered: str | None, expected: str | None
) -> None:
    assert request(member_id=asked, answer_member_id=answered)["member_id"] == expected


@pytest.mark.parametrize(
    ("asked", "answered", "expected"),
    [(5, 7, 5), (0, 7, 7), (0, None, 0), (None, 7, 7), (2**31 - 1, -(2**31), 2**31 - 1)],
)
def test_a_fetch_session_that_begins_has_the_id_of_the_response(
    asked: int | None, answered: int | None, expected: int
) -> None:
    assert request(fetch_session_id=asked, answer_fetch_session_id=answered)["fetch_session_id"] == expected


def test_what_request_or_response_has_of_records_and_producers() -> None:
    names = ("producer_id", "producer_epoch", "n_records", "record_bytes", "n_partitions")
    answers = {"answer_producer_id": 2**63 - 1, "answer_producer_epoch": 3, "answer_n_records": 4}
    answers |= {"answer_record_bytes": 5, "answer_n_partitions": 6}
    assert only([request(**answers)], *names) == [(2**63 - 1, 3, 4, 5, 6)]
    asked = dict.fromkeys(names, 1)
    assert only([request(**answers, **asked)], *names) == [(1, 1, 1, 1, 6)]
    assert request(n_partitions=9, answer_n_partitions=6)["n_partitions"] == 9


def test_errors_have_names_where_kafka_has_such_a_code() -> None:
    found = [request(error_code=code)["error_name"] for code in (0, 6, None)]
    assert found == ["NONE", "NOT_LEADER_OR_FOLLOWER", None]
    assert "NOT_LEADER" not in str(request(error_code=2**15 - 1)["error_name"])


@pytest.mark.parametrize(
    ("row", "resource"),
    [
        ({"topic": "t", "partition": 2**31 - 1, "group_id": "g"}, "t-2147483647"),
        ({"topic": "t", "group_id": "g"}, "t"),
        ({"topic_id": "aa", "partition": 0}, "orders-0"),
        ({"topic_id": "bb", "partition": 0, "group_id": "g"}, "g"),
        ({"partition": 0, "group_id": "g", "transactional_id": "x"}, "g"),
        ({"transactional_id": "x"}, "x"),
        ({}, "node 7"),
        ({"conn": 1}, None),
    ],
)
def test_an_error_is_about_the_narrowest_thing_that_it_names(row: Row, resource: str | None) -> None:
    rows = spilled_like(ERRORS.schema, row | {"error_code": 6, "ts_ns": 5}, more=[("topic_id", pa.string())])
    (found,) = contract_rows.error_table_rows(rows, NAMES).to_pylist()
    assert (found["resource"], found["error_name"], found["retriable"]) == (resource, "NOT_LEADER_OR_FOLLOWER", True)


def coded(**values: list[str | None]) -> dict[str, pa.Array]:
    return {name: pa.array(each, pa.string()).dictionary_encode().cast(CODED_TEXT) for name, each in values.items()}


def test_partitions_have_the_names_of_their_topics() -> None:
    columns = {
        "conn": [1, 0, 1],
        "number": [4, 5, -1],
        "ts_ns": [SECOND, 2, 3],
        "partition": pa.array([0, 1, 2], pa.int32()),
    }
    texts = coded(topic=[None, "t", ""], topic_id=["aa", None, "bb"])
    errors = {"error_code": pa.array([6, 0, None], pa.int16())}
    rows = contract_rows.partition_rows(pa.table(columns | texts | errors), (FETCH, "response"), NAMES).to_pylist()
    names = ("request_id", "conn_id", "cluster", "api_key", "direction", "topic", "topic_id", "partition")
    assert only(rows, *names) == [
        (f"{IDS[1]}-4", IDS[1], "cluster", FETCH, "response", "orders", "aa", 0),
        (f"{IDS[0]}-5", IDS[0], "cluster", FETCH, "response", "t", None, 1),
        (f"{IDS[1]}-r0", IDS[1], "cluster", FETCH, "response", None, "bb", 2),
    ]
    assert rows[0]["error_name"] == "NOT_LEADER_OR_FOLLOWER"
    assert (rows[0]["ts"].timestamp(), rows[0]["high_watermark"]) == (1, None)


def test_a_partition_of_a_message_without_errors_has_none() -> None:
    columns = {"conn": [0], "number": [0], "ts_ns": [1], "partition": pa.array([0], pa.int32())}
    rows = pa.table(columns | coded(topic=["t"], topic_id=[None]))
    (found,) = contract_rows.partition_rows(rows, (METADATA, "request"), NAMES).to_pylist()
    assert (found["error_code"], found["error_name"]) == (None, None)


def test_batches_have_the_columns_of_their_record_set() -> None:
    """The first set has two batches, the second none, the third one."""
    places: dict[str, Any] = {
        "conn": [0, 1, 1],
        "number": [0, 1, 2],
        "ts_ns": [1, 2, 3],
        "n_batches": pa.array([2, 0, 1], pa.int32()),
    }
    places |= {"api_key": pa.array([FETCH] * 3, pa.int16()), "partition": pa.array([0, 1, 2], pa.int32())}
    texts = coded(direction=["response"] * 3, topic=["t", "t", None], topic_id=[None, None, "aa"])
    batches = np.zeros(3, BATCH)
    batches["base_offset"], batches["n_records"] = [10, 20, 2**63 - 1], [1, 2, 3]
    rows = contract_rows.record_batch_rows(pa.table(places | texts), batches, NAMES).to_pylist()
    assert only(rows, "request_id", "topic", "partition", "base_offset", "n_records", "cluster") == [
        (f"{IDS[0]}-0", "t", 0, 10, 1, "cluster"),
        (f"{IDS[0]}-0", "t", 0, 20, 2, "cluster"),
        (f"{IDS[1]}-2", "orders", 2, 2**63 - 1, 3, "cluster"),
    ]


def test_records_and_facts_about_topics_are_named_by_id() -> None:
    row = {"topic_id": "aa", "partition": 1, "ts_ns": 5}
    (record,) = contract_rows.record_rows(spilled_like(RECORDS.schema, row), NAMES).to_pylist()
    assert only([record], "request_id", "topic", "partition") == [(f"{IDS[0]}-0", "orders", 1)]


def test_a_fact_keeps_the_node_that_it_names_and_not_the_one_that_sent_it() -> None:
    kinds = [("node_id", pa.int32())]
    rows = spilled_like(
        TOPOLOGY.schema, *({"kind": "leader", "topic_id": "aa", "node_id": n} for n in (3, None)), more=kinds
    )
    found = contract_rows.topology_rows(rows, NAMES).to_pylist()
    assert only(found, "topic", "node_id", "conn_id") == [("orders", 3, IDS[0]), ("orders", None, IDS[0])]


SIDES = [{"conn": conn, "side": side} for conn in (0, 1) for side in (0, 1)]


def test_the_side_of_a_packet_is_client_or_server() -> None:
    """The client is side 0 of connection 0, and side 1 of connection 1."""
    rows = spilled_like(TCP_EVENTS.schema, *SIDES, more=[("side", pa.int8()), ("kind", pa.uint8())])
    rows = rows.set_column(rows.column_names.index("kind"), "kind", pa.array([0, 0, 0, 4], pa.uint8()))
    found = contract_rows.event_rows(rows, NAMES).to_pylist()
    assert only(found, "side", "event") == [("client", "syn"), ("server", "syn"), ("server", "syn"), ("client", "rst")]


def test_undecoded_bytes_of_the_client_are_requests() -> None:
    rows = spilled_like(UNDECODED.schema, *SIDES, more=[("side", pa.int8())])
    found = contract_rows.undecoded_rows(rows, NAMES).to_pylist()
    assert only(found, "direction") == [("request",), ("response",), ("response",), ("request",)]


def test_values_out_of_range_name_the_api() -> None:
    rows = spilled_like(OUT_OF_RANGE.schema, {"api_key": FETCH, "n": 2**62}, {"api_key": -(2**15)})
    found = contract_rows.out_of_range_rows(rows, NAMES).to_pylist()
    assert only(found, "api_name", "n", "request_id") == [("Fetch", 2**62, f"{IDS[0]}-0"), (None, None, f"{IDS[0]}-1")]


@pytest.mark.parametrize(
    ("confirmed", "refused", "verdict", "times"),
    [(1, 9, "confirmed", (3, 4)), (0, 1, "refused", (1, 8)), (0, 0, "claimed", (1, 8))],
)
def test_a_role_is_proven_by_answers_and_has_their_times(
    confirmed: int, refused: int, verdict: str, times: tuple[int, int]
) -> None:
    row = {"conn": 1, "role": "leader", "n_confirmed": confirmed, "n_refused": refused, "first_ns": 1, "last_ns": 8}
    row |= {"confirmed_first_ns": 3, "confirmed_last_ns": 4, "evidence": [0, -1]}
    found = contract_rows.role_rows(rows_of(PARTIAL_SCHEMA, [row, row | {"evidence": []}]), NAMES).to_pylist()
    assert only(found, "verdict", "first_ns", "last_ns", "evidence") == [
        (verdict, *times, [f"{IDS[1]}-0", f"{IDS[1]}-r0"]),
        (verdict, *times, []),
    ]


def test_no_rows_are_no_rows() -> None:
    assert contract_rows.request_rows(spilled_requests(), NAMES).num_rows == 0
    assert contract_rows.role_rows(PARTIAL_SCHEMA.empty_table(), NAMES).num_rows == 0
