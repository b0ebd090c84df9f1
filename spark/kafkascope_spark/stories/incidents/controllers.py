"""Detects failed servers that are controllers and not brokers: the requests on all connections to each of its ports are
those that brokers send to a controller, and no client talks to the same node at another port."""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.kinds.controller_down import CONTROLLER_DOWN
from kafkascope_spark.stories.incidents.kinds.controller_unresponsive import CONTROLLER_UNRESPONSIVE
from kafkascope_spark.stories.servers.table import BrokerState

_OF_CONTROLLERS = frozenset({"controller", "inter_broker"})
"""Roles of connections to a controller."""


class Listener(NamedTuple):
    """A port at which clients talk to a node; node_id is None if it is not known."""

    port: int
    node_id: int | None


def give_controllers(
    failures: Iterable[Failure],
    roles_of: Callable[[Collection[str]], Mapping[str, frozenset[str]]],
    of_clients: Mapping[str, Collection[Listener]] = MappingProxyType({}),
) -> None:
    """Sets the kind of failures of controllers. roles_of: returns the roles of all connections to each of the given
    servers; of_clients: the listeners that clients talk to, by IP address."""
    of_brokers = [failure for failure in failures if failure.is_of_broker and failure.kind.cuts_clients]
    roles = roles_of({server for failure in of_brokers for server in failure.servers})
    for failure in of_brokers:
        mine = [roles.get(server, frozenset()) for server in failure.servers]
        is_broker = any(_has_clients(row, of_clients.get(row.server_ip, ())) for row in failure.states)
        if (
            mine
            and not is_broker
            and all("controller" in of_server and of_server <= _OF_CONTROLLERS for of_server in mine)
        ):
            failure.kind = CONTROLLER_DOWN if failure.kind.restarts else CONTROLLER_UNRESPONSIVE


def _has_clients(row: BrokerState, of_clients: Collection[Listener]) -> bool:
    """Whether clients talk to the same node at another port. Several nodes may share an address."""
    nodes = {listener.node_id for listener in of_clients if listener.port != row.server_port}
    return len(nodes) == 1 if row.node_id is None else row.node_id in nodes
