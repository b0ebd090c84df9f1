"""Which requests are events by themselves: by hand, and the first successes after failures against plain Python."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import (
    NO_RUNS,
    SECOND,
    Row,
    connections,
    context,
    events,
    failures,
    only,
    requests,
)

from kafkascope_analyzer.resolve.requests.error_runs import ErrorRuns
from kafkascope_analyzer.resolve.requests.events import EARLY, RequestEvents
from kafkascope_parsers.api_keys import FETCH, HEARTBEAT, JOIN_GROUP, LIST_OFFSETS, PRODUCE

ROWS = connections({"client_ip": "10.0.0.1"}, {"client_ip": "10.0.0.1"}, {"client_ip": None})
SUBJECT = {"api_key": pa.int16(), "group_id": pa.string(), "transactional_id": pa.string()}
Failure = tuple[str, int, str | None, str | None, int]


def source_of(*failed: Failure, runs: ErrorRuns = NO_RUNS) -> RequestEvents:
    return RequestEvents(context(ROWS, runs=runs, request_failures=failures(SUBJECT, *failed)))


def chosen(source: RequestEvents, *rows: Row) -> list[int]:
    """The places of the rows that are events."""
    table = requests(*({"number": 100 + n, "response_last_ns": n} | row for n, row in enumerate(rows)))
    found = events(source.take_requests(table))
    kept = source.keeps(table)
    assert kept is not None
    assert len(found) == kept.sum()
    return [row["response_last_ns"] for row in found]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"api_key": JOIN_GROUP}, True),
        ({"api_key": None}, True),
        ({"api_key": -(2**15)}, True),
        ({"api_key": 2**15 - 1}, True),
        ({"api_key": FETCH}, False),
        ({"api_key": FETCH, "error_code": -1}, True),
        ({"api_key": FETCH, "n_errors": 1}, True),
        ({"api_key": FETCH, "status": "unanswered"}, True),
        ({"api_key": FETCH, "status": "undecoded"}, True),
        ({"api_key": FETCH, "throttle_ms": 2**31 - 1}, True),
        ({"api_key": FETCH, "throttle_ms": -(2**31)}, False),
        ({"api_key": FETCH, "in_flight": 1, "latency_us": 5_000_001}, True),
        ({"api_key": FETCH, "in_flight": 1, "latency_us": 5_000_000}, False),
        ({"api_key": FETCH, "in_flight": 1, "latency_us": 5_500_001, "max_wait_ms": 500}, True),
        ({"api_key": FETCH, "in_flight": 1, "latency_us": 5_500_000, "max_wait_ms": 500}, False),
        ({"api_key": FETCH, "in_flight": 2, "latency_us": 60_000_000}, False),
        ({"api_key": HEARTBEAT, "latency_us": 500_000}, True),
        ({"api_key": HEARTBEAT, "latency_us": 499_999}, False),
        ({"api_key": LIST_OFFSETS, "number": EARLY - 1}, True),
        ({"api_key": LIST_OFFSETS, "number": EARLY}, False),
        ({"api_key": JOIN_GROUP, "number": -1}, False),
    ],
    ids=str,
)
def test_what_a_request_is_by_itself(row: Row, expected: bool) -> None:
    assert chosen(source_of(), row) == ([0] if expected else [])


def test_the_event_has_the_place_and_the_columns_of_the_request() -> None:
    row = {"api_key": JOIN_GROUP, "number": 7, "ts_ns": 5, "request_packet_no": 3, "group_id": "g"}
    names = ("key", "conn_id", "at_ns", "packet_no", "seq", "request_id", "group_id", "ts_ns")
    assert only(events(source_of().take_requests(requests(row))), *names) == [
        ("10.0.0.9", "c0", 5, 3, 7, "c0-7", "g", 5)
    ]


def fetch(at: int, **more: Any) -> Row:
    return {"api_key": FETCH, "ts_ns": at, "group_id": "g"} | more


def test_the_first_success_of_each_connection_after_a_failure_is_an_event() -> None:
    """The failure is on whatever connection of the client; of the same API for the same group."""
    source = source_of(("10.0.0.1", FETCH, "g", None, 10))
    rows = [fetch(9), fetch(11), fetch(12), fetch(13, conn=1), fetch(14, conn=1)]
    rows += [fetch(15, conn=2), fetch(16, conn=1, group_id="h"), fetch(17, conn=1, api_key=PRODUCE)]
    assert chosen(source, *rows) == [1, 3]


def test_a_success_of_the_very_time_and_the_one_after_it_are_events() -> None:
    assert chosen(source_of(("10.0.0.1", FETCH, "g", None, 10)), fetch(10), fetch(11), fetch(12)) == [0, 1]


def test_neither_a_failed_request_nor_a_stray_response_is_the_first_success() -> None:
    source = source_of(("10.0.0.1", FETCH, "g", None, 10))
    assert chosen(source, fetch(11, n_errors=1), fetch(12, number=-1), fetch(13), fetch(14)) == [0, 2]


@pytest.mark.parametrize("seed", range(4))
def test_successes_after_failures_whatever_the_batches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    failed = sorted(rng.choice(np.arange(0, 400, 2), 12, replace=False).tolist())
    times = np.sort(rng.choice(np.arange(1, 401, 2), 120, replace=False)).tolist()
    rows = [fetch(at, conn=int(rng.integers(0, 2)), number=100 + n) for n, at in enumerate(times)]
    source, found = source_of(*(("10.0.0.1", FETCH, "g", None, at) for at in failed)), []
    for begin in range(0, 120, 25):
        found += only(events(source.take_requests(requests(*rows[begin : begin + 25]))), "at_ns")
    expected, last = [], [-1, -1]
    for row in rows:
        before = sum(at < row["ts_ns"] for at in failed)
        if before and before != last[row["conn"]]:
            expected.append((row["ts_ns"],))
        last[row["conn"]] = before
    assert found == expected
    assert 10 < len(expected) < 60


def test_a_failure_that_became_known_later_needs_all_requests_of_its_client() -> None:
    first = source_of(("10.0.0.1", FETCH, "g", None, 5 * SECOND))
    chosen(first, fetch(10 * SECOND))
    for failure_ns, needed in ((9 * SECOND, True), (11 * SECOND, False)):
        failed = [("10.0.0.1", FETCH, "g", None, at) for at in (5 * SECOND, failure_ns)]
        second = source_of(*failed)
        second.resume(first.added_up())
        assert second.needs_all_requests().tolist() == [needed, needed, False]


def test_the_middle_of_a_run_is_no_event_but_is_kept() -> None:
    """A later run may find that it is no middle."""
    one = np.array([1])
    source = source_of(runs=ErrorRuns(one, one, one, one, one))
    rows = requests(*(fetch(at, n_errors=1) for at in range(3)))
    assert only(events(source.take_requests(rows)), "at_ns") == [(0,), (2,)]
    assert source.keeps(rows).all()
