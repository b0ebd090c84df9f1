"""Client instances of one address: the groups of its connections, with those attached that never carried a request.

A connection that was refused, not answered or closed before its first request says nothing about who opened it.
It goes to the one client object that was alive then without a working connection to that server: of several, those
that Metadata told of it or that had used it, or else those that use its port (a listener has one port on all brokers).
When several are left, to none.
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
    candidates = [_Candidate(g) for g in groups]
    left = [c for c in silent if not _attach(c, candidates)]
    lonely = [c for c in left if not groups and c.failed_to_open]
    if lonely:
        groups.append(Group(lonely, why="no request seen"))
    return {c.conn_id: i for i in (_instance(client_ip, g) for g in groups) for c in i.connections}


def _begin(connection: Connection) -> tuple[int, str]:
    return connection.begin_ns, connection.conn_id


def _came_to_nothing(connection: Connection) -> bool:
    return connection.protocol == "empty" or connection.failed_to_open


class _Candidate:
    """A group that may have tried a connection that came to nothing; what it tried counts for the next."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self._first_ns, self._last_ns = group.first_ns, group.last_ns
        self.ports = {c.port for c in group.connections}
        self.servers = {c.server for c in group.connections}.union(*(c.told for c in group.connections))
        self._used: dict[str, list[Connection]] = {}
        for connection in group.connections:
            if connection.last_request_ns is not None:
                self._used.setdefault(connection.server, []).append(connection)

    def is_alive(self, at_ns: int) -> bool:
        """Whether it was there, or about to be, or just gone."""
        return self._first_ns - NEIGHBOURHOOD_NS <= at_ns <= self._last_ns + NEIGHBOURHOOD_NS

    def uses(self, server: str, at_ns: int) -> bool:
        """Whether it had a connection to that server then and went on using it: an idle one may be dead."""
        return any(
            c.first_ns < at_ns < (c.last_request_ns or 0) and (c.close_ns is None or c.close_ns > at_ns)
            for c in self._used.get(server, ())
        )

    def take(self, connection: Connection) -> None:
        """It was this one's."""
        self.group.connections.append(connection)
        self._first_ns = min(self._first_ns, connection.begin_ns)
        self._last_ns = max(self._last_ns, connection.last_ns)


def _attach(connection: Connection, candidates: list[_Candidate]) -> bool:
    """Put the connection to the only client that can have opened it; False when there is none, or more than one."""
    at = connection.begin_ns
    free = [c for c in candidates if c.is_alive(at) and not c.uses(connection.server, at)]
    knowing = [c for c in free if connection.server in c.servers]
    likely = knowing or [c for c in free if connection.port in c.ports] or free
    if len(likely) != 1:
        return False
    likely[0].take(connection)
    return True


def _instance(client_ip: str, group: Group) -> Instance:
    group.connections.sort(key=_begin)
    first = group.connections[0]
    client_id = next((c.client_id for c in group.connections if c.client_id is not None), None)
    digest = hashlib.sha256(f"{client_ip}|{client_id}|{first.conn_id}".encode()).hexdigest()
    return Instance(f"ci-{digest[:16]}", client_ip, client_id, kind_of(group.connections), group, group.connections)
