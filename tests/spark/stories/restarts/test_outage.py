"""Restarts that incidents or changed releases show, from rows written by hand. Times are seconds."""

from dataclasses import replace
from typing import Any

from kafkascope_analyzer.dataset.broker_releases import ReleaseSpan
from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_analyzer.dataset.topology_facts import Move
from kafkascope_parsers.broker_release import BrokerRelease
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.restarts.outage import SHUTDOWN_NS, Outage, States, outages
from kafkascope_spark.stories.servers.table import BrokerState, StateName

S = 1_000_000_000


def ns(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * S)


def state(node: int | None, begin: float, end: float | None, name: StateName = "down") -> BrokerState:
    row = empty_row(BrokerState)
    row.node_id, row.server_ip, row.server_port, row.state = node, "10.0.0.1", 9092, name
    row.from_ns, row.to_ns = int(begin * S), ns(end)
    return row


def incident(kind: str, begin: float, node: int | None = 1, fault_end: float | None = None) -> IncidentRow:
    broker: dict[str, Any] = {"kind": kind, "node_id": node, "subject": "10.0.0.1:9092"}
    times = {"start_ns": int(begin * S), "fault_end_ns": ns(fault_end)}
    return replace(empty_row(IncidentRow), incident_id=f"{kind}-{begin}", **broker, **times)


def span(release: str, first: float, last: float, node: int = 1) -> ReleaseSpan:
    return ReleaseSpan(node, f"10.0.0.{node}:9092", BrokerRelease((release,), None), int(first * S), int(last * S))


def test_a_broker_is_back_when_it_serves_the_first_host() -> None:
    """One host saw it down until 14 s, another until 20 s; a later time in which it was down is another one."""
    states = [state(1, 10, 20), state(1, 10, 14), state(1, 30, 33), state(1, 11, 12, "slow")]
    assert States(states).back_ns(incident("broker_down", 10)) == 14 * S
    assert States(states).back_ns(incident("broker_down", 30)) == 33 * S
    assert States(states).back_ns(incident("broker_down", 34)) is None
    assert States([state(1, 10, None)]).back_ns(incident("broker_down", 10)) is None


def test_a_broker_without_a_node_id_is_known_by_its_address() -> None:
    assert States([state(None, 10, 14)]).back_ns(incident("broker_down", 10, node=None)) == 14 * S


def test_a_restart_that_no_host_waited_for_has_the_end_of_its_fault() -> None:
    """The broker's own connections show it: the new process registers."""
    found = States([state(1, 10, 20)]).back_ns(incident("broker_restarted", 10, fault_end=13))
    assert found == 13 * S


def begin_s(*away: float) -> float:
    moves = [Move(int(at * S), 1, 2) for at in away]
    (found,) = outages([incident("broker_down", 20)], [state(1, 20, 22)], moves, [])
    return found.begin_ns / S


def test_a_clean_shutdown_begins_when_its_leaders_begin_to_move() -> None:
    shutdown_s = SHUTDOWN_NS / S
    assert begin_s() == 20
    assert begin_s(18, 19) == 18
    assert begin_s(20 - 2 * shutdown_s, 20 - shutdown_s) == 20 - 2 * shutdown_s
    assert begin_s(15, 19.5) == 19.5, "the first move is too long before the next"
    assert begin_s(21) == 20, "leaders that move afterwards did not announce it"


def test_leaders_of_other_brokers_do_not_count() -> None:
    (found,) = outages([incident("broker_down", 20)], [], [Move(19 * S, 2, 1)], [])
    assert found.begin_ns == 20 * S


def test_releases_before_and_after() -> None:
    spans = [span("3.9", 1, 8), span("4.0", 23, 40), span("2.8", 1, 40, node=2)]
    (found,) = outages([incident("broker_down", 10)], [state(1, 10, 22)], [], spans)
    assert (found.before, found.after) == (spans[0], spans[1])
    _, away = outages([incident("broker_down", 50)], [], [], spans)
    assert (away.before, away.after, away.back_ns) == (spans[1], None, None)


def test_a_release_that_changed_shows_a_restart() -> None:
    (found,) = outages([], [], [], [span("3.9", 1, 8), span("4.0", 23, 40)])
    assert (found.down_ns, found.back_ns, found.incident_id) == (8 * S, 23 * S, None)
    assert found.subject == "node 1 (10.0.0.1:9092)"
    assert outages([], [], [], [span("3.9", 1, 8), span("3.9", 23, 40)]) == []


def test_one_restart_is_counted_once() -> None:
    """The incident lies between the last connection with the old release and the first with the new one."""
    spans = [span("3.9", 1, 8), span("4.0", 23, 40)]
    (found,) = outages([incident("broker_down", 10)], [state(1, 10, 22)], [], spans)
    assert found.incident_id == "broker_down-10"
    other: list[Outage] = outages([incident("broker_down", 30)], [state(1, 30, 31)], [], spans)
    assert [each.incident_id for each in other] == [None, "broker_down-30"], "in order of time"
    of_node_2 = [span("3.9", 1, 8, node=2), span("4.0", 23, 40, node=2)]
    found_both = outages([incident("broker_down", 10)], [state(1, 10, 22)], [], of_node_2)
    assert [each.node_id for each in found_both] == [2, 1]
