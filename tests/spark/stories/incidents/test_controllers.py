"""Controllers that are no brokers, by the roles of the connections to them; made by hand."""

from collections.abc import Collection

import pytest

from kafkascope_spark.stories.incidents.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.controllers import give_controllers
from kafkascope_spark.stories.incidents.sentences import sentence_of

from .conftest import MakeState

SERVER = "10.0.0.2:9092"


@pytest.mark.parametrize(
    ("roles", "kind"),
    [
        ({"controller"}, "controller_down"),
        ({"controller", "inter_broker"}, "controller_down"),
        ({"inter_broker"}, "broker_down"),
        ({"controller", "partition_leader"}, "broker_down"),
        (set(), "broker_down"),
    ],
)
def test_a_server_that_only_brokers_ask_as_a_controller_is_one(state: MakeState, roles: set[str], kind: str) -> None:
    """A broker that is a controller too serves clients; one that nobody uses in the capture has followers."""
    rows = []
    for host in (21, 22):
        rows += [state(2, host, "serving", 0, 5, "broker"), state(2, host, "down", 5, 20, "broker")]
    failures = broker_failures(rows)

    def roles_of(servers: Collection[str]) -> dict[str, frozenset[str]]:
        assert list(servers) == [SERVER]
        return {SERVER: frozenset(roles)}

    give_controllers(failures, roles_of)
    (failure,) = failures
    assert failure.kind.name == kind
    if kind == "controller_down":
        sentence = sentence_of(failure, failure.end_ns, 0)
        assert sentence.startswith("Controller 2 (10.0.0.2:9092) was unavailable from 00:05.000 (")
        assert "its connections ended together" in sentence
