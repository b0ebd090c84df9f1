"""Producers whose own timeout is too short, from latencies written by hand."""

from collections.abc import Sequence

import pytest

from kafkascope_parsers.api_keys import FETCH, PRODUCE
from kafkascope_spark.stories.incidents.errors.short_timeouts import mark_short_timeouts
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.request_refused import REQUEST_REFUSED
from kafkascope_spark.stories.incidents.kinds.too_few_replicas import TOO_FEW_REPLICAS
from kafkascope_spark.stories.incidents.packets.latencies import Asked, Latencies, Latency

from .conftest import NS, MakeRow

MINE = ("10.0.0.21", 2)


def failure_of(recovery: MakeRow, error: str = "REQUEST_TIMED_OUT", api: int = PRODUCE) -> Failure:
    failure = Failure(TOO_FEW_REPLICAS, "orders-0", 5 * NS, 9 * NS)
    failure.take_error(recovery(error, 21, 2, 5, 9, first_api_key=api))
    return failure


def marked(failure: Failure, longest_s: dict[tuple[str, int], float]) -> bool:
    def ask(questions: Sequence[Asked]) -> list[Latencies]:
        assert [(each.from_ns, each.to_ns, set(each.api_keys)) for each in questions] == [(5 * NS, 9 * NS, {PRODUCE})]
        return [Latencies({pair: Latency(longest_ns=int(s * NS)) for pair, s in longest_s.items()})]

    mark_short_timeouts([failure], ask)
    return failure.kind is REQUEST_REFUSED


@pytest.mark.parametrize(
    ("longest_s", "expected"),
    [
        ({MINE: 0.3}, True),
        ({MINE: 1.0}, False),  # replicas were waited for
        ({("10.0.0.22", 2): 0.3}, False),  # responses to others say nothing
        ({MINE: 0.3, ("10.0.0.22", 2): 30}, True),
        ({}, False),
    ],
)
def test_a_timeout_that_ends_within_a_second_is_the_producers_own(
    recovery: MakeRow, longest_s: dict[tuple[str, int], float], expected: bool
) -> None:
    """Produce carries timeout_ms; replicas that failed leave the in-sync replicas after replica.lag.time.max.ms."""
    failure = failure_of(recovery)
    assert marked(failure, longest_s) is expected
    assert failure.responses.longest_answer_ns == (int(0.3 * NS) if expected else 0)


@pytest.mark.parametrize(("error", "api"), [("NOT_ENOUGH_REPLICAS", PRODUCE), ("REQUEST_TIMED_OUT", FETCH)])
def test_nothing_is_asked_about_other_errors_and_requests(recovery: MakeRow, error: str, api: int) -> None:
    failure = failure_of(recovery, error, api)

    def refuse(questions: Sequence[Asked]) -> list[Latencies]:
        raise AssertionError(questions)

    mark_short_timeouts([failure], refuse)
    assert failure.kind is TOO_FEW_REPLICAS
