"""Requests to transaction coordinators as events: by hand."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, errors, no_messages, only, requests

from kafkascope_analyzer.resolve.transactions.requests import CoordinatorRequests
from kafkascope_parsers.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    FETCH,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)

TOPICS = pa.list_(pa.struct([("name", pa.string()), ("partitions", pa.list_(pa.int32()))]))
SCHEMAS = {
    "InitProducerId/request": [("transaction_timeout_ms", pa.int32()), ("producer_id", pa.int64())],
    "EndTxn/response": [("producer_id", pa.int64()), ("producer_epoch", pa.int16())],
    "AddPartitionsToTxn/request": [
        ("v3_and_below_producer_id", pa.int64()),
        ("v3_and_below_producer_epoch", pa.int16()),
        ("v3_and_below_topics", TOPICS),
    ],
}
MESSAGES: dict[str, list[Row]] = {
    "InitProducerId/request": [
        {"request_id": "c0-1", "transaction_timeout_ms": 2**31 - 1, "producer_id": -1},
        {"request_id": "c7-1", "transaction_timeout_ms": 5, "producer_id": 5},
        {"request_id": "c0-0", "transaction_timeout_ms": -(2**31), "producer_id": 2**63 - 1},
    ],
    "EndTxn/response": [{"request_id": "c0-0", "producer_id": 8, "producer_epoch": -(2**15)}],
    "AddPartitionsToTxn/request": [
        {
            "request_id": "c0-0",
            "api_version": 3,
            "v3_and_below_producer_id": 8,
            "v3_and_below_topics": [{"name": "t", "partitions": [0, 2**31 - 1]}, {"name": None, "partitions": [1]}],
        },
        {"request_id": "c0-1", "api_version": 4, "v3_and_below_topics": [{"name": "t", "partitions": [9]}]},
    ],
}


def read_messages(name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([("request_id", pa.string()), ("api_version", pa.int16()), *SCHEMAS[name]])
    for row in MESSAGES[name]:
        filled = [dict.fromkeys(schema.names) | row]
        yield pa.RecordBatch.from_pylist(filled, schema).select(columns)


def ask(api_key: int, **more: object) -> Row:
    return {"api_key": api_key, "transactional_id": "t1", "ts_ns": 5, "api_version": 0} | more


def taken(*rows: Row, refused: pa.Table | None = None) -> tuple[list[Row], CoordinatorRequests]:
    """The events that need no message, and the source."""
    found = CoordinatorRequests()
    found.take_errors(errors() if refused is None else refused)
    return found.take_requests(requests(*rows)).to_pylist(), found


def finished(*rows: Row) -> list[Row]:
    """The events that need a message, where all messages are known."""
    at_once, found = taken(*rows)
    assert at_once == []
    return [row for table in found.finish(read_messages) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("api_key", "version", "protocol"),
    [
        (ADD_OFFSETS_TO_TXN, 0, "v1"),
        (ADD_OFFSETS_TO_TXN, 2**15 - 1, "v1"),
        (END_TXN, 4, "v1"),
        (TXN_OFFSET_COMMIT, 4, "v1"),
        (TXN_OFFSET_COMMIT, 5, "v2"),
    ],
)
def test_the_version_shows_the_protocol(api_key: int, version: int, protocol: str) -> None:
    (row,), _ = taken(ask(api_key, api_version=version))
    assert row["protocol"] == protocol


@pytest.mark.parametrize(
    "row",
    [
        ask(END_TXN, transactional_id=None),
        ask(PRODUCE),
        ask(FETCH),
        ask(ADD_PARTITIONS_TO_TXN, api_version=4),
        ask(-(2**15)),
    ],
)
def test_other_requests_are_no_events(row: Row) -> None:
    at_once, found = taken(row)
    assert (at_once, list(found.finish(no_messages))) == ([], [])


def test_an_event_has_the_columns_of_its_request() -> None:
    row = {"request_packet_no": 3, "response_ns": 9, "producer_id": 2**63 - 1, "committed": True, "number": 6}
    (found,), _ = taken(ask(END_TXN, **row))
    names = ("request_id", "key", "client_ip", "packet_no", "conn_id", "answered_ns", "producer_id", "committed")
    assert only([found], *names) == [("c0-6", "t1", "10.0.0.9", 3, "c0", 9, 2**63 - 1, True)]
    assert only([found], "errors", "timeout_ms", "partitions") == [(None, None, None)]


def test_the_names_of_errors_in_a_response_are_sorted_and_once_each() -> None:
    refused = [("INVALID_TXN_STATE", 0), ("COORDINATOR_NOT_AVAILABLE", 0), ("INVALID_TXN_STATE", 0), ("NONE", 1)]
    refused += [("NOT_LEADER_OR_FOLLOWER", 2)]
    apis = (END_TXN, END_TXN, PRODUCE)
    rows = errors(
        *(
            {"number": n, "error_name": name, "error_code": int(name != "NONE"), "api_key": apis[n]}
            for name, n in refused
        )
    )
    found, _ = taken(*(ask(END_TXN, number=n) for n in range(3)), refused=rows)
    assert only(found, "errors") == [(["COORDINATOR_NOT_AVAILABLE", "INVALID_TXN_STATE"],), (None,), (None,)]


def test_each_request_has_the_errors_of_its_own_response() -> None:
    refused = [{"number": n, "error_name": f"E{n}", "error_code": 1, "api_key": END_TXN} for n in (2, 0, 1)]
    found, _ = taken(*(ask(END_TXN) for _ in range(4)), refused=errors(*refused))
    assert only(found, "errors") == [(["E0"],), (["E1"],), (["E2"],), (None,)]


def test_the_timeout_of_a_producer_is_in_its_message() -> None:
    """Events come in the order of the messages; one without a message comes last."""
    rows = finished(*(ask(INIT_PRODUCER_ID, group_id=f"g{n}") for n in range(3)))
    assert only(rows, "request_id", "group_id", "timeout_ms", "asked_producer_id", "protocol") == [
        ("c0-1", "g1", 2**31 - 1, -1, None),
        ("c0-0", "g0", -(2**31), 2**63 - 1, None),
        ("c0-2", "g2", None, None, None),
    ]


def test_the_response_to_the_end_of_a_v2_transaction_has_the_next_epoch() -> None:
    rows = finished(ask(END_TXN, api_version=5), ask(END_TXN, api_version=2**15 - 1))
    names = ("request_id", "protocol", "answer_producer_id", "answer_producer_epoch")
    assert only(rows, *names) == [("c0-0", "v2", 8, -(2**15)), ("c0-1", "v2", None, None)]


def test_a_producer_adds_partitions_with_its_id_where_the_request_does_not_say_it() -> None:
    rows = finished(ask(ADD_PARTITIONS_TO_TXN, api_version=3), ask(ADD_PARTITIONS_TO_TXN, producer_id=6))
    assert only(rows, "request_id", "producer_id", "partitions") == [
        ("c0-0", 8, ["t-0", "t-2147483647", "?-1"]),
        ("c0-1", 6, None),
    ], "the message of version 4 is a leader's"


def test_what_the_request_says_of_itself_goes_before_the_message() -> None:
    (row,) = finished(ask(ADD_PARTITIONS_TO_TXN, api_version=3, producer_id=6))
    assert row["producer_id"] == 6
