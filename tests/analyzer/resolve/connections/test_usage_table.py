"""Totals of the requests of each connection and kind: by hand, and against adding up row by row."""

from typing import Any

import numpy as np
import pytest
from tests.analyzer.resolve.by_hand import MS, Row, requests

from kafkascope_analyzer.resolve.connections import usage_table
from kafkascope_analyzer.resolve.connections.usage_table import UsageTable
from kafkascope_parsers.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    FETCH,
    FIRST_RESERVED_CORRELATION_ID,
    LEAVE_GROUP,
    PRODUCE,
)

LEAST = {"max_wait_ms": -(2**31), "min_bytes": -(2**31), "generation_or_epoch": -(2**31), "correlation_id": -(2**31)}
MOST = dict.fromkeys(LEAST, 2**31 - 1)


def found(*rows: Row, failed: tuple[int, ...] = ()) -> list[Row]:
    table = UsageTable()
    table.add(requests(*rows), np.isin(np.arange(len(rows)), failed))
    used = table.rows()
    assert used is not None
    return used.to_pylist()


def values(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_requests_of_one_kind_are_one_row_with_the_values_of_the_first() -> None:
    """The first by its number on the connection, in whatever order they come."""
    rows = [
        {"number": 7, "ts_ns": 9 * MS, "n_records": 5, "record_bytes": 50, "n_partitions": 2, "response_last_ns": 10},
        {"number": 3, "ts_ns": 4 * MS, "n_records": 2, "record_bytes": 20, "n_partitions": 1, "latency_us": 8},
    ]
    (row,) = found(*({"api_key": PRODUCE, "api_version": 9} | row for row in rows))
    assert values(row, "n", "first_number", "ts_ns", "last_ns", "n_records") == (2, 3, 4 * MS, 9 * MS, 2)
    assert values(row, "total_records", "total_record_bytes", "total_partitions") == (7, 70, 3)
    assert values(row, "last_answered_ns", "latency_us", "has_records", "returned_records") == (10, 8, True, True)


def test_what_tells_requests_apart() -> None:
    rows: list[Row] = [{}, {"client_id": "a"}, {"client_id": ""}, {"api_version": 1}, {"acks": 0}, {"replica_id": 1}]
    rows += [{"status": "unanswered"}, {"conn": 1}, {"n_records": 1}, {"n_records": 1, "status": "ok"}, {"acks": -1}]
    counts = sorted(row["n"] for row in found(*({"api_key": FETCH} | row for row in rows)))
    assert counts == [1] * 7 + [2, 2], "acks is a kind of its own where it is 0"


@pytest.mark.parametrize(
    ("field", "value", "flag", "expected"),
    [
        ("replica_id", 0, "is_replica", True),
        ("replica_id", -1, "is_replica", False),
        ("replica_id", -(2**31), "is_replica", False),
        ("n_records", 1, "returned_records", True),
        ("n_records", 0, "returned_records", False),
        ("n_records", 1, "has_records", True),
        ("n_records", 0, "has_records", False),
        ("record_bytes", 1, "has_records", True),
        ("record_bytes", 0, "has_records", False),
        ("record_bytes", -(2**63), "has_records", False),
        ("acks", 0, "is_unacknowledged", True),
        ("acks", 1, "is_unacknowledged", False),
        ("acks", None, "is_unacknowledged", False),
    ],
)
def test_what_a_request_is(field: str, value: int | None, flag: str, expected: bool) -> None:
    (row,) = found({"api_key": FETCH, field: value})
    assert row[flag] is expected


def test_the_first_producer_id_is_0() -> None:
    assert [row["producer_id"] for row in found({"api_key": PRODUCE, "producer_id": 0})] == [0]


def test_a_failed_fetch_returned_no_records() -> None:
    rows = found({"api_key": FETCH, "n_records": 4}, {"api_key": FETCH, "n_records": 4}, failed=(1,))
    assert [values(row, "failed", "returned_records", "has_records") for row in rows] == [
        (False, True, True),
        (True, False, True),
    ]


def test_leaves_and_new_sessions_are_counted() -> None:
    rows = [{"api_key": CONSUMER_GROUP_HEARTBEAT, "generation_or_epoch": epoch} for epoch in (3, -1, -2, 0, None)]
    rows += [{"api_key": FETCH, "fetch_session_epoch": epoch} for epoch in (0, 0, 1, -1, None)]
    rows += [{"api_key": LEAVE_GROUP}]
    of_api = {row["api_key"]: values(row, "n_leaves", "n_new_fetch_sessions") for row in found(*rows)}
    assert of_api == {CONSUMER_GROUP_HEARTBEAT: (2, 0), FETCH: (0, 2), LEAVE_GROUP: (1, 0)}


def test_unknown_values_are_null_and_reserved_correlation_ids_do_not_count() -> None:
    (row,) = found({"api_key": FETCH, "correlation_id": FIRST_RESERVED_CORRELATION_ID, "producer_id": -1})
    names = ("last_correlation_id", "producer_id", "max_wait_ms", "least_wait_ms", "least_min_bytes")
    assert values(row, *names, "highest_generation", "lowest_generation", "last_answered_ns") == (None,) * 8


def test_the_least_and_the_most_that_a_field_may_hold() -> None:
    (row,) = found({"api_key": FETCH} | LEAST, {"api_key": FETCH} | MOST, {"api_key": FETCH})
    assert values(row, "max_wait_ms", "least_wait_ms", "least_min_bytes") == (2**31 - 1, -(2**31), -(2**31))
    assert values(row, "highest_generation", "lowest_generation") == (2**31 - 1, 2**31 - 1)
    assert row["last_correlation_id"] == -(2**31), "the largest one is reserved"


def test_without_a_request_there_are_no_rows() -> None:
    table = UsageTable()
    table.resume(table.state())
    assert (table.state(), table.rows()) == (None, None)


def plain(rows: list[Row]) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """n, total_records, last_ns, first number, least and most wait of each kind, added up row by row."""
    kinds: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = (f"c{row['conn']}", row["client_id"], row["api_key"])
        kinds.setdefault(key, []).append(row)
    out = {}
    for key, mine in kinds.items():
        waits = [row["max_wait_ms"] for row in mine]
        total, last = sum(row["n_records"] for row in mine), max(row["ts_ns"] for row in mine)
        out[key] = (len(mine), total, last, min(row["number"] for row in mine), min(waits), max(waits))
    return out


@pytest.mark.parametrize("most", [1, 1 << 16])
@pytest.mark.parametrize("seed", range(3))
def test_totals_whatever_the_batches_and_appends(seed: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_table, "_MOST_ROWS", most)
    rng = np.random.default_rng(seed)
    rows = [
        {
            "conn": int(rng.integers(0, 3)),
            "number": int(number),
            "client_id": str(rng.choice(["a", "b"])),
            "api_key": int(rng.choice([PRODUCE, FETCH])),
            "ts_ns": int(rng.integers(0, 10**9)),
            "n_records": int(rng.integers(1, 9)),
            "max_wait_ms": int(rng.integers(-5, 500)),
        }
        for number in rng.permutation(200)
    ]
    table = UsageTable()
    for begin in range(0, 200, 40):
        table.add(requests(*rows[begin : begin + 40]), np.zeros(40, np.bool_))
        if begin == 80:
            state, table = table.state(), UsageTable()
            table.resume(state)
    used = table.rows()
    assert used is not None
    names = ("n", "total_records", "last_ns", "first_number", "least_wait_ms", "max_wait_ms")
    keys = ("conn_id", "client_id", "api_key")
    assert {values(row, *keys): values(row, *names) for row in used.to_pylist()} == plain(rows)
