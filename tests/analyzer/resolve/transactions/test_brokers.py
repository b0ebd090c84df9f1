"""Messages between brokers about transactions: by hand."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, no_messages, only

from kafkascope_analyzer.resolve.transactions.brokers import OFFSETS_TOPIC, leaders_requests, markers
from kafkascope_analyzer.resolve.transactions.facts import TransactionFacts

CONN = "0123456789abcdef"
KNOWN = pa.table({"transactional_id": ["t1", "t2"], "producer_id": [1, 2**63 - 1]})
FACTS = TransactionFacts(KNOWN, {}, pa.table({}))
TOPICS = pa.list_(pa.struct([("name", pa.string()), ("partitions", pa.list_(pa.int32()))]))
ANSWERED = pa.list_(pa.struct([("partition_index", pa.int32()), ("error_code", pa.int16())]))
PLACE = [("request_id", pa.string()), ("conn_id", pa.string()), ("ts_ns", pa.int64())]


def lists(name: str, *fields: tuple[str, pa.DataType]) -> tuple[str, pa.DataType]:
    return name, pa.list_(pa.struct(list(fields)))


PRODUCER = [("producer_id", pa.int64()), ("producer_epoch", pa.int16())]
SCHEMAS = {
    "AddPartitionsToTxn/request": pa.schema(
        [
            *PLACE,
            ("api_version", pa.int16()),
            lists(
                "transactions",
                ("transactional_id", pa.string()),
                *PRODUCER,
                ("verify_only", pa.bool_()),
                ("topics", TOPICS),
            ),
        ]
    ),
    "WriteTxnMarkers/request": pa.schema(
        [*PLACE, lists("markers", *PRODUCER, ("transaction_result", pa.bool_()), ("topics", TOPICS))]
    ),
    "WriteTxnMarkers/response": pa.schema(
        [
            *PLACE,
            lists(
                "markers",
                ("producer_id", pa.int64()),
                ("topics", pa.list_(pa.struct([("name", pa.string()), ("partitions", ANSWERED)]))),
            ),
        ]
    ),
}


class Messages:
    """Reads rows as the bucket's messages, some at a time."""

    def __init__(self, rows: dict[str, list[Row]], n: int = 100) -> None:
        self._rows, self._n = rows, n

    def __call__(self, name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = SCHEMAS[name]
        filled = [dict.fromkeys(schema.names) | {"conn_id": CONN} | row for row in self._rows.get(name, [])]
        yield from pa.Table.from_pylist(filled, schema).select(columns).to_batches(max_chunksize=self._n)


def request_id(number: int) -> str:
    return f"{CONN}-{number}"


def of_leader(number: int, *transactions: Row, version: int = 4) -> Row:
    fields = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")
    return {
        "request_id": request_id(number),
        "ts_ns": 5,
        "api_version": version,
        "transactions": [dict.fromkeys(fields) | one for one in transactions],
    }


def seen(*rows: Row) -> list[Row]:
    read = Messages({"AddPartitionsToTxn/request": list(rows)})
    return [row for table in leaders_requests(read) for row in table.to_pylist()]


def test_a_leader_asks_about_each_transactional_id_with_its_partitions() -> None:
    topics = [{"name": OFFSETS_TOPIC, "partitions": [3]}, {"name": "a", "partitions": [0, 2**31 - 1]}]
    first = {"transactional_id": "t1", "producer_id": 1, "verify_only": True, "topics": topics}
    second = {"transactional_id": "t2", "producer_epoch": -(2**15), "verify_only": False}
    rows = seen(of_leader(7, first, second), of_leader(8, {"transactional_id": "t3"}))
    assert only(rows, "request_id", "key", "producer_id", "producer_epoch", "protocol", "partitions") == [
        (request_id(7), "t1", 1, None, "v1", ["a-0", "a-2147483647"]),
        (request_id(7), "t2", None, -(2**15), "v2", None),
        (request_id(8), "t3", None, None, "v2", None),
    ]
    assert [row["seq"] for row in rows] == [7 << 16, (7 << 16) + 1, 8 << 16]


def test_a_producers_request_is_not_a_leaders() -> None:
    named = {"transactional_id": "t1"}
    assert seen(of_leader(7, named, version=3), of_leader(8, {"producer_id": 1}), of_leader(9)) == []
    assert list(leaders_requests(no_messages)) == []


def write(number: int, *producers: int | None, at: int = 5) -> Row:
    requested = [{"producer_id": p, "producer_epoch": 3, "transaction_result": True, "topics": []} for p in producers]
    return {"request_id": request_id(number), "ts_ns": at, "markers": requested}


def wrote(number: int, *producers: tuple[int, list[tuple[str, int | None, int]]], at: int = 9) -> Row:
    answered = []
    for producer, written in producers:
        topics = [
            {"name": name, "partitions": [{"partition_index": partition, "error_code": code}]}
            for name, partition, code in written
        ]
        answered.append({"producer_id": producer, "topics": topics})
    return {"request_id": request_id(number), "ts_ns": at, "markers": answered}


def found(asked: list[Row], answered: list[Row], n: int = 100) -> list[tuple[Any, ...]]:
    read = Messages({"WriteTxnMarkers/request": asked, "WriteTxnMarkers/response": answered}, n)
    rows = [row for table in markers(read, FACTS) for row in table.to_pylist()]
    return sorted(only(rows, "request_id", "key", "committed", "answered_ns", "partitions"), key=str)


def test_a_marker_is_written_where_the_response_has_no_error() -> None:
    answer = wrote(7, (1, [("a", 0, 0), ("a", 1, 6), ("b", 2**31 - 1, 0), ("b", None, 0), ("c", 3, -(2**15))]))
    assert found([write(7, 1)], [answer]) == [(request_id(7), "t1", True, 9, ["a-0", "b-2147483647"])]


def test_a_marker_without_a_response_is_not_known_to_be_written() -> None:
    expected = [(request_id(7), "t1", True, None, None)]
    assert found([write(7, 1)], []) == expected
    assert found([write(7, 1)], [wrote(8, (1, [("a", 0, 0)]))]) == expected
    assert found([write(7, 1)], [wrote(7, (2**63 - 1, [("a", 0, 0)]))]) == expected


def test_producers_that_nothing_names_are_left_out() -> None:
    assert found([write(7, 5, None, -(2**63))], [wrote(7, (5, [("a", 0, 0)]))]) == []
    assert found([], [wrote(7, (1, [("a", 0, 0)]))]) == []


@pytest.mark.parametrize("n", [1, 2, 3, 100])
@pytest.mark.parametrize("seed", range(3))
def test_requests_and_responses_meet_whatever_the_batches(seed: int, n: int) -> None:
    """Most responses come later than their requests, and some not at all."""
    rng = np.random.default_rng(seed)
    producers = (1, 2**63 - 1, 5)
    asked = [write(number, *(p for p in producers if rng.random() < 0.7)) for number in range(20)]
    order = np.argsort(np.arange(20) + rng.integers(0, 9, 20))
    answered = [
        wrote(number, *((p, [("a", number, 0)]) for p in producers), at=100 + number)
        for number in order.tolist()
        if rng.random() < 0.8
    ]
    names = {1: "t1", 2**63 - 1: "t2"}
    answers = {row["request_id"]: row for row in answered}
    expected = []
    for number, row in enumerate(asked):
        for marker in row["markers"]:
            if marker["producer_id"] in names:
                answer = answers.get(row["request_id"])
                tail = (None, None) if answer is None else (answer["ts_ns"], [f"a-{number}"])
                expected.append((row["request_id"], names[marker["producer_id"]], True, *tail))
    assert found(asked, answered, n) == sorted(expected, key=str)
