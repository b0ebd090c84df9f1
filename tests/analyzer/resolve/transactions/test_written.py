"""Batches of transactional producers, aggregated between bounds: by hand, and against plain Python."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, only, partitions, requests

from kafkascope_analyzer.resolve.transactions.facts import TransactionFacts
from kafkascope_analyzer.resolve.transactions.written import DUPLICATE, WrittenStretches
from kafkascope_parsers.api_keys import FETCH, PRODUCE

IDS = [f"{n:016x}" for n in range(3)]
FACTS = TransactionFacts(pa.table({}), {"t1": np.array([100, 200])}, pa.table({}))
SUMS = ("n_answered", "kept_batches", "kept_records", "sent_batches", "sent_records")
NOT_LEADER = 6


def write(number: int, ts_ns: int, **more: object) -> Row:
    row: Row = {"number": number, "ts_ns": ts_ns, "api_key": PRODUCE, "api_version": 9, "transactional_id": "t1"}
    return row | more


def sent(number: int, partition: int, n_records: int | None = 3, **more: object) -> Row:
    return {"number": number, "topic": "t", "partition": partition, "n_batches": 1, "n_records": n_records} | more


def answered(number: int, partition: int, error: int = 0, offset: int | None = None, **more: object) -> Row:
    row: Row = {"number": number, "topic": "t", "partition": partition, "error_code": error}
    return row | {"partition_offset": offset, "error_name": f"E{error}"} | more


def found(asked: list[Row], written: list[Row], answers: list[Row]) -> list[Row]:
    stretches = WrittenStretches(FACTS, pa.array(IDS))
    stretches.take_requests(requests(*asked))
    for rows, direction in ((written, "request"), (answers, "response")):
        stretches.take_partitions(partitions(*rows), PRODUCE, direction)
    return stretches.rows().to_pylist()


def test_requests_between_two_bounds_are_one_row() -> None:
    asked = [write(1, 110, response_ns=115), write(2, 120, response_ns=125), write(3, 200)]
    rows = found(
        asked, [sent(n, p) for n in (1, 2, 3) for p in (1, 0)], [answered(1, 0, offset=7), answered(2, 0, offset=10)]
    )
    names = ("key", "conn_id", "ts_ns", "last_ns", "request_id", "last_request_id", "answered_ns")
    assert only(rows, *names) == [
        ("t1", IDS[0], 110, 120, f"{IDS[0]}-1", f"{IDS[0]}-2", 115),
        ("t1", IDS[0], 200, 200, f"{IDS[0]}-3", f"{IDS[0]}-3", None),
    ]
    assert only(rows, "partitions", "first_offsets", "errors") == [
        (["t-0", "t-1"], [7, None], []),
        (["t-0", "t-1"], [None, None], []),
    ]
    assert only(rows, *SUMS) == [(2, 2, 6, 4, 12), (0, 0, 0, 2, 6)]


@pytest.mark.parametrize(
    ("error", "expected", "names"),
    [
        (0, (1, 1, 3, 1, 3), []),
        (DUPLICATE, (1, 1, 3, 1, 3), [f"E{DUPLICATE}"]),
        (NOT_LEADER, (1, 0, 0, 0, 0), [f"E{NOT_LEADER}"]),
        (-1, (1, 0, 0, 0, 0), ["E-1"]),
        (2**15 - 1, (1, 0, 0, 0, 0), ["E32767"]),
    ],
)
def test_a_batch_that_was_refused_was_not_written(error: int, expected: tuple[int, ...], names: list[str]) -> None:
    (row,) = found([write(1, 110, response_ns=9)], [sent(1, 0)], [answered(1, 0, error)])
    assert tuple(row[name] for name in SUMS) == expected
    assert (row["errors"], row["answered_ns"]) == (names, 9 if expected[1] else None)


def test_the_names_of_errors_are_sorted_and_once_each() -> None:
    answers = [answered(1, p, error) for p, error in enumerate([NOT_LEADER, 3, NOT_LEADER, 0])]
    (row,) = found([write(1, 110)], [], answers)
    assert row["errors"] == ["E3", "E6"]


def test_each_span_has_its_own_errors_and_partitions() -> None:
    asked = [write(1, 110), write(2, 210), write(3, 50)]
    answers = [answered(3, 5, 3), answered(1, 4, NOT_LEADER), answered(2, 2, 9), answered(1, 1, 7)]
    rows = found(asked, [], answers)
    assert only(rows, "ts_ns", "errors", "partitions") == [
        (50, ["E3"], ["t-5"]),
        (110, ["E6", "E7"], ["t-1", "t-4"]),
        (210, ["E9"], ["t-2"]),
    ]


@pytest.mark.parametrize(("version", "protocol"), [(11, "v1"), (12, "v2"), (None, "v1"), (2**15 - 1, "v2")])
def test_the_version_shows_the_protocol(version: int | None, protocol: str) -> None:
    (row,) = found([write(1, 110), write(2, 111, api_version=version)], [sent(1, 0), sent(2, 0)], [])
    assert row["protocol"] == protocol


def test_a_topic_without_a_name_is_told_apart_by_its_id() -> None:
    rows = [sent(1, 0, topic=None, topic_id=name) for name in ("aa", "bb", "bb")] + [sent(1, 0, topic=None)]
    (row,) = found([write(1, 110)], rows, [])
    assert row["partitions"] == ["?-0", "aa-0", "bb-0"]


@pytest.mark.parametrize(
    ("row", "batch"),
    [
        (write(1, 110, transactional_id=None), sent(1, 0)),
        (write(1, 110, api_key=FETCH), sent(1, 0)),
        (write(1, 110), sent(2, 0)),
        (write(1, 110), sent(1, 0, conn=1)),
    ],
    ids=["no transactional id", "no Produce", "another request", "another connection"],
)
def test_other_batches_are_of_no_transaction(row: Row, batch: Row) -> None:
    assert found([row, write(9, 110)], [batch], []) == []


def test_without_producers_there_is_nothing() -> None:
    stretches = WrittenStretches(FACTS, pa.array(IDS))
    stretches.take_requests(requests(write(1, 110, conn=2), write(2, 110, conn=1, transactional_id=None)))
    wanted = stretches.wants_partitions(PRODUCE)
    assert wanted is not None
    assert wanted.tolist() == [False, False, True]
    assert stretches.wants_partitions(FETCH) is None
    assert stretches.rows().num_rows == 0


@pytest.mark.parametrize("seed", range(4))
def test_sums_by_chance_whatever_the_batches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = [
        write(n, int(rng.integers(0, 300)), conn=int(rng.integers(0, 3)), transactional_id=str(rng.choice(["t1", "u"])))
        for n in range(60)
    ]
    written = [sent(n, p, int(rng.integers(1, 9)), conn=asked[n]["conn"]) for n in range(60) for p in (0, 1)]
    answers = [
        answered(row["number"], row["partition"], int(rng.choice([0, 0, NOT_LEADER])), conn=row["conn"])
        for row in written
        if rng.random() < 0.8
    ]
    stretches = WrittenStretches(FACTS, pa.array(IDS))
    for begin in range(0, 60, 25):
        stretches.take_requests(requests(*asked[begin : begin + 25]))
    for rows, direction in ((written, "request"), (answers, "response")):
        for begin in range(0, len(rows), 31):
            stretches.take_partitions(partitions(*rows[begin : begin + 31]), PRODUCE, direction)
    codes = {(row["number"], row["partition"]): row["error_code"] for row in answers}
    expected: dict[tuple[Any, ...], np.ndarray] = {}
    for row in written:
        request = asked[row["number"]]
        bounds = FACTS.bounds.get(request["transactional_id"], np.empty(0))
        span = int((bounds <= request["ts_ns"]).sum())
        code = codes.get((row["number"], row["partition"]))
        kept, n = code == 0, row["n_records"]
        is_sent = code in (0, None)
        more = np.array([code is not None, kept, kept * n, is_sent, is_sent * n], np.int64)
        key = (IDS[request["conn"]], request["transactional_id"], span)
        expected[key] = expected.get(key, 0) + more
    found_rows = stretches.rows().to_pylist()
    assert sorted(only(found_rows, "conn_id", "key", *SUMS)) == sorted(
        (conn_id, name, *sums.tolist()) for (conn_id, name, _), sums in expected.items()
    )
    assert len(expected) > 8
