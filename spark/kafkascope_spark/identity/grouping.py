"""Which connections of one address belong to one running client object.

Connections of one client id, software, version and principal are one family (where some do not tell, they go to the
only family that fits). A family is taken apart by the counter of the Java client (counted.py), or else by what one
object can and cannot do (assign.py).
"""

from dataclasses import dataclass, field

from kafkascope_spark.identity.assign import objects_of
from kafkascope_spark.identity.counted import counts_over_connections, objects_by_counter
from kafkascope_spark.identity.draft import BOOTSTRAP_APIS, Draft
from kafkascope_spark.wire import Connection

ONLY_ONE = "the only client of its name at this address"
Told = tuple[str | None, str | None, str | None]


@dataclass(slots=True)
class Group:
    """Connections held to be one client object, and why."""

    connections: list[Connection] = field(default_factory=list)
    shared: bool = False
    why: str = ONLY_ONE
    n_unsure: int = 0
    """Attempts to connect that were this object's or another's."""

    @property
    def worked(self) -> bool:
        """Whether it ever did more than look for the cluster."""
        return any(c.apis - BOOTSTRAP_APIS for c in self.connections)

    @property
    def first_ns(self) -> int:
        """First segment."""
        return min(c.begin_ns for c in self.connections)

    @property
    def last_ns(self) -> int:
        """Last segment."""
        return max(c.last_ns for c in self.connections)

    def evidence(self) -> tuple[set[str], set[str], set[str]]:
        """Member ids, transactional ids and group instance ids."""
        return (
            set().union(*(c.members for c in self.connections)),
            set().union(*(c.transactional_ids for c in self.connections)),
            set().union(*(c.group_instances for c in self.connections)),
        )


def group_connections(connections: list[Connection]) -> list[Group]:
    """Groups of the connections that speak Kafka, in order of their first segment; each connection is in
    exactly one."""
    groups: list[Group] = []
    nameless = sorted((c for c in connections if c.first_request_ns is None), key=_order)
    counted = [c for c in nameless if counts_over_connections([c])]
    if counted:
        groups += [_group(d, 2) for d in objects_by_counter(counted)]
    rest = [c for c in nameless if c not in counted]
    if rest:
        groups.append(Group(rest, shared=True, why="no request seen: one by address only"))
    for family in families([c for c in connections if c.first_request_ns is not None]):
        family.sort(key=_order)
        drafts = objects_by_counter(family) if counts_over_connections(family) else objects_of(family)
        groups += [_group(d, len(drafts)) for d in drafts]
    return sorted(groups, key=lambda g: _order(g.connections[0]))


def _order(connection: Connection) -> tuple[int, str]:
    return connection.begin_ns, connection.conn_id


def _group(draft: Draft, n_objects: int) -> Group:
    connections = sorted(draft.connections, key=_order)
    if n_objects == 1:
        return Group(connections)
    why = "; ".join(sorted(draft.reasons)) or "opened while no other of its name was there"
    if draft.doubtful:
        why += "; some connections could be another's of its name: put here by time"
    return Group(connections, draft.doubtful, why)


def families(connections: list[Connection]) -> list[list[Connection]]:
    """The connections by client id, software, version and principal."""
    by_client: dict[str | None, dict[Told, list[Connection]]] = {}
    for connection in connections:
        told = (connection.software_name, connection.software_version, connection.principal)
        by_client.setdefault(connection.client_id, {}).setdefault(told, []).append(connection)
    out = []
    for kinds in by_client.values():
        for told in sorted(kinds, key=lambda t: (sum(v is not None for v in t), str(t))):
            wider = [t for t in kinds if t != told and _tells_more(t, told)]
            if len(wider) == 1:
                kinds[wider[0]] += kinds.pop(told)
        out += list(kinds.values())
    return out


def _tells_more(more: Told, less: Told) -> bool:
    """Whether all that the less tells is in the more."""
    return all(b is None or a == b for a, b in zip(more, less, strict=True))
