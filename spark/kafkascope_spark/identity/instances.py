"""Client instances of one address: the groups of its connections, with those attached that never carried a request.

A connection that was refused, not answered or closed before its first request says nothing about who opened it. It
goes to the one client object that was alive
then and had a connection to that server before or after, or whose connections of that time leave nobody else; when
several qualify, to none.
"""

import hashlib
from dataclasses import dataclass, field

from kafkascope_spark.identity.grouping import Group, group_connections
from kafkascope_spark.identity.kinds import Kind, kind_of
from kafkascope_spark.wire import Connection

NEIGHBOURHOOD_NS = 2_000_000_000
"""How long before its first request, or after its last segment, a client object may have opened a connection that
came to nothing."""


@dataclass(slots=True)
class Instance:
    """A client object: its id and its connections in time order."""

    instance_id: str
    client_ip: str
    client_id: str | None
    kind: Kind
    group: Group
    connections: list[Connection] = field(default_factory=list)

    @property
    def last_activity_ns(self) -> int:
        """Last request sent or connection tried."""
        return max(max(c.begin_ns, c.last_request_ns or 0) for c in self.connections)


def instances_of(client_ip: str, connections: list[Connection]) -> dict[str, Instance]:
    """conn_id -> its instance, for one client address."""
    speaking = [c for c in connections if c.first_request_ns is not None or c.protocol == "kafka"]
    silent = sorted((c for c in connections if c.first_request_ns is None and _came_to_nothing(c)), key=_begin)
    groups = group_connections(speaking)
    left = [c for c in silent if not _attach(c, groups)]
    servers = {c.server.rpartition(":")[2] for c in speaking}
    lonely = [
        c for c in left if not groups and c.failed_to_open and (not servers or c.server.rpartition(":")[2] in servers)
    ]
    if lonely:
        groups.append(Group(lonely, why="no request seen"))
    return {c.conn_id: i for i in (_instance(client_ip, g) for g in groups) for c in i.connections}


def _begin(connection: Connection) -> tuple[int, str]:
    return connection.begin_ns, connection.conn_id


def _came_to_nothing(connection: Connection) -> bool:
    return connection.protocol == "empty" or connection.failed_to_open


def _attach(connection: Connection, groups: list[Group]) -> bool:
    """Put the connection to the only group that can have opened it; False when there is none, or more than one."""
    at = connection.begin_ns
    alive = [g for g in groups if g.first_ns - NEIGHBOURHOOD_NS <= at <= g.last_ns + NEIGHBOURHOOD_NS]
    free = [g for g in alive if not _uses(g, connection.server, at)]
    port = connection.server.rpartition(":")[2]
    kin = [g for g in free if any(c.server.rpartition(":")[2] == port for c in g.connections)]
    free = kin or free
    if len(free) != 1:
        return False
    free[0].connections.append(connection)
    return True


def _uses(group: Group, server: str, at_ns: int) -> bool:
    """Whether the group had a connection to that server then and went on using it: an idle one may be dead."""
    return any(
        c.server == server
        and c.first_ns < at_ns < (c.last_request_ns or 0)
        and (c.close_ns is None or c.close_ns > at_ns)
        for c in group.connections
    )


def _instance(client_ip: str, group: Group) -> Instance:
    group.connections.sort(key=_begin)
    first = group.connections[0]
    client_id = next((c.client_id for c in group.connections if c.client_id is not None), None)
    digest = hashlib.sha256(f"{client_ip}|{client_id}|{first.conn_id}".encode()).hexdigest()
    return Instance(f"ci-{digest[:16]}", client_ip, client_id, kind_of(group.connections), group, group.connections)
