"""Groups that nobody reads while a member asks for a topic that does not exist."""

from collections.abc import Callable

import pytest

from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.groups.other_subscriptions import without_other_subscriptions
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC

from .conftest import NS, MakeRow, MakeStall

MakeRebalance = Callable[..., RebalanceRow]
MISSING = "UNKNOWN_TOPIC_OR_PARTITION"


@pytest.mark.parametrize(
    ("rebalanced_s", "client", "gone", "is_missing"),
    [
        (32, 21, None, True),
        (11, 21, None, False),
        (32, 22, None, False),
        (32, 21, {"client-22": 9}, False),
    ],
    ids=["at its end", "the rebalance began at once", "another client missed it", "a member was removed"],
)
def test_a_rebalance_at_the_end_of_a_stall_is_not_its_cause(
    rebalanced_s: int,
    client: int,
    gone: dict[str, float] | None,
    is_missing: bool,
    stall: MakeStall,
    rebalance: MakeRebalance,
    recovery: MakeRow,
) -> None:
    """Recorded of a deployment with a wrong name of a topic: the group has no member until the next deployment."""
    waits = stall("consume", 21, 1, 10, 33)
    member = Failure(MEMBER, "group orders-app", 10 * NS, 33 * NS, stalls=[waits])
    member.rebalances.append(rebalance(rebalanced_s, 33, gone))
    missing = Failure(MISSING_TOPIC, "order", 9 * NS, 9 * NS)
    missing.take_error(recovery(MISSING, client, 1, 9, None, outcome="client_ended"))
    left = without_other_subscriptions([member], [missing])
    assert (left, missing.stalls) == (([], [waits]) if is_missing else ([member], []))


@pytest.mark.parametrize(
    ("outcome", "until"),
    [("client_ended", " on (last error at 00:14.000)"), ("still_open", " to the end of the capture")],
)
def test_a_client_that_ended_shows_no_failure_afterwards(outcome: str, until: str, recovery: MakeRow) -> None:
    failure = Failure(MISSING_TOPIC, "order", 9 * NS, 9 * NS)
    row = recovery(MISSING, 21, 1, 9, None, outcome=outcome)
    row.last_error_ns = 14 * NS
    failure.take_error(row)
    assert until in Times(0).of(failure)
