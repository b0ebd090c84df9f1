"""Whether a client was silent on all its connections at a moment, from silences written by hand. Times are seconds."""

from collections.abc import Callable
from typing import Any

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Silence
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.incidents.signals.silence_moments import AtMoment, at_moment
from kafkascope_spark.stories.model import Connection

from .conftest import NS, row_of


def silence(start: float, end: float | None, **more: Any) -> Silence:
    facts: dict[str, Any] = {"acknowledged": True, "failed": False, "ended_by": "open" if end is None else "data"}
    times = {"first_ns": int(start * NS), "last_ns": None if end is None else int(end * NS)}
    return row_of(Silence, **facts | times | more)


def at_15(
    connection: Callable[..., Connection], instance: Callable[..., Instance], *of_each: list[Silence], **more: Any
) -> AtMoment | None:
    """The moment 15 s of a client whose connections last from 0 to 60 s, each with these silences."""
    times = {"last_ns": 60 * NS} | more
    own = [connection(f"c{n}", 0, None, silences=found, **times) for n, found in enumerate(of_each)]
    return at_moment(instance(*own), 15 * NS)


def test_all_are_silent_from_the_last_begin_to_the_first_end(connection: Any, instance: Any) -> None:
    found = at_15(connection, instance, [silence(10, 20)], [silence(2, 3), silence(12, 18)])
    assert found is not None
    assert (found.begin_ns, found.end_ns, len(found.silences)) == (12 * NS, 18 * NS, 2)


def test_one_connection_on_which_it_sent_is_enough(connection: Any, instance: Any) -> None:
    assert at_15(connection, instance, [silence(10, 20)], [silence(2, 14)]) is None
    assert at_15(connection, instance, [silence(10, 20)], []) is None


def test_a_connection_that_was_over_does_not_count(connection: Any, instance: Any) -> None:
    over = connection("c0", 0, None, last_ns=9 * NS)
    silent = connection("c1", 0, None, last_ns=60 * NS, silences=[silence(10, 20)])
    assert at_moment(instance(over, silent), 15 * NS) is not None
    assert at_moment(instance(over), 15 * NS) is None


def test_an_open_silence_outlasts_the_last_packet_of_its_connection(connection: Any, instance: Any) -> None:
    """A connection whose kernel still acknowledged at 11 s, and of which nothing came afterwards."""
    found = at_15(connection, instance, [silence(10, None)], last_ns=11 * NS)
    assert found is not None
    assert found.end_ns is None


def test_a_host_that_acknowledged_nothing_was_cut_off(connection: Any, instance: Any) -> None:
    assert at_15(connection, instance, [silence(10, 20, acknowledged=False)]) is None


def test_a_client_whose_last_request_failed_may_wait_before_it_retries(connection: Any, instance: Any) -> None:
    failed = at_15(connection, instance, [silence(10, 20, failed=True)], [silence(9, 20)])
    failed_before = at_15(connection, instance, [silence(10, 20)], [silence(9, 20, failed=True)])
    assert failed is None
    assert failed_before is not None


def test_a_new_connection_ends_it_and_one_that_was_given_up_does_not(connection: Any, instance: Any) -> None:
    silent = connection("c1", 0, None, last_ns=60 * NS, silences=[silence(10, 20, ended_by="gave_up")])
    assert at_moment(instance(silent), 15 * NS).end_ns is None
    opened = connection("c2", 17_000, None, last_ns=60 * NS)
    assert at_moment(instance(silent, opened), 15 * NS).end_ns == 17 * NS
