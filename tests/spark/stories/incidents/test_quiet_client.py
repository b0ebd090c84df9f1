"""Pauses of busy clients, from silences written by hand. Times are seconds."""

from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.connections import LoopStatistics, Silence
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.incidents.signals.quiet_client import late_fetches, quiet_times
from kafkascope_spark.stories.model import Connection

from .conftest import NS, row_of

Make = Callable[..., Any]
POLLS = LoopStatistics("poll_gap", 1_000, 2, 5, 9, conn_id="c1")
"""A thousand times from a response to the next Fetch: 2 ms in the middle."""


def silence(start: float, end: float | None, api: int = api_keys.FETCH, **more: Any) -> Silence:
    facts: dict[str, Any] = {"acknowledged": True, "failed": False, "ended_by": "open" if end is None else "data"}
    times = {"first_ns": int(start * NS), "answered_ns": int(start * NS)}
    times |= {} if end is None else {"last_ns": int(end * NS)}
    counts = {"n_sent_before": 0, "n_sent_after": 0}
    ids = {"request_id": f"before-{start}", "next_request_id": f"after-{end}"}
    return row_of(Silence, api_key=api, **facts | times | counts | ids | more)


def busy(connection: Make, name: str, *silences: Silence, **more: Any) -> Connection:
    """A connection from 0 to 60 s that fetches at once."""
    own = {"last_ns": 60 * NS, "last_request_ns": 59 * NS, "cadences": [POLLS], "silences": list(silences)}
    made: Connection = connection(name, 0, None, **own | more)
    return made


def due(instance: Make, *connections: Connection) -> list[tuple[str, float]]:
    """What was due in each pause, and since when."""
    return [(each.due_kind, each.due_ns / NS) for _, each in quiet_times(instance(*connections))]


def test_a_consumer_that_fetches_at_once_and_did_not_was_paused(connection: Make, instance: Make) -> None:
    found = due(instance, busy(connection, "c1", silence(10, 20)), busy(connection, "c2", silence(10.1, 20.1)))
    assert found == [("fetch", 10.102)]


@pytest.mark.parametrize(
    "more",
    [
        {"cadences": []},
        {"cadences": [LoopStatistics("poll_gap", 1_000, 500, 900, 999, conn_id="c1")]},  # it polls slowly
        {"cadences": [LoopStatistics("poll_gap", 19, 2, 5, 9, conn_id="c1")]},  # such pauses are usual
        {"last_request_ns": int(20.5 * NS)},  # it was closing
    ],
)
def test_a_consumer_that_is_slow_anyway_or_ends_was_not(connection: Make, instance: Make, more: Any) -> None:
    assert due(instance, busy(connection, "c1", silence(10, 20), **more)) == []


@pytest.mark.parametrize(
    "one",
    [
        silence(10, 10.9),  # too short
        silence(10, None),
        silence(10, 20, failed=True),
        silence(10, 20, api_keys.METADATA),
    ],
)
def test_a_client_that_recovers_or_never_went_on_waits_for_another_reason(
    connection: Make, instance: Make, one: Silence
) -> None:
    assert due(instance, busy(connection, "c1", one)) == []


def test_a_client_that_lost_a_connection_before_may_wait(connection: Make, instance: Make) -> None:
    for closed_s, expected in ((5, []), (-1, [("fetch", 10.002)])):
        lost = connection("c0", -5_000, closed_s * 1_000, close_kind="rst_server", last_request_ns=0)
        assert due(instance, busy(connection, "c1", silence(10, 20)), lost) == expected


def producer(connection: Make, **counts: Any) -> Connection:
    own = {"n_sent_before": 20, "n_sent_after": 15, "n_made_meanwhile": 0} | counts
    return busy(connection, "c1", silence(10, 20, api_keys.PRODUCE, **own), cadences=[])


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, [("records", 10.5)]),  # 20 records in 10 s before, 15 at once afterwards
        ({"n_sent_after": 14}, []),
        ({"n_sent_before": 7, "n_sent_after": 7}, []),
        ({"n_made_meanwhile": 3}, []),  # linger.ms: it collected records
        ({"n_made_meanwhile": None}, []),
    ],
)
def test_a_producer_that_catches_up_with_records_made_afterwards_was_paused(
    connection: Make, instance: Make, counts: dict[str, Any], expected: list[tuple[str, float]]
) -> None:
    assert due(instance, producer(connection, **counts)) == expected


def test_the_pace_of_a_producer_that_has_just_started_is_not_known(connection: Make, instance: Make) -> None:
    made = producer(connection)
    made.syn_ns = made.first_ns = 8 * NS
    assert due(instance, made) == []


def test_late_fetches_include_those_after_a_failure(connection: Make, instance: Make) -> None:
    """The client is late until its first Fetch on any connection."""
    both = busy(connection, "c1", silence(10, 20)), busy(connection, "c2", silence(10, 15))
    (late,) = late_fetches(instance(*both))
    assert (late.answered_ns, late.to_ns, late.usual_ms) == (10 * NS, 15 * NS, 2)
    assert (late.request_id, late.next_request_id) == ("before-10", "after-15")
    assert list(late_fetches(instance(busy(connection, "c1", silence(10, 10.9))))) == []
    assert list(late_fetches(instance(busy(connection, "c1", silence(10, 20), cadences=[])))) == []


@pytest.mark.parametrize(("lookup_s", "expected"), [(9.5, []), (5, [("fetch", 10.002)])])
def test_a_client_that_looked_leaders_up_just_before_may_wait(
    connection: Make, instance: Make, lookup_s: float, expected: list[tuple[str, float]]
) -> None:
    lookup = busy(connection, "c2", silence(lookup_s, 20, api_keys.METADATA), cadences=[])
    assert due(instance, busy(connection, "c1", silence(10, 20)), lookup) == expected


@pytest.mark.parametrize(("fetched_s", "expected"), [(20.4, [("fetch", 10.002)]), (20.6, [])])
def test_a_stopped_process_goes_on_everywhere_at_once(
    connection: Make, instance: Make, fetched_s: float, expected: list[tuple[str, float]]
) -> None:
    """A consumer that only fetched late sent its heartbeat before."""
    member = busy(connection, "c2", silence(9, 20, api_keys.HEARTBEAT), cadences=[])
    assert due(instance, busy(connection, "c1", silence(10, fetched_s)), member) == expected


@pytest.mark.parametrize(("second_s", "expected"), [(20.05, [("fetch", 10.002)]), (20.3, [])])
def test_an_encrypted_client_that_goes_on_connection_by_connection_may_have_looked_leaders_up(
    connection: Make, instance: Make, second_s: float, expected: list[tuple[str, float]]
) -> None:
    """Its errors and lookups are not known."""
    own = [busy(connection, name, silence(10, end)) for name, end in (("c1", 20), ("c2", second_s))]
    assert due(instance, *own) == [("fetch", 10.002)]
    for each in own:
        each.n_claimed = 100  # requests that are guessed from the lengths of TLS records
    assert due(instance, *own) == expected
