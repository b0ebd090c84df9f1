"""When a controlled shutdown began, from failures and heartbeats written by hand. Times are seconds."""

import numpy as np
import pytest

from kafkascope_spark.stories.incidents.brokers.controlled_shutdown import HANDOVER_NS, mark_controlled_shutdowns
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.broker_down import BROKER_DOWN
from kafkascope_spark.stories.incidents.kinds.broker_silent import BROKER_SILENT
from kafkascope_spark.stories.incidents.packets.broker_processes import Heartbeats
from kafkascope_spark.stories.recoveries.table import Recovery

from .conftest import NS, MakeRow

LED_ELSEWHERE = "NOT_LEADER_OR_FOLLOWER"


def began(
    recoveries: list[Recovery], beats: dict[int, Heartbeats] | None = None, kind: Kind = BROKER_DOWN
) -> tuple[float, float | None]:
    """When the failure of node 2, whose connections ended at 20 s, began and closed."""
    failure = Failure(kind, "node 2", 20 * NS, 30 * NS, node_id=2)
    mark_controlled_shutdowns([failure], recoveries, beats or {})
    return failure.start_ns / NS, None if failure.closed_ns is None else failure.closed_ns / NS


def heartbeats(*asks: tuple[float, bool]) -> dict[int, Heartbeats]:
    times, wants = zip(*asks, strict=True)
    return {2: Heartbeats(np.array([int(at * NS) for at in times]), np.array(wants))}


def test_it_begins_with_the_first_request_that_the_broker_refused(recovery: MakeRow) -> None:
    refused = [recovery(LED_ELSEWHERE, 21, 2, at, 21) for at in (17, 18.5)]
    assert began(refused) == (17, 20)
    assert began([]) == (20, None)


@pytest.mark.parametrize(
    ("error", "node", "at"),
    [
        (LED_ELSEWHERE, 1, 17),  # another broker refused it
        ("TOPIC_AUTHORIZATION_FAILED", 2, 17),
        (LED_ELSEWHERE, 2, 20 - 1.1 * HANDOVER_NS / NS),  # too long before
        (LED_ELSEWHERE, 2, 21),
    ],
)
def test_another_error_is_no_handover(recovery: MakeRow, error: str, node: int, at: float) -> None:
    assert began([recovery(error, 21, node, at, 25)]) == (20, None)


def test_a_broker_that_killed_processes_leave_behind_hands_nothing_over(recovery: MakeRow) -> None:
    """Only failures in which the process ended."""
    assert began([recovery(LED_ELSEWHERE, 21, 2, 17, 21)], kind=BROKER_SILENT) == (20, None)


def test_a_broker_that_takes_over_meanwhile_does_not_shut_down(recovery: MakeRow) -> None:
    """It refuses at 17 s, leads another partition from 18 s on, and hands over from 19 s on."""
    taken = recovery(LED_ELSEWHERE, 22, 1, 17.5, 18, new_node_id=2)
    first, second = (recovery(LED_ELSEWHERE, 21, 2, at, 25) for at in (17, 19))
    assert began([first, second]) == (17, 20)
    assert began([first, taken, second]) == (19, 20)
    not_yet = recovery(LED_ELSEWHERE, 22, 1, 17.5, None, new_node_id=2)
    assert began([first, not_yet, second]) == (17, 20), "nobody was served by it yet"


def test_heartbeats_say_when_it_asked_for_the_shutdown(recovery: MakeRow) -> None:
    """BrokerHeartbeat has want_shut_down (KIP-631). They count before the errors of clients."""
    refused = [recovery(LED_ELSEWHERE, 21, 2, 17, 21)]
    assert began(refused, heartbeats((14, False), (16, True), (18, True))) == (16, 20)
    assert began(refused, heartbeats((16, True), (18, False))) == (20, None)


def test_heartbeats_from_long_before_say_nothing_of_the_end(recovery: MakeRow) -> None:
    """The capture lacks those just before: then the errors of clients count."""
    refused = [recovery(LED_ELSEWHERE, 21, 2, 17, 21)]
    assert began(refused, heartbeats((2, False), (4, False))) == (17, 20)
