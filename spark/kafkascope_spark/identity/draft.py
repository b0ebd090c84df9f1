"""A client object in the making: connections held to be of one object, and the laws by which another cannot be.

The laws hold for the Java client, librdkafka, franz-go, sarama, kafkajs, kafka-python and aiokafka:
* one object has one connection at a time on which it produces to a broker, and one on which it fetches from it;
* ids of one owner (member id, transactional id, group instance id, producer id) belong to one object at a time, and an
  object uses one of a kind at a time;
* an id of one owner on two connections makes them one object's, unless another law forbids it;
* who goes on counting correlation ids where a connection that ended left off is the same object.
"""

from collections.abc import Callable, Iterable

from kafkascope_spark import wire
from kafkascope_spark.wire import Connection

TOGETHER_NS = 20_000_000
"""A client that is closed closes its connections one after the other, each within this time of the one before."""
AT_ONCE_NS = 1_000_000
"""Closed by one call: the sockets of one object follow one another in less."""
PAUSE_NS = 1_200_000_000
"""Longest pause between the bootstrap connection and the next one of the same object that got nowhere: Java's
reconnect.backoff.max.ms (1 s, and a fifth more by jitter), librdkafka's timer of a second."""
BOOTSTRAP_APIS = wire.HANDSHAKE_APIS | {wire.METADATA, wire.FIND_COORDINATOR}
PRODUCER_APIS = frozenset({wire.PRODUCE, wire.INIT_PRODUCER_ID})
CONSUMER_APIS = frozenset(
    {wire.FETCH, wire.LIST_OFFSETS, wire.JOIN_GROUP, wire.SYNC_GROUP, wire.HEARTBEAT, wire.OFFSET_FETCH}
    | {wire.SHARE_FETCH, wire.SHARE_ACKNOWLEDGE, wire.OFFSET_FOR_LEADER_EPOCH}
    | wire.GROUP_HEARTBEATS
)
SEEDED = frozenset({"sarama", "kgo"})
"""Clients that look for the cluster on connections of their own: a first one that only does that, others for work."""
MEMBER_APIS = wire.GROUP_APIS - {wire.OFFSET_COMMIT, wire.OFFSET_FETCH}
Span = tuple[int, int]
_OWNED: tuple[Callable[[Connection], set[str]], ...] = (
    lambda c: c.members,
    lambda c: c.transactional_ids,
    lambda c: c.group_instances,
    lambda c: {str(p) for p in c.producer_ids},
)


class Draft:
    """Connections of one object, in the order in which they were added; what they own and do, kept up to date."""

    def __init__(self, connections: Iterable[Connection] = ()) -> None:
        self.connections: list[Connection] = []
        self.doubtful = False
        """Whether a connection was put here though another object could have opened it as well."""
        self.reasons: set[str] = set()
        self.last_ns = 0
        self.closed = True
        """Whether the client itself closed all its connections."""
        self.worked = False
        """Whether it ever did more than look for the cluster."""
        self.ends: list[int] = []
        """Times at which the client closed connections."""
        self.apis: set[int] = set()
        self.groups: set[str] = set()
        self.sought: set[str] = set()
        """Groups that it named, and those of them whose coordinator it looked for."""
        self._owned: list[dict[str, Span]] = [{} for _ in _OWNED]
        for connection in connections:
            self.add(connection)

    @property
    def birth_ns(self) -> int:
        """First segment."""
        return self.connections[0].begin_ns

    def add(self, connection: Connection) -> None:
        """Take the connection in."""
        self.connections.append(connection)
        self.last_ns = max(self.last_ns, end_of(connection))
        self.closed = self.closed and closed_by_client(connection)
        self.worked = self.worked or bool(connection.apis - BOOTSTRAP_APIS)
        self.apis |= connection.apis
        self.groups |= connection.groups
        self.sought |= {key for kind, key in connection.sought if kind == "group"}
        if closed_by_client(connection):
            self.ends.append(end_of(connection))
        for mine, owned in zip(self._owned, _OWNED, strict=True):
            span = use_of(connection)
            for key in owned(connection):
                low, high = mine.get(key, span)
                mine[key] = (min(low, span[0]), max(high, span[1]))

    def join(self, other: "Draft") -> None:
        """Take in all of another."""
        for connection in other.connections:
            self.add(connection)
        self.connections.sort(key=lambda c: (c.begin_ns, c.conn_id))
        self.reasons |= other.reasons
        self.doubtful = self.doubtful or other.doubtful

    def lives_on_what(self, host: "Draft") -> bool:
        """Whether it works for a group whose coordinator it never looked for, but the host did: a member has to."""
        if any(c.syn_ns is None for c in self.connections):
            return False
        return bool((self.groups - self.sought) & host.sought)

    def completes(self, other: "Draft") -> bool:
        """Whether this is a member of a group and never fetches, and the other fetches, asked for that group's
        coordinator and then did nothing for it: a client (librdkafka) keeps a connection for its coordinator only."""
        if wire.FETCH in self.apis or wire.FETCH not in other.apis or other.apis & wire.GROUP_APIS:
            return False
        return bool(self.apis & MEMBER_APIS) and bool(self.groups & other.sought)

    @property
    def is_later(self) -> bool:
        """Whether these cannot be all of an object's connections, for want of its first one."""
        return all(
            c.software_name in SEEDED and c.syn_ns is not None and bool(c.apis - BOOTSTRAP_APIS)
            for c in self.connections
        )

    def shares_owned(self, connection: Connection) -> str | None:
        """The kind of id of one owner that this and the connection both used; None when there is none."""
        names = ("member id", "transactional id", "group instance id", "producer id")
        for name, mine, owned in zip(names, self._owned, _OWNED, strict=True):
            if any(key in mine for key in owned(connection)):
                return name
        return None

    def continues(self, connection: Connection) -> bool:
        """Whether the connection's correlation ids go on where one to the same server left off (librdkafka)."""
        first = first_id(connection)
        return first is not None and any(
            c.server == connection.server and c.last_id is not None and c.last_id + 1 == first
            for c in self.connections
            if end_of(c) <= connection.begin_ns + TOGETHER_NS
        )

    def forbids(self, connection: Connection) -> str | None:
        """Why one object cannot have this and the connection; None when it can."""
        span = use_of(connection)
        for mine, owned in zip(self._owned, _OWNED, strict=True):
            keys = owned(connection)
            if keys and not any(k in mine for k in keys) and any(_overlap(span, s) for s in mine.values()):
                return "uses ids of its own while the other uses other ones"
        if any(_same_work(c, connection) for c in self.connections):
            return "has a connection of its own to a broker for the same work"
        return None

    def forbids_all(self, other: "Draft") -> bool:
        """Whether any connection of the other cannot be of this one."""
        return any(self.forbids(c) for c in other.connections)

    def is_gone(self, at_ns: int) -> bool:
        """Whether it had closed all its connections by then, its work done or a while ago."""
        return self.closed and self.last_ns < at_ns and (self.worked or at_ns - self.last_ns > PAUSE_NS)

    def other_work(self, connection: Connection) -> bool:
        """Whether one of this and the connection only produces, the other only consumes."""
        return _only(self.apis, connection.apis) or _only(connection.apis, self.apis)

    @property
    def final_end(self) -> Span | None:
        """First and last of the ends with which the client finished; None when something else ended it, or nothing."""
        ends = sorted(self.ends, reverse=True)
        if not ends or ends[0] + TOGETHER_NS < self.last_ns:
            return None
        first = ends[0]
        for end in ends:
            if first - end > TOGETHER_NS:
                break
            first = end
        return first, ends[0]

    def end_distance(self, connection: Connection) -> int | None:
        """How far the connection's end lies from the nearest of this one's; None when either is not known."""
        if not self.ends or not closed_by_client(connection):
            return None
        end = end_of(connection)
        return min(abs(end - e) for e in self.ends)


def _only(a: set[int], b: set[int]) -> bool:
    return bool(a & PRODUCER_APIS and b & CONSUMER_APIS and not a & CONSUMER_APIS and not b & PRODUCER_APIS)


def _overlap(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _same_work(a: Connection, b: Connection) -> bool:
    """Whether both produce to, or both fetch from, one broker at one time. Where an address answers for several
    brokers, nothing is known: such a connection has no node id."""
    if a.server != b.server or (a.node_id is None and b.node_id is None):
        return False
    return any(
        mine is not None and other is not None and _overlap(mine, other)
        for mine, other in ((a.produce_span, b.produce_span), (a.fetch_span, b.fetch_span))
    )


def use_of(connection: Connection) -> Span:
    """When a connection's ids of one owner were in use."""
    low, high = connection.member_first_ns, connection.member_last_ns
    if low is None or high is None:
        low, high = connection.first_request_ns, connection.last_request_ns
    return (low or connection.first_ns, high or connection.last_ns)


def first_id(connection: Connection) -> int | None:
    """Its first correlation id, when its start was seen and it is not one that every connection starts with."""
    if connection.syn_ns is None or not connection.ids or connection.ids[0][1] <= 1:
        return None
    return connection.ids[0][1]


def closed_by_client(connection: Connection) -> bool:
    """Whether the client ended it, by FIN or RST."""
    return connection.close_kind in wire.CLOSED_BY_CLIENT


def end_of(connection: Connection) -> int:
    """When it was closed, or last seen."""
    return connection.close_ns or connection.last_ns
