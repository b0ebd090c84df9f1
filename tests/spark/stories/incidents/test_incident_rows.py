"""Whether a failure is over, from recoveries and stalls written by hand. Times are seconds."""

from typing import Any

import pytest

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.cluster_down import CLUSTER_DOWN
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC
from kafkascope_spark.stories.incidents.rows.incident_rows import end_ns, ending_of

from .conftest import NS, MakeRow, MakeStall, ns

MISSING = "UNKNOWN_TOPIC_OR_PARTITION"


def failed(recovery: MakeRow, error: str, outcome: str, last_s: float = 58) -> Any:
    names = (error, "CONNECTION_UNANSWERED") if error == "CONNECTION_RESET" else (error,)
    row = recovery(error, 21, 1, 10, 20 if outcome == "recovered" else None, outcome=outcome, error_names=names)
    row.last_error_ns = int(last_s * NS)
    return row


@pytest.mark.parametrize(
    ("outcome", "ending"), [("recovered", "over"), ("still_open", "going_on"), ("client_ended", "not_seen")]
)
def test_what_only_errors_show_is_over_where_a_client_succeeded(recovery: MakeRow, outcome: str, ending: str) -> None:
    failure = Failure(MISSING_TOPIC, "orders", 10 * NS, 10 * NS)
    failure.take_error(failed(recovery, MISSING, outcome))
    assert ending_of(failure) == ending


@pytest.mark.parametrize(
    ("outcome", "until_s", "ending"),
    [("recovered", 19, "over"), ("still_open", None, "going_on"), ("client_ended", 19, "over")],
)
def test_brokers_that_serve_others_again_are_not_back_for_who_still_tries(
    recovery: MakeRow, outcome: str, until_s: int | None, ending: str
) -> None:
    """A client that goes on with the addresses which all brokers have left
    (https://github.com/dpkp/kafka-python/issues/1683)."""
    failure = Failure(CLUSTER_DOWN, "cluster", 10 * NS, 19 * NS)
    failure.take_recovery(failed(recovery, "CONNECTION_RESET", outcome))
    assert (end_ns(failure), ending_of(failure)) == (ns(until_s), ending)


def test_where_stalls_show_who_waited_they_decide(recovery: MakeRow, stall: MakeStall) -> None:
    failure = Failure(CLUSTER_DOWN, "cluster", 10 * NS, 19 * NS)
    failure.take_recovery(failed(recovery, "CONNECTION_RESET", "still_open"))
    failure.stalls.append(stall("produce", 21, 1, 10, 21))
    assert (end_ns(failure), ending_of(failure)) == (21 * NS, "over")
