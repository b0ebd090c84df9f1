"""A broker is named by the address that its clients use."""

from dataclasses import replace

from kafkascope_spark.stories.incidents.brokers.client_listeners import name_by_client_listeners
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_frozen import BROKER_FROZEN
from kafkascope_spark.stories.incidents.kinds.path import PATH

from .conftest import MakeState

S = 1_000_000_000


def test_what_replicas_saw_first_has_the_address_of_clients(state: MakeState) -> None:
    internal = replace(state(2, 3, "frozen", 5, 9, "broker"), server_port=9093)
    served = [state(2, 21, "serving", 0, 5), state(2, 22, "serving", 0, 5)]
    other = replace(state(2, 21, "serving", 0, 5), server_port=9094)
    failure = Failure(BROKER_FROZEN, internal.broker, 5 * S, 9 * S, node_id=2, server=internal.server)
    failure.states = [internal]
    name_by_client_listeners([failure], [internal, other, *served])
    assert (failure.subject, failure.server) == ("node 2 (10.0.0.2:9092)", "10.0.0.2:9092")


def test_where_no_client_is_the_address_stays(state: MakeState) -> None:
    internal = replace(state(2, 3, "frozen", 5, 9, "broker"), server_port=9093)
    for failure in (
        Failure(BROKER_FROZEN, internal.broker, 5 * S, 9 * S, node_id=2, server=internal.server),
        Failure(PATH, internal.broker, 5 * S, 9 * S, node_id=2, server=internal.server, hosts=frozenset({"10.0.0.3"})),
    ):
        failure.states = [internal]
        known = [internal, state(2, 21, "serving", 0, 5)] if failure.hosts else [internal]
        name_by_client_listeners([failure], known)
        assert failure.server == "10.0.0.2:9093"


def test_a_subject_that_is_no_address_stays(state: MakeState) -> None:
    failure = Failure(BROKER_FROZEN, "the controller", 5 * S, 9 * S, node_id=2, server="10.0.0.2:9093")
    failure.states = [state(2, 21, "frozen", 5, 9)]
    name_by_client_listeners([failure], failure.states)
    assert failure.subject == "the controller"
