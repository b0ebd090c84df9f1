"""Client instances of one address: the groups of its connections, with those attached that never carried a request."""

import hashlib
from dataclasses import dataclass, field

from kafkascope_spark.identity.attempts import attach
from kafkascope_spark.identity.grouping import Group, group_connections
from kafkascope_spark.identity.kinds import Kind, kind_of
from kafkascope_spark.wire import Connection


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
    silent = [c for c in connections if c.first_request_ns is None and _came_to_nothing(c)]
    groups = group_connections(speaking)
    left = attach(silent, groups)
    lonely = [c for c in left if not groups and c.failed_to_open]
    if lonely:
        groups.append(Group(lonely, shared=True, why="no request seen: one by address only"))
    return {c.conn_id: i for i in (_instance(client_ip, g) for g in groups) for c in i.connections}


def _begin(connection: Connection) -> tuple[int, str]:
    return connection.begin_ns, connection.conn_id


def _came_to_nothing(connection: Connection) -> bool:
    return connection.protocol == "empty" or connection.failed_to_open


def _instance(client_ip: str, group: Group) -> Instance:
    group.connections.sort(key=_begin)
    first = group.connections[0]
    client_id = next((c.client_id for c in group.connections if c.client_id is not None), None)
    digest = hashlib.sha256(f"{client_ip}|{client_id}|{first.conn_id}".encode()).hexdigest()
    return Instance(f"ci-{digest[:16]}", client_ip, client_id, kind_of(group.connections), group, group.connections)
