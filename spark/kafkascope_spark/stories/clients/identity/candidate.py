"""A candidate for a client instance: connections that probably belong to one client, and the rules that exclude
another connection.

The rules hold for the Java client, librdkafka, franz-go, sarama, kafkajs, kafka-python and aiokafka:
* a client has one connection at a time on which it produces to a broker, and one on which it fetches from it;
* an exclusive id (member id, transactional id, group instance id, producer id) belongs to one client at a time, and a
  client uses one exclusive id of a kind at a time;
* two connections with the same exclusive id belong to the same client, unless another rule excludes it;
* a connection whose correlation ids continue where an ended connection stopped belongs to the same client.
"""

from collections.abc import Callable, Iterable

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.libraries.registry import library_of_software
from kafkascope_spark.stories.model import Connection

TOGETHER_NS = 20_000_000
"""Longest time between the closes of two connections when a client is closed: it closes them one after the other."""
AT_ONCE_NS = 1_000_000
"""Longest time between closes that one call makes."""
PAUSE_NS = 1_200_000_000
"""Longest pause between the bootstrap connection and the next one of a client that has not begun its work: Java's
reconnect.backoff.max.ms (1 s, and a fifth more by jitter), librdkafka's timer of a second."""
BOOTSTRAP_APIS = api_keys.HANDSHAKE_APIS | {api_keys.METADATA, api_keys.FIND_COORDINATOR}
PRODUCER_APIS = frozenset({api_keys.PRODUCE, api_keys.INIT_PRODUCER_ID})
CONSUMER_APIS = frozenset(
    {
        api_keys.FETCH,
        api_keys.LIST_OFFSETS,
        api_keys.JOIN_GROUP,
        api_keys.SYNC_GROUP,
        api_keys.HEARTBEAT,
        api_keys.OFFSET_FETCH,
    }
    | {api_keys.SHARE_FETCH, api_keys.SHARE_ACKNOWLEDGE, api_keys.OFFSET_FOR_LEADER_EPOCH}
    | api_keys.GROUP_HEARTBEATS
)
OFFSET_APIS = frozenset({api_keys.LIST_OFFSETS, api_keys.OFFSET_FETCH})
"""Requests by which a consumer learns where to begin."""
MEMBER_APIS = api_keys.GROUP_APIS - {api_keys.OFFSET_COMMIT, api_keys.OFFSET_FETCH}
Span = tuple[int, int]
Coordinated = tuple[str, str]
"""Type and name of what has a coordinator: a group or a transactional id."""
_EXCLUSIVE: tuple[Callable[[Connection], set[str]], ...] = (
    lambda c: c.members,
    lambda c: c.transactional_ids,
    lambda c: c.group_instances,
    lambda c: {str(p) for p in c.producer_ids},
)


class InstanceCandidate:
    """Connections of one client in the order in which they were added, with their exclusive ids and APIs."""

    def __init__(self, connections: Iterable[Connection] = ()) -> None:
        self.connections: list[Connection] = []
        self.is_ambiguous = False
        """Whether another candidate could also have opened one of the connections."""
        self.reasons: set[str] = set()
        self.last_ns = 0
        self.all_closed = True
        """Whether the client itself closed all its connections."""
        self.did_work = False
        """Whether it ever did more than discover the cluster."""
        self.ends: list[int] = []
        """Times at which the client closed connections."""
        self.apis: set[int] = set()
        self.coordinated: dict[Coordinated, int] = {}
        """Group or transactional id -> time of its first request to the coordinator."""
        self.sought: dict[Coordinated, int] = {}
        """Group or transactional id -> time of its first request for the coordinator's address."""
        self._exclusive: list[dict[str, Span]] = [{} for _ in _EXCLUSIVE]
        for connection in connections:
            self.add(connection)

    @property
    def begin_ns(self) -> int:
        """First segment."""
        return self.connections[0].begin_ns

    def add(self, connection: Connection) -> None:
        """Adds the connection."""
        self.connections.append(connection)
        self.last_ns = max(self.last_ns, end_of(connection))
        self.all_closed = self.all_closed and closed_by_client(connection)
        self.did_work = self.did_work or bool(connection.apis - BOOTSTRAP_APIS)
        self.apis |= connection.apis
        _keep_earliest(self.coordinated, {("group", name): at for name, at in connection.groups.items()})
        since_ns = use_of(connection)[0]
        _keep_earliest(self.coordinated, {("transaction", name): since_ns for name in connection.transactional_ids})
        _keep_earliest(self.sought, connection.sought)
        if closed_by_client(connection):
            self.ends.append(end_of(connection))
        for mine, exclusive in zip(self._exclusive, _EXCLUSIVE, strict=True):
            span = use_of(connection)
            for key in exclusive(connection):
                low, high = mine.get(key, span)
                mine[key] = (min(low, span[0]), max(high, span[1]))

    def join(self, other: "InstanceCandidate") -> None:
        """Adds all connections of another candidate."""
        for connection in other.connections:
            self.add(connection)
        self.connections.sort(key=lambda c: (c.begin_ns, c.conn_id))
        self.reasons |= other.reasons
        self.is_ambiguous = self.is_ambiguous or other.is_ambiguous

    def uses_coordinator_found_by(self, host: "InstanceCandidate") -> bool:
        """Whether it used a group or transactional id before it looked up the coordinator, if it ever did, and after
        the host had: a client has to find the coordinator first."""
        if any(c.syn_ns is None for c in self.connections):
            return False
        unsought = {name: at for name, at in self.coordinated.items() if at < self.sought.get(name, at + 1)}
        return any(name in host.sought and host.sought[name] <= at for name, at in unsought.items())

    def goes_on_with_lookup_of(self, host: "InstanceCandidate") -> bool:
        """Whether the host did nothing but look up the coordinator of a group or transactional id, was open when this
        candidate began, and was closed by its client before this candidate used that id: librdkafka closes its
        bootstrap connection when it has connected to the addresses in the Metadata response."""
        if host.did_work or not host.all_closed or not host.begin_ns <= self.begin_ns <= host.last_ns:
            return False
        return any(at >= host.last_ns for name, at in self.coordinated.items() if name in host.sought)

    def is_bootstrap_beside(self, connection: Connection) -> bool:
        """Whether this is one connection that requested Metadata alone, and was open when the other one began, which
        requests ApiVersions: aiokafka opens its second connection before it closes its first."""
        if len(self.connections) > 1 or not self.all_closed or self.apis != {api_keys.METADATA}:
            return False
        return connection.begin_ns <= self.last_ns and api_keys.API_VERSIONS in connection.apis

    def is_given_up_beside(self, other: "InstanceCandidate") -> bool:
        """Whether this candidate did the handshake alone while the other one was at a bootstrap server, and was closed
        together with that connection, or before the next one of the other: librdkafka connects to the next bootstrap
        server if the first ones do not respond at once, and closes all of them when it has the addresses of the
        brokers."""
        if not self.all_closed or not self.apis <= api_keys.HANDSHAKE_APIS:
            return False
        at_once = [c for c in other.connections if c.begin_ns <= self.last_ns and end_of(c) >= self.begin_ns]
        if not any(closed_by_client(c) and c.apis <= BOOTSTRAP_APIS for c in at_once):
            return False
        return len(at_once) == 1 or any(abs(end_of(c) - self.last_ns) <= TOGETHER_NS for c in at_once)

    def is_coordinator_connection_of(self, other: "InstanceCandidate") -> bool:
        """Whether this candidate has a member's requests, and the other has Fetch, the FindCoordinator of that group
        and no request to a coordinator: librdkafka keeps a separate connection to its coordinator. If this one has
        Fetch, too, it must have joined after that FindCoordinator, and have found no coordinator itself since the
        other one began."""
        if api_keys.FETCH not in other.apis or other.apis & api_keys.GROUP_APIS or not self.apis & MEMBER_APIS:
            return False
        shared = other.sought.keys() & self.coordinated.keys()
        if api_keys.FETCH not in self.apis:
            return bool(shared)
        lasting = [c for c in self.connections if end_of(c) > other.begin_ns]
        return any(
            other.sought[name] <= at and not any(c.sought.get(name, at + 1) <= at for c in lasting)
            for name, at in ((name, self.coordinated[name]) for name in shared)
        )

    def reads_on_behalf_of(self, other: "InstanceCandidate") -> bool:
        """Whether this candidate fetches, although it asked for no offset from which to begin, and the other one, which
        it may belong to, had asked for offsets before: franz-go may fetch on a connection to a broker that it asked for
        metadata before."""
        first_ns = min((c.fetch_span[0] for c in self.connections if c.fetch_span is not None), default=None)
        if first_ns is None or self.apis & OFFSET_APIS or any(c.syn_ns is None for c in self.connections):
            return False
        asked = (c.first_request_ns for c in other.connections if c.apis & OFFSET_APIS)
        return any(at_ns is not None and at_ns < first_ns for at_ns in asked)

    @property
    def lacks_bootstrap(self) -> bool:
        """Whether the client must have another connection, because these lack its first one."""
        return all(
            c.syn_ns is not None
            and bool(c.apis - BOOTSTRAP_APIS)
            and library_of_software(c.software_name).has_seed_connection
            for c in self.connections
        )

    def shared_id_kind(self, connection: Connection) -> str | None:
        """The kind of exclusive id that the candidate and the connection both used, or None."""
        names = ("member id", "transactional id", "group instance id", "producer id")
        for name, mine, exclusive in zip(names, self._exclusive, _EXCLUSIVE, strict=True):
            if any(key in mine for key in exclusive(connection)):
                return name
        return None

    def continues(self, connection: Connection) -> bool:
        """Whether the connection's correlation ids continue where an ended one to the same server stopped
        (librdkafka)."""
        first = first_id(connection)
        return first is not None and any(
            c.server == connection.server and c.last_id is not None and c.last_id + 1 == first
            for c in self.connections
            if end_of(c) <= connection.begin_ns + TOGETHER_NS
        )

    def contradiction(self, connection: Connection) -> str | None:
        """The reason why the connection cannot belong to this candidate; None when it can."""
        span = use_of(connection)
        for mine, exclusive in zip(self._exclusive, _EXCLUSIVE, strict=True):
            keys = exclusive(connection)
            if keys and not any(k in mine for k in keys) and any(_overlap(span, s) for s in mine.values()):
                return "uses ids of its own while the other uses other ones"
        if any(_same_work(c, connection) for c in self.connections):
            return "has a connection of its own to a broker for the same work"
        return None

    def contradicts(self, other: "InstanceCandidate") -> bool:
        """Whether any connection of the other candidate cannot belong to this one."""
        return any(self.contradiction(c) for c in other.connections)

    def has_ended(self, at_ns: int) -> bool:
        """Whether the client had closed all its connections by then, after it did its work or long enough before."""
        return self.all_closed and self.last_ns < at_ns and (self.did_work or at_ns - self.last_ns > PAUSE_NS)

    def does_other_work(self, connection: Connection) -> bool:
        """Whether one of the candidate and the connection only produces, and the other only consumes."""
        return _only(self.apis, connection.apis) or _only(connection.apis, self.apis)

    @property
    def final_end(self) -> Span | None:
        """The first and the last of the closes at the client's end; None where the client did not close it."""
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
        """The time between the connection's close and the nearest close of this candidate; None when either is
        unknown."""
        if not self.ends or not closed_by_client(connection):
            return None
        end = end_of(connection)
        return min(abs(end - e) for e in self.ends)


def _only(a: set[int], b: set[int]) -> bool:
    return bool(a & PRODUCER_APIS and b & CONSUMER_APIS and not a & CONSUMER_APIS and not b & PRODUCER_APIS)


def _overlap(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _same_work(a: Connection, b: Connection) -> bool:
    """Whether both connections produce to one broker at the same time, or both fetch from it. False where an address
    serves several brokers: such a connection has no node id."""
    if a.server != b.server or (a.node_id is None and b.node_id is None):
        return False
    return any(
        mine is not None and other is not None and _overlap(_used(a, mine), _used(b, other))
        for mine, other in ((a.produce_span, b.produce_span), (a.fetch_span, b.fetch_span))
    )


def _used(connection: Connection, span: Span) -> Span:
    """The span without the time in which only the kernel sent what the process had left in the send buffer."""
    rest = connection.left_in_buffer
    return span if rest is None else (span[0], max(span[0], min(span[1], rest[0])))


def use_of(connection: Connection) -> Span:
    """The time in which the connection's exclusive ids were in use."""
    low, high = connection.member_first_ns, connection.member_last_ns
    if low is None or high is None:
        low, high = connection.first_request_ns, connection.last_request_ns
    return _used(connection, (low or connection.first_ns, high or connection.last_ns))


def first_id(connection: Connection) -> int | None:
    """The first correlation id of a connection that was opened in the capture; None if every connection begins with
    it."""
    if connection.syn_ns is None or not connection.ids or connection.ids[0][1] <= 1:
        return None
    return connection.ids[0][1]


def closed_by_client(connection: Connection) -> bool:
    """Whether the client ended it, by FIN or RST."""
    return connection.close_kind in CLOSED_BY_CLIENT


def _keep_earliest(known: dict[Coordinated, int], more: dict[Coordinated, int]) -> None:
    for key, at in more.items():
        known[key] = min(at, known.get(key, at))


def end_of(connection: Connection) -> int:
    """The time at which the connection was closed, or last seen."""
    return connection.close_ns or connection.last_ns
