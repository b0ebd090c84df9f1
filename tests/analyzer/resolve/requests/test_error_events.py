"""Errors as events, one by one and as the middle of a run: by hand."""

import numpy as np
import pyarrow as pa
from tests.analyzer.resolve.by_hand import (
    MS,
    NO_RUNS,
    Row,
    connections,
    context,
    errors,
    events,
    no_messages,
    only,
    partitions,
    requests,
)

from kafkascope_analyzer.resolve.requests.error_events import ErrorEvents, error_events
from kafkascope_analyzer.resolve.requests.error_runs import ErrorRuns
from kafkascope_analyzer.scan.unanswered import request_numbers
from kafkascope_parsers.api_keys import PRODUCE

ROWS = connections({}, {})
INT64 = pa.int64()


def error(number: int, **more: object) -> Row:
    row: Row = {"number": number, "ts_ns": 10 * number * MS, "sent_ns": 10 * number * MS - 3_000, "packet_no": number}
    return row | {"error_code": 6, "error_name": "NOT_LEADER_OR_FOLLOWER", "api_key": PRODUCE} | more


def test_an_error_is_a_run_of_one_request() -> None:
    source = ErrorEvents(context(ROWS))
    rows = errors(error(7, topic="t", partition=2**31 - 1), error(8, error_code=0))
    names = ("conn_id", "at_ns", "packet_no", "seq", "request_id", "last_request_id", "n", "last_ns", "waited_us")
    found = events(source.take_errors(rows))
    assert only(found, *names) == [("c0", 70 * MS, 7, 0, "c0-7", "c0-7", 1, 70 * MS, 3)]
    assert only(found, "topic", "partition", "leader_id", "last_sent_ns") == [("t", 2**31 - 1, None, 70 * MS - 3_000)]
    assert events(source.finish(ROWS, no_messages)) == []


def test_errors_of_one_response_are_numbered_by_their_field() -> None:
    fields = [("b[1]", "r"), ("b[0]", "s"), ("b[0]", "r")]
    rows = errors(*(error(7, field_path=path, resource=resource) for path, resource in fields), error(8))
    assert only(events([error_events(rows)]), "resource", "seq") == [("r", 0), ("s", 1), ("r", 2), (None, 0)]


def test_a_response_without_errors_is_no_event() -> None:
    source = ErrorEvents(context(ROWS))
    assert events(source.take_errors(errors(error(1, error_code=0), error(2, error_code=None)))) == []
    assert events(source.take_errors(errors())) == []


def runs_of(conn: int, first: int, last: int) -> ErrorRuns:
    ends = request_numbers(pa.table({"conn": [conn, conn], "number": [first, last]}))
    return ErrorRuns(ends[:1], ends[1:], *(np.array([each]) for each in (900, 800, 700)))


def test_the_middle_of_a_run_is_one_event_for_each_error_of_its_first_request() -> None:
    source = ErrorEvents(context(ROWS, runs=runs_of(1, 4, 6)))
    of_run = [error(n, conn=1, topic="t", partition=p, resource=f"t-{p}") for n in range(3, 8) for p in (0, 1)]
    single = events(source.take_errors(errors(*of_run)))
    assert sorted({row["request_id"] for row in single}) == ["c1-3", "c1-7"]
    asked = [{"conn": 1, "number": n, "ts_ns": n, "client_id": f"of {n}"} for n in range(3, 8)]
    assert list(source.take_requests(requests(*asked))) == []
    hints = [row | {"leader_id": 5 if row["partition"] else row["number"]} for row in of_run]
    list(source.take_partitions(partitions(*hints), PRODUCE, "response"))
    found = list(source.finish(ROWS, no_messages))
    names = ("request_id", "last_request_id", "partition", "n", "last_ns", "last_sent_ns", "waited_us", "leader_id")
    assert only(events(found), *names) == [
        ("c1-4", "c1-6", 0, 3, 900, 800, 700, None),
        ("c1-4", "c1-6", 1, 3, 900, 800, 700, 5),
    ]
    assert [row["request"]["client_id"] for row in found[0].to_pylist()] == ["of 4", "of 4"]


def test_only_responses_of_connections_with_runs_are_wanted() -> None:
    source = ErrorEvents(context(ROWS, runs=runs_of(1, 4, 6)))
    wanted = source.wants_partitions(PRODUCE, "response")
    assert wanted is not None
    assert wanted.tolist() == [False, True]
    assert source.wants_partitions(PRODUCE, "request") is None


def test_every_request_that_failed_is_kept_as_a_run_may_become_long_enough() -> None:
    rows = requests({}, {"n_errors": 1}, {"error_code": -1}, {"status": "unanswered"})
    assert ErrorEvents(context(ROWS, runs=NO_RUNS)).keeps(rows).tolist() == [False, True, True, True]


def test_times_of_any_size_are_subtracted_as_they_are() -> None:
    rows = errors(error(1, ts_ns=2**63 - 1, sent_ns=2**63 - 1 - 5_000), error(2, ts_ns=0, sent_ns=2_000))
    assert sorted(only(events([error_events(rows)]), "waited_us")) == [(-2,), (5,)]
