"""Stalls at topic-partitions that a broker leads with which no client of the capture talked; made by hand."""

from kafkascope_analyzer.dataset.topology_facts import Fact
from kafkascope_spark.stories.incidents.attribution.hidden_leaders import without_hidden
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall

from .conftest import NS, MakeStall, MakeState


def left(stalls: list[Stall], states: list[BrokerState], *leaders: tuple[int, float]) -> list[tuple[int | None, int]]:
    """End and length in ms of what is left. leaders: nodes that led t-0, each with when that was first reported."""
    key = ("leader", "orders", 0)
    facts = [Fact(key, node, int(at * NS), None, "metadata", epoch) for epoch, (node, at) in enumerate(leaders)]

    known = Leadership({"orders-0": facts})
    return [(stall.to_ns, stall.waited_ms) for stall in without_hidden(stalls, states, lambda: known, 1000)]


def of_orders(stall: MakeStall, start: float, end: float | None) -> Stall:
    made: Stall = stall("produce", 21, 2, start, end)
    made.topic, made.partition = "orders", 0
    return made


def test_a_stall_ends_where_a_leader_is_named_that_the_capture_does_not_show(
    state: MakeState, stall: MakeStall
) -> None:
    shown = [state(2, 21, "serving", 0, 60)]
    waits = [of_orders(stall, 5, 30)]
    assert left(waits, shown, (2, 0), (3, 9)) == [(9 * NS, 4000)]
    assert left(waits, shown, (2, 0), (3, 5.5)) == []
    assert left(waits, shown, (3, 0)) == []
    assert left(waits, shown, (2, 0), (3, 40)) == [(30 * NS, 25_000)]
    assert left([of_orders(stall, 5, None)], shown, (2, 0), (3, 9)) == [(9 * NS, 4000)]


def test_a_leader_that_clients_talked_to_is_shown(state: MakeState, stall: MakeStall) -> None:
    """Also one that they only tried to reach."""
    shown = [state(2, 21, "serving", 0, 60), state(3, 21, "silent", 9, 30)]
    assert left([of_orders(stall, 5, 30)], shown, (2, 0), (3, 9)) == [(30 * NS, 25_000)]


def test_where_a_server_has_no_node_id_nothing_is_known_to_be_hidden(state: MakeState, stall: MakeStall) -> None:
    shown = [state(2, 21, "serving", 0, 60), state(None, 21, "serving", 0, 60)]
    assert left([of_orders(stall, 5, 30)], shown, (2, 0), (3, 9)) == [(30 * NS, 25_000)]


def test_followers_that_talk_to_a_broker_show_nobody_who_was_served(state: MakeState, stall: MakeStall) -> None:
    shown = [state(2, 21, "serving", 0, 60), state(3, 12, "serving", 0, 60, "broker")]
    assert left([of_orders(stall, 5, 30)], shown, (2, 0), (3, 9)) == [(9 * NS, 4000)]
