"""Detects failures of controllers, and between brokers and controllers.

A failed server is a controller and not a broker if the requests on all connections to each of its ports are those that
brokers send to a controller, and no client talks to the same node at another port.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.failures.failure import MOSTLY, Failure
from kafkascope_spark.stories.incidents.kinds.controller_down import CONTROLLER_DOWN
from kafkascope_spark.stories.incidents.kinds.controller_unresponsive import CONTROLLER_UNRESPONSIVE
from kafkascope_spark.stories.incidents.kinds.controllers_cut import CONTROLLERS_CUT
from kafkascope_spark.stories.incidents.kinds.cut_from_controller import CUT_FROM_CONTROLLER
from kafkascope_spark.stories.incidents.kinds.replication import REPLICATION
from kafkascope_spark.stories.incidents.texts.texts import reaction
from kafkascope_spark.stories.servers.table import BrokerState

_WITHOUT_CONTROLLERS = (CONTROLLERS_CUT, CONTROLLER_DOWN, CONTROLLER_UNRESPONSIVE)
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
        if mine and not is_broker and all(map(_is_of_controllers, mine)):
            failure.kind = CONTROLLER_DOWN if failure.kind.restarts else CONTROLLER_UNRESPONSIVE


def join_cut_controllers(
    failures: list[Failure],
    roles_of: Callable[[Collection[str]], Mapping[str, frozenset[str]]],
    states: Collection[BrokerState],
) -> None:
    """Names the failures at ports of controllers: brokers that did not reach the controller while it served others, or
    that are no controllers themselves; and controllers that did not reach each other, of which those that overlap are
    joined to one. roles_of: roles of all connections to each of the given servers; states: rows of broker_states."""
    between = [failure for failure in failures if failure.kind is REPLICATION]
    roles = roles_of({row.server for failure in failures for row in failure.states}) if between else {}
    of_controllers = {server for server, of_server in roles.items() if _is_of_controllers(of_server)}
    addresses = {server.rpartition(":")[0] for server in of_controllers}
    last: Failure | None = None
    for failure in sorted(between, key=lambda failure: failure.start_ns):
        if any(row.server not in of_controllers for row in failure.states):
            continue
        reached = {row.server_ip for row in states if _is_served_beside(row, failure)}
        hosts = {row.host for row in failure.states}
        if reached or not hosts <= addresses:
            _cut_off(failure, hosts | {row.server_ip for row in failure.states}, reached, states)
        elif last is not None and last.overlap_ns(failure.start_ns, failure.end_ns) > 0:
            _join(last, failure)
            failures.remove(failure)
        else:
            failure.kind, failure.node_id = CONTROLLERS_CUT, None
            last = failure
    for failure in failures:
        if failure.kind is CONTROLLERS_CUT:
            failure.subject = listed(sorted({ip for row in failure.states for ip in (row.server_ip, row.host)}))


def give_absent_controllers(failures: Iterable[Failure]) -> None:
    """Sets how long the controllers were lost, too, before the cluster reacted to the failure of a broker."""
    all_of_them = list(failures)
    lost = [failure for failure in all_of_them if failure.kind in _WITHOUT_CONTROLLERS]
    for failure in all_of_them if lost else ():
        known = reaction(failure) if failure.is_of_broker and failure not in lost else None
        if known is not None:
            overlaps = (each.overlap_ns(known.failed_ns, known.failed_ns + known.cluster_ns) for each in lost)
            failure.process.without_controllers_ns = max(0, *overlaps)


def _is_served_beside(row: BrokerState, failure: Failure) -> bool:
    """Whether a state shows that a server of a failure served another broker for most of the time."""
    if row.state != "serving" or row.server not in failure.servers or row.host_kind == "client":
        return False
    lasted = failure.affected_to_ns - failure.start_ns
    common = min(row.until_ns, failure.affected_to_ns) - max(row.from_ns, failure.start_ns)
    ends = {each.host for each in failure.states}
    return row.host not in ends and common >= MOSTLY * lasted


def _cut_off(failure: Failure, ends: set[str], reached: set[str], states: Collection[BrokerState]) -> None:
    """Makes a failure one of the brokers among its ends that did not reach the controller. reached: addresses of
    controllers that served others."""
    controllers = reached or {row.server_ip for row in failure.states}
    brokers = ends - controllers
    if not brokers:
        return
    rows = {row.server_ip: row for row in sorted(states, key=_last_of_clients) if row.server_ip in brokers}
    failure.kind = CUT_FROM_CONTROLLER
    failure.hosts = frozenset(controllers)
    failure.is_served_beside = bool(reached)
    failure.subject = listed(sorted(rows[ip].broker if ip in rows else ip for ip in brokers))
    nodes = {row.node_id for row in rows.values()}
    failure.node_id = nodes.pop() if len(nodes) == 1 and len(brokers) == 1 else None


def _last_of_clients(row: BrokerState) -> bool:
    return row.host_kind == "client" and row.node_id is not None


def _join(failure: Failure, other: Failure) -> None:
    """Adds what another failure shows to one."""
    failure.states += other.states
    failure.hosts |= other.hosts
    failure.servers |= other.servers
    ends = [end_ns for end_ns in (failure.end_ns, other.end_ns) if end_ns is not None]
    failure.end_ns = max(ends) if len(ends) > 1 else None
    failure.affected_until_ns = failure.end_ns


def _is_of_controllers(roles: frozenset[str]) -> bool:
    return "controller" in roles and roles <= _OF_CONTROLLERS


def _has_clients(row: BrokerState, of_clients: Collection[Listener]) -> bool:
    """Whether clients talk to the same node at another port. Several nodes may share an address."""
    nodes = {listener.node_id for listener in of_clients if listener.port != row.server_port}
    return len(nodes) == 1 if row.node_id is None else row.node_id in nodes
