"""Groups the connections of one client address into running clients.

Connections with the same client id, software name, software version and principal are one family; a connection that
lacks some of these goes to the only family that fits. A family is divided by the correlation-id counter of the Java
client (by_counter.py), or else by what one client can and cannot do (by_behaviour.py).
"""

from dataclasses import dataclass, field

from kafkascope_spark.stories.clients.identity.by_behaviour import candidates_by_behaviour
from kafkascope_spark.stories.clients.identity.by_counter import candidates_by_counter, counts_over_connections
from kafkascope_spark.stories.clients.identity.candidate import BOOTSTRAP_APIS, InstanceCandidate
from kafkascope_spark.stories.model import Connection

ONLY_ONE = "the only client of its name at this address"
Identity = tuple[str | None, str | None, str | None]
"""Software name, software version and principal; None where the connection does not show it."""


@dataclass(slots=True)
class Group:
    """Connections that belong to one client, and the reason."""

    connections: list[Connection] = field(default_factory=list)
    shared: bool = False
    why: str = ONLY_ONE
    n_ambiguous_attempts: int = 0
    """Connection attempts that may be this client's or another one's."""

    @property
    def did_work(self) -> bool:
        """Whether it ever did more than discover the cluster."""
        return any(c.apis - BOOTSTRAP_APIS for c in self.connections)

    @property
    def first_ns(self) -> int:
        """Time of the first segment."""
        return min(c.begin_ns for c in self.connections)

    @property
    def last_ns(self) -> int:
        """Time of the last segment."""
        return max(c.last_ns for c in self.connections)

    def evidence(self) -> tuple[set[str], set[str], set[str]]:
        """Member ids, transactional ids and group instance ids."""
        return (
            set().union(*(c.members for c in self.connections)),
            set().union(*(c.transactional_ids for c in self.connections)),
            set().union(*(c.group_instances for c in self.connections)),
        )


def group_connections(connections: list[Connection]) -> list[Group]:
    """The groups of connections that carry Kafka's protocol, in order of their first segment; each connection is in
    exactly one."""
    groups: list[Group] = []
    nameless = sorted((c for c in connections if c.first_request_ns is None), key=_order)
    counted = [c for c in nameless if counts_over_connections([c])]
    if counted:
        groups += [_group(d, 2) for d in candidates_by_counter(counted)]
    rest = [c for c in nameless if c not in counted]
    if rest:
        groups.append(Group(rest, shared=True, why="no request seen: one by address only"))
    for family in families([c for c in connections if c.first_request_ns is not None]):
        family.sort(key=_order)
        candidates = (
            candidates_by_counter(family) if counts_over_connections(family) else candidates_by_behaviour(family)
        )
        groups += [_group(d, len(candidates)) for d in candidates]
    return sorted(groups, key=lambda g: _order(g.connections[0]))


def _order(connection: Connection) -> tuple[int, str]:
    return connection.begin_ns, connection.conn_id


def _group(candidate: InstanceCandidate, n_objects: int) -> Group:
    connections = sorted(candidate.connections, key=_order)
    if n_objects == 1:
        return Group(connections)
    why = "; ".join(sorted(candidate.reasons)) or "opened while no other of its name was there"
    if candidate.is_ambiguous:
        why += "; some connections could be another's of its name: put here by time"
    return Group(connections, candidate.is_ambiguous, why)


def families(connections: list[Connection]) -> list[list[Connection]]:
    """The connections, divided by client id, software name, software version and principal."""
    by_client: dict[str | None, dict[Identity, list[Connection]]] = {}
    for connection in connections:
        identity = (connection.software_name, connection.software_version, connection.principal)
        by_client.setdefault(connection.client_id, {}).setdefault(identity, []).append(connection)
    out = []
    for kinds in by_client.values():
        for identity in sorted(kinds, key=lambda t: (sum(v is not None for v in t), str(t))):
            wider = [t for t in kinds if t != identity and _is_wider(t, identity)]
            if len(wider) == 1:
                kinds[wider[0]] += kinds.pop(identity)
        out += list(kinds.values())
    return out


def _is_wider(wide: Identity, narrow: Identity) -> bool:
    """Whether the wide identity has everything that the narrow one has."""
    return all(b is None or a == b for a, b in zip(wide, narrow, strict=True))
