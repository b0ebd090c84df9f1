"""Failures of listeners: those that brokers advertise wrongly, so that no client was ever served at their addresses,
and the brokers of those that refused clients. One failure per listener.

A listener has an address for each broker, and clients learn all of them together from Metadata.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.servers.table import BrokerState


def join_listeners(failures: Iterable[Failure], clients: Iterable[AffectedClient]) -> list[Failure]:
    """Returns the failures. Those of kind `listener` are joined where one client learned their addresses together and
    tried several of them."""
    others: list[Failure] = []
    unreachable: list[Failure] = []
    for failure in failures:
        (unreachable if failure.kind.of_listener else others).append(failure)
    if len(unreachable) < 2:
        return others + unreachable
    return others + [_joined(group) for group in _of_listeners(unreachable, clients)]


def _of_listeners(failures: Sequence[Failure], clients: Iterable[AffectedClient]) -> Iterator[list[Failure]]:
    """Yields the failures of each listener as a list. Clients of one listener need not all have tried the same
    addresses."""
    group_of = {failure: [failure] for failure in failures}
    hosts_of = {failure: {state.host for state in failure.states} for failure in failures}
    place = {failure: number for number, failure in enumerate(failures)}
    at_server: dict[str | None, list[Failure]] = defaultdict(list)
    for failure in failures:
        at_server[failure.server].append(failure)
    for client in clients:
        learned = (failure for server in dict.fromkeys(client.advertised) for failure in at_server.get(server, ()))
        tried = sorted((f for f in learned if client.client_ip in hosts_of[f]), key=place.__getitem__)
        for failure in tried[1:]:
            if group_of[failure] is not group_of[tried[0]]:
                larger, smaller = sorted((group_of[tried[0]], group_of[failure]), key=len, reverse=True)
                larger.extend(smaller)  # so each failure moves at most log n times
                group_of |= dict.fromkeys(smaller, larger)
    for group in {id(group): group for group in group_of.values()}.values():
        yield sorted(group, key=place.__getitem__)


def _joined(failures: Sequence[Failure]) -> Failure:
    """Returns one failure for all addresses of a listener; it lasts from the first attempt to the last."""
    first = min(failures, key=lambda f: (f.start_ns, f.subject))
    ends = [failure.end_ns for failure in failures]
    first.end_ns = first.affected_until_ns = None if None in ends else max(end for end in ends if end is not None)
    first.states = [state for failure in failures for state in failure.states]
    first.servers = frozenset().union(*(failure.servers for failure in failures))
    first.subject = listed(sorted(first.servers))
    if len({failure.node_id for failure in failures}) > 1:
        first.node_id = None
    return first


def give_nodes(failures: Iterable[Failure], states: Iterable[BrokerState]) -> None:
    """Sets the node of each failure of a listener that refused clients, if it did so at one broker only. states: rows
    of broker_states."""
    nodes = {row.server: row.node_id for row in states if row.node_id is not None}
    for failure in failures:
        if failure.misuse is not None and failure.kind.place == "listener":
            found = {nodes.get(server) for server in failure.misuse.servers}
            failure.node_id = found.pop() if len(found) == 1 else None
