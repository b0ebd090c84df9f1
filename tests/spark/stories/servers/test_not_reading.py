"""Receive windows of a server that stay closed, from events by hand. Times are seconds."""

import pytest

from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.not_reading import not_reading_stretches
from kafkascope_spark.stories.servers.stretch import Stretch

from .conftest import Trace

ONE, TWO = "10.0.0.21", "10.0.0.22"


def closed(trace: Trace, *times: tuple[float, float | None]) -> None:
    """When a window of the server was closed to the first host."""
    for host in (ONE, TWO):
        trace.host(host)
    for begin, end in times:
        trace.wait(ONE, begin, end, "window", is_proof=True, last=(end or trace.end) - 0.1)


def bad(trace: Trace) -> list[tuple[str, str, float, float | None]]:
    return [row for row in trace.states() if row[1] not in ("serving", "unknown")]


@pytest.mark.parametrize("end", [20.0, None])
def test_a_process_that_sends_nothing_to_anybody_is_frozen(trace: Trace, end: float | None) -> None:
    closed(trace, (10, end))
    trace.payload((0.1, 9.5), *([] if end is None else [(20.1, 59)]))
    assert bad(trace) == [(ONE, "frozen", 9.5, end)]


def test_it_is_over_when_the_process_sends_something_and_reads_later(trace: Trace) -> None:
    closed(trace, (10, 20))
    trace.payload((0.1, 9.5), (18, 59))
    assert bad(trace) == [(ONE, "frozen", 9.5, 18)]


def test_a_process_that_goes_on_with_others_leaves_one_connection_alone(trace: Trace) -> None:
    closed(trace, (10, 12), (12.1, 14))
    trace.payload((0.1, 59))
    assert bad(trace) == [(ONE, "not_reading", 10, 14)]


def test_a_process_that_served_others_for_a_while_is_not_frozen_because_they_ask_no_more(trace: Trace) -> None:
    closed(trace, (10, 30))
    trace.payload((0.1, 14), (40, 59))
    assert bad(trace) == [(ONE, "not_reading", 10, 30)]


def test_a_process_that_nobody_ever_got_a_response_of_is_frozen_only_while_the_window_is_closed(trace: Trace) -> None:
    """Producers with acks=0, one of which sends on when it is read again."""
    closed(trace, (10, 22), (30, 41))
    assert bad(trace) == [(ONE, "frozen", 10, 22), (ONE, "frozen", 30, 41)]


def test_a_host_for_which_more_is_known_is_left_out(trace: Trace) -> None:
    """Whoever lost the server did not wait for it to read."""
    closed(trace, (10, 20))
    trace.payload((0.1, 9.5))
    record = trace.record()
    first, last = (Moment(at * 1_000_000_000, at) for at in (5, 25))
    assert [each.host for each in not_reading_stretches(record, [])] == [ONE]
    assert not_reading_stretches(record, [Stretch(ONE, "down", first, last, True, 1, [first])]) == []
    assert len(not_reading_stretches(record, [Stretch(TWO, "down", first, last, True, 1, [first])])) == 1
