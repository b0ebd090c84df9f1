"""Addresses that belong to one listener, because clients learned them together and tried several of them."""

from collections.abc import Callable
from dataclasses import replace

from kafkascope_spark.stories.incidents.brokers.advertised_listeners import give_nodes, join_listeners
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_down import BROKER_DOWN
from kafkascope_spark.stories.incidents.kinds.listener import LISTENER
from kafkascope_spark.stories.incidents.kinds.stale_client import STALE_CLIENT
from kafkascope_spark.stories.incidents.kinds.tls_failed import TLS_FAILED
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.signals.misuse import Misuse

from .conftest import NS, MakeRow, MakeState

Clients = Callable[..., AffectedClient]


def never_served(state: MakeState, node: int, *hosts: int, start: float = 5, end: float | None = 20) -> Failure:
    """The address of a node at which these hosts tried in vain."""
    server = f"10.0.0.{node}:9092"
    failure = Failure(LISTENER, server, int(start * NS), None if end is None else int(end * NS), node_id=node)
    failure.server, failure.servers = server, frozenset({server})
    failure.states = [state(node, host, "refusing", start, end) for host in hosts]
    return failure


def learned(client: Clients, host: int, *nodes: int) -> AffectedClient:
    return replace(client(host), advertised=tuple(f"10.0.0.{node}:9092" for node in nodes))


def joined(failures: list[Failure], clients: list[AffectedClient]) -> list[set[str]]:
    return [set(failure.servers) for failure in join_listeners(failures, clients)]


def test_addresses_that_one_client_learned_and_tried_are_one_listener(state: MakeState, client: Clients) -> None:
    failures = [never_served(state, 1, 21, start=6, end=30), never_served(state, 2, 21)]
    (failure,) = join_listeners(failures, [learned(client, 21, 1, 2)])
    assert failure.subject == "10.0.0.1:9092, 10.0.0.2:9092"
    assert (failure.node_id, failure.start_ns, failure.end_ns) == (None, 5 * NS, 30 * NS)
    assert len(failure.states) == 2


def test_clients_need_not_all_have_tried_the_same_ones(state: MakeState, client: Clients) -> None:
    """Host 21 tried 1 and 2, host 22 tried 2 and 3; nobody tried 4 with another."""
    failures = [never_served(state, node, *hosts) for node, hosts in ((1, [21]), (2, [21, 22]), (3, [22]), (4, [23]))]
    clients = [learned(client, 21, 1, 2, 3, 4), learned(client, 22, 2, 3), learned(client, 23, 4)]
    assert joined(failures, clients) == [{f"10.0.0.{n}:9092" for n in (1, 2, 3)}, {"10.0.0.4:9092"}]


def test_addresses_that_a_client_did_not_try_or_learn_stay_apart(state: MakeState, client: Clients) -> None:
    apart = [{"10.0.0.1:9092"}, {"10.0.0.2:9092"}]
    not_tried = [never_served(state, 1, 21), never_served(state, 2, 22)]
    assert joined(not_tried, [learned(client, 21, 1, 2)]) == apart
    not_learned = [never_served(state, 1, 21), never_served(state, 2, 21)]
    assert joined(not_learned, [learned(client, 21, 1)]) == apart


def test_a_listener_that_was_still_tried_has_no_end(state: MakeState, client: Clients) -> None:
    failures = [never_served(state, 1, 21), never_served(state, 2, 21, end=None)]
    (failure,) = join_listeners(failures, [learned(client, 21, 1, 2)])
    assert (failure.end_ns, failure.affected_until_ns) == (None, None)


def test_a_broker_that_is_down_is_no_wrong_address(state: MakeState, client: Clients) -> None:
    down = never_served(state, 1, 21)
    down.kind = BROKER_DOWN
    assert len(join_listeners([down, never_served(state, 2, 21)], [learned(client, 21, 1, 2)])) == 2


def test_a_listener_that_refused_at_one_broker_is_that_brokers(state: MakeState, use: MakeRow) -> None:
    states = [state(node, 21, "serving", 0, 60) for node in (1, 2)]
    for servers, node in ((["10.0.0.1:9092"], 1), (["10.0.0.1:9092", "10.0.0.2:9092"], None), (["10.0.0.8:1"], None)):
        uses = [use(21, "PLAINTEXT", server=server) for server in servers]
        failure = Failure(TLS_FAILED, "a listener", 0, None, misuse=Misuse("tls", uses, (), (), (), False))
        give_nodes([failure], states)
        assert failure.node_id == node


def test_a_client_that_is_at_fault_itself_has_no_broker(state: MakeState, use: MakeRow) -> None:
    misuse = Misuse("without_tls", [use(21, "PLAINTEXT", server="10.0.0.1:9092")], (), (), (), True)
    own = Failure(STALE_CLIENT, "client-21", 0, None, misuse=misuse)
    give_nodes([own, Failure(TLS_FAILED, "a listener", 0, None)], [state(1, 21, "serving", 0, 60)])
    assert own.node_id is None
