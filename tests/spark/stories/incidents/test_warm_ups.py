"""A broker whose process has just started is slow for a while: that is no incident of its own."""

from dataclasses import replace

import pytest

from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.brokers.restarted_brokers import restarted_brokers
from kafkascope_spark.stories.incidents.brokers.warm_ups import without_warm_ups
from kafkascope_spark.stories.incidents.packets.broker_processes import ProcessRestart

from .conftest import NS, MakeState

BOTH = ["broker_slow", "broker_restarted"]


@pytest.mark.parametrize(
    ("node", "since", "kinds"), [(2, 26.1, ["broker_restarted"]), (3, 26.1, BOTH), (2, 50, BOTH), (2, 10, BOTH)]
)
def test_a_restart_that_only_the_controller_saw_explains_why_its_broker_was_slow(
    state: MakeState, node: int, since: float, kinds: list[str]
) -> None:
    """It is that of the same broker, and was over shortly before."""
    rows = []
    for host in (21, 22):
        rows += [state(2, host, "serving", 0, since), state(2, host, "serving", since + 4, 60)]
        rows.append(replace(state(2, host, "slow", since, since + 4), times_usual=29))
    slow = broker_failures(rows)
    restart = ProcessRestart(node, f"10.0.0.{node}", int(18.5 * NS), *(at * NS for at in (19, 20, 21, 25, 26)), "r1")
    (restarted,) = restarted_brokers([restart], slow, [state(node, 21, "serving", 0, 60)])
    assert [failure.kind.name for failure in without_warm_ups([*slow, restarted])] == kinds
