"""The client instances of one address: groups of its connections, including connections that carried no request."""

import hashlib
from dataclasses import dataclass, field

from kafkascope_spark.stories.clients.identity.attempts import attach
from kafkascope_spark.stories.clients.identity.by_hello import attach_by_hello, group_by_hello
from kafkascope_spark.stories.clients.identity.grouping import Group, group_connections
from kafkascope_spark.stories.clients.identity.kinds import Kind, kind_of
from kafkascope_spark.stories.clients.identity.library import library_of
from kafkascope_spark.stories.model import Connection


@dataclass(slots=True)
class Instance:
    """A running client: its id, and its connections in order of time."""

    instance_id: str
    client_ip: str
    client_id: str | None
    kind: Kind
    group: Group
    connections: list[Connection] = field(default_factory=list)
    library: str = field(init=False)
    """The name of the client library (libraries/registry.py)."""
    is_encrypted: bool = field(init=False)
    """Whether the APIs of its requests are guessed from the lengths of TLS records. Stored because it is needed for
    each event, and a client that connects all the time has tens of thousands of connections."""

    def __post_init__(self) -> None:
        self.library = library_of(self.connections)
        self.is_encrypted = any(c.is_encrypted for c in self.connections)

    @property
    def last_activity_ns(self) -> int:
        """Time of the last request or connection attempt."""
        return max(max(c.begin_ns, c.last_request_ns or 0) for c in self.connections)

    @property
    def late_copies(self) -> dict[str, int]:
        """conn_id -> time from which only the client's kernel sent on the connection: the client had meanwhile
        connected to the same server again, and sent the same requests there."""
        found = {}
        for connection in self.connections:
            rest = connection.left_in_buffer
            if rest is not None and any(
                c.server == connection.server and rest[0] < c.begin_ns < rest[1] for c in self.connections
            ):
                found[connection.conn_id] = rest[1]
        return found


def instances_of(client_ip: str, connections: list[Connection]) -> dict[str, Instance]:
    """conn_id -> instance, for the connections of one client address."""
    readable = [c for c in connections if not c.is_encrypted and not c.ended_at_tls]
    with_requests = [c for c in readable if c.first_request_ns is not None or c.protocol == "kafka"]
    attempts = [c for c in readable if c.first_request_ns is None and _came_to_nothing(c)]
    groups = group_connections(with_requests)
    ended = attach_by_hello((c for c in connections if c.ended_at_tls), groups)
    groups += group_by_hello([*ended, *(c for c in connections if c.is_encrypted)])
    left = attach(attempts, groups)
    unassigned = [c for c in left if not groups and c.failed_to_open]
    if unassigned:
        groups.append(Group(unassigned, shared=True, why="no request seen: one by address only"))
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
