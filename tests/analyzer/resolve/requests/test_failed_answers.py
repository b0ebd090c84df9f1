"""Requests whose next row on their topic-partition is the error in their own response: by hand, in milliseconds."""

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, errors, failures, partitions, requests

from kafkascope_analyzer.resolve.requests.failed_answers import FailedAnswers
from kafkascope_analyzer.resolve.requests.failure_times import NO_SUBJECT, FailureTimes
from kafkascope_analyzer.scan.unanswered import number_parts
from kafkascope_parsers.api_keys import OFFSET_COMMIT, PRODUCE

CLIENTS = pa.chunked_array([["10.0.0.9", "10.0.0.9", "10.0.0.8"]])
"""The clients of connections 0, 1 and 2."""
ERROR: Row = {"conn": 0, "number": 4, "api_key": PRODUCE, "topic": "t", "partition": 0, "ts_ns": 10}
"""The response to request 4, at 10; the request was sent at 5."""


def times(*more: tuple[str, int, int]) -> FailureTimes:
    """Failures of the topic's partitions: client, partition, time."""
    rows = [("10.0.0.9", "t", 0, 10), *((client, "t", partition, ts_ns) for client, partition, ts_ns in more)]
    return failures({"topic": pa.string(), "partition": pa.int32()}, *rows)


def answers(known: FailureTimes, *rows: Row) -> FailedAnswers:
    found = FailedAnswers(known, known.clients(CLIENTS))
    found.add_errors(errors(*rows))
    found.add_requests(requests())
    return found


def fails(found: FailedAnswers, known: FailureTimes, **more: object) -> bool:
    rows = partitions({"conn": 0, "number": 4, "ts_ns": 5, "topic": "t", "partition": 0} | more)
    clients = known.clients(CLIENTS)[rows["conn"].to_numpy()]
    (one,) = found.fail_next(rows, known.subjects(clients, [rows["topic"], rows["partition"]])).tolist()
    return bool(one)


@pytest.mark.parametrize(
    ("more", "following_ns", "expected"),
    [
        ([], None, True),
        ([], 11, True),
        ([], 10, False),
        ([], 9, False),
        ([("10.0.0.9", 0, 7)], 11, False),
        ([("10.0.0.9", 0, 5)], 11, True),
        ([("10.0.0.9", 1, 7)], 11, True),
        ([("10.0.0.8", 0, 7)], 11, True),
    ],
    ids=[
        "last request",
        "the next one follows",
        "at the time of the response",
        "the next one comes before the response",
        "the partition fails elsewhere in between",
        "and before the request",
        "another partition fails",
        "another client's fails",
    ],
)
def test_nothing_happens_between_request_and_response(
    more: list[tuple[str, int, int]], following_ns: int | None, expected: bool
) -> None:
    known = times(*more)
    found = answers(known, ERROR)
    others = [{"conn": 0, "number": 4, "ts_ns": 5}, {"conn": 0, "number": 6, "ts_ns": 8}, {"conn": 1, "number": 5}]
    following = [] if following_ns is None else [{"conn": 0, "number": 5, "ts_ns": following_ns}]
    found.add_requests(requests(*others, *following))
    assert fails(found, known) is expected
    again = answers(known, ERROR)
    again.resume(found.state())
    assert fails(again, known) is expected, "in a later run too"


@pytest.mark.parametrize(
    "changed",
    [
        {"api_key": OFFSET_COMMIT},
        {"topic": None},
        {"partition": None},
        {"partition": 7},
        {"topic": "never failed"},
        {"number": 3},
        {"conn": 2},
        {"partition": -(2**31)},
    ],
    ids=str,
)
def test_other_errors_are_no_answers_to_it(changed: Row) -> None:
    known = times()
    assert not fails(answers(known, ERROR | changed), known)


def test_only_the_request_itself_fails() -> None:
    known = times()
    found = answers(known, ERROR)
    for changed in ({"number": 5}, {"conn": 1}, {"partition": 1}, {"topic": "u"}, {"topic": None}):
        assert not fails(found, known, **changed), changed


def test_one_response_may_refuse_several_partitions() -> None:
    known = times(("10.0.0.9", 1, 10))
    found = answers(known, ERROR, ERROR | {"partition": 1})
    assert [fails(found, known, partition=partition) for partition in (0, 1, 2)] == [True, True, False]


def test_each_request_has_the_errors_of_its_own_response() -> None:
    """Request 4 fails for partition 0 and request 6 for partition 1, later; both name both partitions."""
    known = times(("10.0.0.9", 1, 30))
    found = answers(known, ERROR, ERROR | {"number": 6, "partition": 1, "ts_ns": 30})
    asked = [(4, 0, 5), (4, 1, 5), (6, 0, 25), (6, 1, 25)]
    expected = [True, False, False, True]
    assert [fails(found, known, number=number, partition=p, ts_ns=at) for number, p, at in asked] == expected


def test_requests_whose_next_one_is_not_known_yet() -> None:
    known = times()
    found = answers(known, ERROR, ERROR | {"conn": 1, "number": 8})
    parts = number_parts(found.without_next())
    assert [part.tolist() for part in parts] == [[0, 1], [4, 8]]
    found.add_requests(requests({"conn": 0, "number": 5, "ts_ns": 11}))
    assert [part.tolist() for part in number_parts(found.without_next())] == [[1], [8]]


def test_without_errors_nothing_is_noted() -> None:
    known = failures({"topic": pa.string(), "partition": pa.int32()})
    found = answers(known)
    found.add_requests(requests({"number": 5, "ts_ns": 11}))
    nothing = np.array([NO_SUBJECT])
    rows = partitions({"conn": 0, "number": 4, "ts_ns": 5, "topic": "t", "partition": 0})
    assert found.fail_next(rows, nothing).tolist() == [False]
    assert (found.without_next().tolist(), [len(part) for part in found.state()]) == ([], [0, 0])
