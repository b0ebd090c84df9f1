"""A broker whose process has just started is slow for a while: that is no incident of its own."""

from dataclasses import replace

import pytest

from kafkascope_spark.stories.incidents.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.broker_processes import ProcessRestart
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.restarted_brokers import restarted_brokers
from kafkascope_spark.stories.incidents.warm_ups import without_warm_ups

from .conftest import NS, MakeState


def slow_at_its_second_port(state: MakeState, since: float) -> list[Failure]:
    """Brokers closed their connections in order and connected again when it was back, so that this port was never
    down."""
    rows = []
    for host in (1, 3):
        served = state(2, host, "serving", 0, since, "broker"), state(2, host, "serving", since + 4, 60, "broker")
        slow = replace(state(2, host, "slow", since, since + 4, "broker"), times_usual=29)
        rows += [replace(row, server_port=9094) for row in (*served, slow)]
    rows += [state(2, 21, "serving", 0, 20), state(2, 21, "serving", 35, 60)]
    return [each for each in broker_failures([*rows, state(2, 21, "down", 20, 26)]) if each.node_id == 2]


@pytest.mark.parametrize(("since", "kinds"), [(26.1, ["broker_down"]), (50, ["broker_down", "broker_slow"])])
def test_it_is_slow_only_long_after_it_was_down(state: MakeState, since: float, kinds: list[str]) -> None:
    """Recorded of brokers that restarted in turn, with a listener for clients and one for brokers."""
    failures = slow_at_its_second_port(state, since)
    assert {failure.kind.name for failure in failures} == {"broker_down", "broker_slow"}
    assert [failure.kind.name for failure in without_warm_ups(failures)] == kinds


@pytest.mark.parametrize(("node", "kinds"), [(2, ["broker_restarted"]), (3, ["broker_slow", "broker_restarted"])])
def test_a_restart_that_only_the_controller_saw_counts_too(state: MakeState, node: int, kinds: list[str]) -> None:
    """It is that of the same broker."""
    slow = [each for each in slow_at_its_second_port(state, 26.1) if each.kind.name == "broker_slow"]
    times = (int(at * NS) for at in (19, 20, 21, 25, 26))
    restart = ProcessRestart(node, f"10.0.0.{node}", int(18.5 * NS), *times, "r1")
    (restarted,) = restarted_brokers([restart], slow, [state(node, 21, "serving", 0, 60)])
    assert [failure.kind.name for failure in without_warm_ups([*slow, restarted])] == kinds
