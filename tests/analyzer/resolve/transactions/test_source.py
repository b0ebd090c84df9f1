"""The source of events of transactional ids: which rows it takes and keeps, and what it yields."""

import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import (
    Row,
    connections,
    context,
    errors,
    events,
    no_messages,
    only,
    partitions,
    requests,
    rows_of,
)

from kafkascope_analyzer.resolve.transactions import source as module
from kafkascope_analyzer.resolve.transactions.blocked import BLOCKED_SCHEMA
from kafkascope_analyzer.resolve.transactions.facts import TransactionFacts
from kafkascope_analyzer.resolve.transactions.source import TransactionEvents
from kafkascope_parsers.api_keys import ADD_OFFSETS_TO_TXN, END_TXN, FETCH, INIT_PRODUCER_ID, PRODUCE

IDS = [f"{n:016x}" for n in range(2)]
ROWS = connections(*({"conn_id": conn_id, "client_ip": f"10.0.0.{n}"} for n, conn_id in enumerate(IDS)))
PRODUCERS = pa.table({"transactional_id": pa.array([], pa.string()), "producer_id": pa.array([], pa.int64())})


def source_of(*blocked: Row) -> TransactionEvents:
    facts = TransactionFacts(PRODUCERS, {}, rows_of(BLOCKED_SCHEMA, blocked))
    return TransactionEvents(context(ROWS, transactions=facts))


def ask(api_key: int, **more: object) -> Row:
    row: Row = {"conn_id": IDS[0], "api_key": api_key, "api_version": 0, "transactional_id": "t1", "ts_ns": 5}
    return row | more


def kinds(source: TransactionEvents) -> list[str]:
    return [table.column_names[-1] for table in source.finish(ROWS, no_messages)]


def test_requests_that_need_no_message_are_events_at_once_with_their_errors() -> None:
    source = source_of()
    refused = {"api_key": END_TXN, "number": 1, "error_code": 53, "error_name": "INVALID_TXN_STATE"}
    assert list(source.take_errors(errors(refused))) == []
    rows = requests(ask(ADD_OFFSETS_TO_TXN), ask(END_TXN), ask(INIT_PRODUCER_ID), ask(FETCH))
    names = ("key", "client_ip", "conn_id", "at_ns", "api_key", "errors")
    assert only(events(source.take_requests(rows)), *names) == [
        ("t1", "10.0.0.9", IDS[0], 5, ADD_OFFSETS_TO_TXN, None),
        ("t1", "10.0.0.9", IDS[0], 5, END_TXN, ["INVALID_TXN_STATE"]),
    ]
    found = events(source.finish(ROWS, no_messages))
    assert only(found, "key", "api_key", "timeout_ms") == [("t1", INIT_PRODUCER_ID, None)]


def test_every_request_about_a_transaction_is_kept() -> None:
    rows = requests(ask(PRODUCE), ask(PRODUCE, transactional_id=None), ask(FETCH))
    assert source_of().keeps(rows).tolist() == [True, False, True]


def test_batches_are_wanted_of_connections_with_transactional_producers() -> None:
    source = source_of()
    assert events(source.take_requests(requests(ask(PRODUCE, conn=1)))) == []
    wanted = source.wants_partitions(PRODUCE, "request")
    assert wanted is not None
    assert wanted.tolist() == [False, True]
    rows = partitions({"conn": 1, "number": 0, "topic": "t", "partition": 0, "n_records": 4, "n_batches": 1})
    assert list(source.take_partitions(rows, PRODUCE, "request")) == []
    names = ("key", "client_ip", "conn_id", "sent_records", "partitions")
    found = events(source.finish(ROWS, no_messages))
    assert only(found, *names) == [("t1", "10.0.0.1", IDS[1], 4, ["t-0"])]


def test_blocked_consumers_are_events_of_the_bucket_with_their_connection() -> None:
    blocked = {"transactional_id": "t1", "ts_ns": 5, "number": 7, "partition": "t-0", "last_stable_offset": 2**63 - 1}
    source = source_of(
        blocked | {"conn_id": IDS[1]},
        blocked | {"conn_id": IDS[1], "last_stable_offset": 3},
        blocked | {"conn_id": "f" * 16},
    )
    names = ("key", "client_ip", "request_id", "last_stable_offset", "seq")
    assert only(events(source.finish(ROWS, no_messages)), *names) == [
        ("t1", "10.0.0.1", f"{IDS[1]}-7", 3, 0),
        ("t1", "10.0.0.1", f"{IDS[1]}-7", 2**63 - 1, 1),
    ]


def test_a_bucket_without_transactions_has_no_events() -> None:
    source = source_of()
    assert list(source.take_requests(requests(ask(FETCH, transactional_id=None)))) == []
    assert list(source.take_requests(requests())) == []
    assert kinds(source) == []


def test_many_events_are_written_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE_ROWS", 2)
    rows = requests(*(ask(END_TXN, ts_ns=n) for n in range(5)))
    found = list(source_of().take_requests(rows))
    assert [table.num_rows for table in found] == [2, 2, 1]
    assert [at for (at,) in only(events(found), "at_ns")] == list(range(5))
