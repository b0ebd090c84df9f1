"""Records that a failure harmed, from stalls and recoveries written by hand."""

import pytest

from kafkascope_parsers.api_keys import FETCH
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.rows.harm import give_fetched_again, harm_of
from kafkascope_spark.stories.incidents.rows.incident_rows import severity_of
from kafkascope_spark.stories.incidents.signals.fetched_again import FetchedAgain
from kafkascope_spark.stories.incidents.table import Harm

from .conftest import NS, MakeRow, MakeStall


@pytest.fixture
def failure() -> Failure:
    return Failure(LEADER_MOVE, "orders-0", 5 * NS, 8 * NS)


def test_records_are_counted_by_topic(failure: Failure, stall: MakeStall) -> None:
    for topic, late, failed in (("orders", 7, 0), ("clicks", 1, 2), ("idle", 0, 0)):
        failure.stalls.append(stall("produce", 21, 2, 5, 8, topic=topic, n_records_late=late, n_records_failed=failed))
    assert harm_of(failure) == (Harm("clicks", 1, 2, 0), Harm("orders", 7, 0, 0))
    assert severity_of(failure) == "error"


def test_what_a_stall_and_a_recovery_show_of_one_writer_may_be_the_same_records(
    failure: Failure, stall: MakeStall, recovery: MakeRow
) -> None:
    refused = {"first_api_key": 0, "outcome": "fatal"}
    failure.stalls.append(stall("produce", 21, 2, 5, 8, n_records_failed=5))
    failure.take_recovery(recovery("TOPIC_AUTHORIZATION_FAILED", 21, 2, 5, None, n_errors=3, **refused))
    failure.take_recovery(recovery("TOPIC_AUTHORIZATION_FAILED", 22, 2, 5, None, n_errors=4, **refused))
    assert harm_of(failure) == (Harm("orders", 0, 9, 0),)


def test_a_batch_that_is_sent_again_and_again_is_one(failure: Failure, stall: MakeStall, recovery: MakeRow) -> None:
    """Each of its connections is closed before the answer (https://github.com/tulios/kafkajs/issues/1656)."""
    lost = {"first_api_key": 0, "outcome": "gave_up", "n_errors": 36}
    failure.stalls.append(stall("produce", 21, 2, 5, None, topic="orders", partition=0))
    failure.take_recovery(recovery("CONNECTION_CLOSED", 21, 2, 5, None, resource="orders-0", **lost))
    assert harm_of(failure) == (Harm("orders", 0, 1, 0),)
    failure.stalls.clear()
    assert harm_of(failure) == (Harm("orders", 0, 36, 0),)


def test_reads_that_are_refused_harm_no_records(failure: Failure, recovery: MakeRow) -> None:
    failure.take_recovery(recovery("TOPIC_AUTHORIZATION_FAILED", 21, 2, 5, None, n_errors=3, first_api_key=FETCH))
    assert harm_of(failure) == ()


def test_what_a_group_fetches_again_belongs_to_the_last_failure_that_concerned_it(
    failure: Failure, stall: MakeStall
) -> None:
    later, other = (Failure(LEADER_MOVE, name, 7 * NS, 9 * NS) for name in ("orders-1", "orders-2"))
    for each, group in ((failure, "billing"), (later, "billing"), (other, "search")):
        each.stalls.append(stall("consume", 21, 2, 7, 8, group_id=group))
    rows = [FetchedAgain("orders", 0, group, None, 8 * NS, 9 * NS, 40) for group in ("billing", "nobody's")]
    long_after = FetchedAgain("orders", 0, "billing", None, 80 * NS, 90 * NS, 7)
    give_fetched_again([failure, later, other], [*rows, long_after])
    assert (harm_of(failure), harm_of(other)) == ((), ())
    assert harm_of(later) == (Harm("orders", 0, 0, 40),)
