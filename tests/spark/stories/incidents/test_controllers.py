"""Controllers that are no brokers, by the roles of the connections to them; made by hand."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from kafkascope_spark.stories.incidents.brackets import fault_of
from kafkascope_spark.stories.incidents.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.controllers import Listener, give_controllers, join_cut_controllers
from kafkascope_spark.stories.incidents.sentences import sentence_of

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
    join_cut_controllers(failures, lambda _: roles | {"10.0.0.4:9092": frozenset({"inter_broker"})})
    assert sorted(failure.kind.name for failure in failures) == ["controllers_cut", "replication"]
    (cut,) = (failure for failure in failures if failure.kind.name == "controllers_cut")
    fault = fault_of(cut)
    assert (fault.start_ns, fault.end_ns) == (8 * NS, int(32.7 * NS))
    assert "Controllers did not reach each other from 00:08.000" in sentence_of(cut, cut.end_ns, 0)


def test_a_broker_that_does_not_reach_the_controller_cuts_no_controllers_off(state: MakeState) -> None:
    rows = [state(node, 20, "serving", 0, 50) for node in (1, 9)] + [state(9, 1, "silent", 8, 20, "broker")]
    failures = broker_failures(rows)
    join_cut_controllers(failures, lambda _: {"10.0.0.9:9092": frozenset({"controller"})})
    assert [failure.kind.name for failure in failures] == ["replication"]
