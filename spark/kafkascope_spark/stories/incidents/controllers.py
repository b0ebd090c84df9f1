"""Which of the servers that failed are controllers, and no brokers: brokers have connections to them whose requests are
those to a controller, on each of its ports, and no client talks to their address at any port."""

from collections.abc import Callable, Collection, Iterable, Mapping

from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.kinds.controller_down import CONTROLLER_DOWN
from kafkascope_spark.stories.incidents.kinds.controller_unresponsive import CONTROLLER_UNRESPONSIVE

_OF_CONTROLLERS = frozenset({"controller", "inter_broker"})
"""Roles that the connections of a controller have."""


def give_controllers(
    failures: Iterable[Failure],
    roles_of: Callable[[Collection[str]], Mapping[str, frozenset[str]]],
    of_clients: Collection[str] = (),
) -> None:
    """Gives the failures of controllers their kind. roles_of: the roles of all connections to each of some servers;
    of_clients: addresses that clients talk to, of brokers, which may be controllers too."""
    of_brokers = [failure for failure in failures if failure.is_of_broker and failure.kind.cuts_clients]
    roles = roles_of({server for failure in of_brokers for server in failure.servers})
    for failure in of_brokers:
        mine = [roles.get(server, frozenset()) for server in failure.servers]
        is_broker = any(row.server_ip in of_clients for row in failure.states)
        if (
            mine
            and not is_broker
            and all("controller" in of_server and of_server <= _OF_CONTROLLERS for of_server in mine)
        ):
            failure.kind = CONTROLLER_DOWN if failure.kind.restarts else CONTROLLER_UNRESPONSIVE
