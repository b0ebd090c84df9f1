"""Controllers that are no brokers, by the roles of the connections to them; made by hand."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.brokers.controllers import Listener, give_controllers, join_cut_controllers
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of

from .conftest import NS, MakeState

SERVER, OTHER_PORT = "10.0.0.2:9092", "10.0.0.2:9093"
CONTROLLER, BROKER = "controller_down", "broker_down"


@pytest.mark.parametrize(
    ("roles", "of_other_port", "kind"),
    [
        ({"controller"}, None, CONTROLLER),
        ({"controller", "inter_broker"}, None, CONTROLLER),
        ({"controller", "inter_broker"}, {"controller"}, CONTROLLER),
        ({"controller"}, {"inter_broker"}, BROKER),
        ({"inter_broker"}, None, BROKER),
        ({"controller", "partition_leader"}, None, BROKER),
        (set(), None, BROKER),
    ],
)
def test_a_server_that_only_brokers_ask_as_a_controller_is_one(
    state: MakeState, roles: set[str], of_other_port: set[str] | None, kind: str
) -> None:
    """A broker that is a controller too serves clients at another port, whether these are captured or not; one that
    nobody uses in the capture has followers."""
    rows = []
    for host in (21, 22):
        rows += [state(2, host, "serving", 0, 5, "broker"), state(2, host, "down", 5, 20, "broker")]
        if of_other_port is not None:
            rows += [replace(row, server_port=9093) for row in rows[-2:]]
    failures = broker_failures(rows)
    known = {SERVER: frozenset(roles)} | ({} if of_other_port is None else {OTHER_PORT: frozenset(of_other_port)})

    def roles_of(servers: Collection[str]) -> dict[str, frozenset[str]]:
        assert set(servers) <= known.keys()
        return known

    give_controllers(failures, roles_of)
    (failure,) = failures
    assert failure.kind.name == kind
    if kind == CONTROLLER:
        sentence = sentence_of(failure, failure.end_ns, 0)
        assert sentence.startswith("Controller 2 (10.0.0.2:9092) was unavailable from 00:05.000 (")
        assert "its connections ended together" in sentence


def test_a_controller_that_did_not_respond_did_not_end(state: MakeState) -> None:
    rows = [state(2, 21, "serving", 0, 5, "broker"), state(2, 21, "silent", 5, 20, "broker")]
    failures = broker_failures(rows)
    give_controllers(failures, lambda _: {SERVER: frozenset({"controller"})})
    assert [failure.kind.name for failure in failures] == ["controller_unresponsive"]
    assert "no packet came from it" in sentence_of(failures[0], None, 0)


@pytest.mark.parametrize(
    ("node_id", "of_clients", "kind"),
    [
        (2, {2}, "broker_frozen"),
        (None, {2}, "broker_frozen"),
        (None, {None}, "broker_frozen"),
        (2, {1, 3}, "controller_unresponsive"),
        (None, {1, 3}, "controller_unresponsive"),
    ],
)
def test_a_broker_whose_clients_are_at_another_port_is_no_controller_alone(
    state: MakeState, node_id: int | None, of_clients: set[int | None], kind: str
) -> None:
    """Recorded of a broker and controller that was stopped before the capture began: no client could prove it. Brokers
    and controllers may also share one address, as all nodes of a machine do."""
    rows = [state(2, 21, "serving", 0, 5, "broker"), state(2, 21, "frozen", 5, 20, "broker")]
    failures = broker_failures([replace(row, server_port=9093, node_id=node_id) for row in rows])
    listeners = {"10.0.0.2": [Listener(9092, each) for each in of_clients] + [Listener(9093, 2)]}
    give_controllers(failures, lambda _: {OTHER_PORT: frozenset({"controller"})}, listeners)
    assert [failure.kind.name for failure in failures] == [kind]


def test_controllers_that_do_not_reach_each_other_are_one_failure_until_the_last_of_them_do(state: MakeState) -> None:
    """Recorded: packets between three controllers were dropped from 7.9 to 26.5 s; one gave an attempt up at 13.8 s.
    That brokers do not reach each other at another port is not about controllers."""
    rows = [state(node, 20, "serving", 0, 50) for node in (1, 2, 3, 4)]
    bad = ((1, 2, 8.0, 32.7), (1, 3, 8.2, 26.4), (3, 2, 9.8, 13.8), (2, 3, 10.2, 27.1), (4, 5, 9.0, 30.0))
    rows += [state(node, host, "silent", since, until, "broker") for node, host, since, until in bad]
    roles = {f"10.0.0.{node}:9092": frozenset({"controller", "inter_broker"}) for node in (1, 2, 3)}
    failures = broker_failures(rows)
    join_cut_controllers(failures, lambda _: roles | {"10.0.0.4:9092": frozenset({"inter_broker"})}, rows)
    assert sorted(failure.kind.name for failure in failures) == ["controllers_cut", "replication"]
    (cut,) = (failure for failure in failures if failure.kind.name == "controllers_cut")
    assert (cut.subject, cut.node_id) == ("10.0.0.1, 10.0.0.2, 10.0.0.3", None)
    fault = fault_of(cut)
    assert (fault.start_ns, fault.end_ns) == (8 * NS, int(32.7 * NS))
    assert "did not reach each other from 00:08.000" in sentence_of(cut, cut.end_ns, 0)


@pytest.mark.parametrize(("others", "is_proven"), [((12, 13), True), ((), False)])
def test_a_broker_that_does_not_reach_the_controller_is_cut_off(
    state: MakeState, others: tuple[int, ...], is_proven: bool
) -> None:
    """Recorded: packets between one of three brokers and the controller were dropped for 14 s; the controller fenced
    that broker, and served the other two."""
    rows = [state(node, 20, "serving", 0, 50) for node in (1, 9)] + [state(9, 1, "silent", 8, 20, "broker")]
    rows += [state(9, host, "serving", 0, 50, "broker") for host in others]
    failures = broker_failures(rows)
    join_cut_controllers(failures, lambda _: {"10.0.0.9:9092": frozenset({"controller"})}, rows)
    (cut,) = failures
    assert (cut.kind.name, cut.node_id, cut.is_served_beside) == ("cut_from_controller", 1, is_proven)
    assert "Node 1 (10.0.0.1:9092) did not reach the controller node 9 (10.0.0.9:9092) from" in sentence_of(
        cut, cut.end_ns, 0
    )


def test_a_combined_node_that_does_not_reach_the_active_controller_leaves_the_others_a_majority(
    state: MakeState,
) -> None:
    """Recorded: node 1 of three combined nodes was cut off from the others at the ports of controllers. Node 2 was the
    active controller, and served node 3."""
    rows = [state(1, 20, "serving", 0, 50), state(2, 3, "serving", 0, 50, "broker")]
    rows += [state(2, 1, "silent", 8, 20, "broker"), state(1, 2, "silent", 11, 21, "broker")]
    controllers = {f"10.0.0.{node}:9092": frozenset({"controller"}) for node in (1, 2, 3)}
    failures = broker_failures(rows)
    join_cut_controllers(failures, lambda _: controllers, rows)
    assert [(failure.kind.name, failure.node_id) for failure in failures] == [("cut_from_controller", 1)]
