"""Which connections of one address belong to one running client object.

Connections are first put together by client id and software; then they are taken apart by what only one client
object can do:
* the Java client numbers correlation ids over all its connections with one counter, so that two of its objects collide;
* a member id, a transactional id or a group instance id belongs to one object at a time.

Who has one counter a connection is told apart by the second rule, and by bootstrap and end: a client that is closed
closes all its connections at one moment.
Source: NetworkClient.correlation; librdkafka rd_kafka_broker_t.rkb_corrid; KIP-345, KIP-447.
"""

from dataclasses import dataclass, field

from kafkascope_spark.identity.counter import SharedCounter
from kafkascope_spark.wire import API_VERSIONS, FIND_COORDINATOR, HANDSHAKE_APIS, METADATA, Connection

JAVA = "apache-kafka-java"
PAUSE_NS = 1_000_000_000
"""Longest pause between the bootstrap connection and the next one of the same process."""
MIN_IDS, DENSE_IDS = 3, 16
"""Fewest ids that tell whether they are dense, and most that are looked at: later ones are samples."""
TOGETHER_NS = 20_000_000
"""A client that is closed closes all its connections within this time."""
BOOTSTRAP_APIS = HANDSHAKE_APIS | {METADATA, FIND_COORDINATOR}


@dataclass(slots=True)
class Group:
    """Connections held to be one client object, and why."""

    connections: list[Connection] = field(default_factory=list)
    shared: bool = False
    why: str = "only client of its name here"

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
    named: dict[tuple[str | None, str | None], list[Connection]] = {}
    for connection in sorted((c for c in connections if c.first_request_ns is not None), key=_order):
        named.setdefault((connection.client_id, connection.software_name), []).append(connection)
    groups: list[Group] = []
    nameless = [c for c in connections if c.first_request_ns is None]
    if nameless:
        groups.append(Group(sorted(nameless, key=_order), shared=True, why="no request seen: one by address only"))
    for members in _with_nameless_software(named):
        split = _split_by_counter(members) if _counts_over_connections(members) else _split_by_evidence(members)
        groups += split
    return sorted(groups, key=lambda g: _order(g.connections[0]))


def _order(connection: Connection) -> tuple[int, str]:
    first = connection.first_request_ns
    return (first if first is not None else connection.first_ns, connection.conn_id)


def _with_nameless_software(
    named: dict[tuple[str | None, str | None], list[Connection]],
) -> list[list[Connection]]:
    """Connections that never told their software (no ApiVersions, or an old one) go to the only software of that
    client id."""
    by_client: dict[str | None, dict[str | None, list[Connection]]] = {}
    for (client_id, software), members in named.items():
        by_client.setdefault(client_id, {})[software] = members
    out = []
    for kinds in by_client.values():
        nameless = kinds.pop(None, [])
        if len(kinds) == 1:
            (only,) = kinds.values()
            out.append(sorted(only + nameless, key=_order))
        else:
            out += list(kinds.values())
            if nameless:
                out.append(nameless)
    return out


def _counts_over_connections(members: list[Connection]) -> bool:
    """Whether one counter numbers the requests of all these connections: the Java client, or ids that are not dense.

    A first id above 1 alone says nothing: kafkajs and librdkafka go on counting when they connect to a broker again.
    """
    software = {c.software_name for c in members} - {None}
    if software:
        return JAVA in software
    dense = [_is_dense(c) for c in members if len(c.ids) >= MIN_IDS]
    return bool(dense) and 2 * sum(dense) < len(dense)


def _is_dense(connection: Connection) -> bool:
    """Whether the first ids follow one another."""
    ids = [i for _, i in connection.ids[:DENSE_IDS]]
    return sorted(ids) == list(range(min(ids), min(ids) + len(ids)))


def _split_by_counter(members: list[Connection]) -> list[Group]:
    counters: list[tuple[SharedCounter, Group]] = []
    for connection in members:
        fits = [(counter.distance(connection), i) for i, (counter, _) in enumerate(counters)]
        possible = sorted((d, i) for d, i in fits if d is not None)
        ends = [i for _, i in possible if not _ended_before(counters[i][1], connection)]
        if not ends:
            counters.append((SharedCounter(), Group()))
            best = len(counters) - 1
        else:
            best = next(i for _, i in possible if i in ends)
        counter, group = counters[best]
        counter.add(connection)
        group.connections.append(connection)
    if len(counters) > 1:
        for _, group in counters:
            group.why = "correlation ids: one counter over its connections"
    return [group for _, group in counters]


def _ended_before(group: Group, connection: Connection) -> bool:
    """Whether the group's process was gone when the connection began: all closed, and its ids start anew."""
    gone = all(c.close_ns is not None and c.close_ns < connection.begin_ns for c in group.connections)
    return gone and bool(connection.ids) and connection.ids[0][1] <= 1


def _split_by_evidence(members: list[Connection]) -> list[Group]:
    """One group, unless ids of one owner or the ends of connections prove several at the same time."""
    groups: list[Group] = []
    for run in _runs(members):
        proofs = _proofs(run)
        if len(proofs) < 2:
            proofs = _closed_together(run)
        groups += [Group(run)] if len(proofs) < 2 else _share_out(run, proofs)
    return groups


def _closed_together(run: list[Connection]) -> list[Group]:
    """Groups by the moment at which the client closed them, if each of those began with a bootstrap of its own."""
    closed = sorted((c for c in run if _closed_by_client(c) and c.close_ns is not None), key=_end)
    groups: list[Group] = []
    for connection in closed:
        if groups and _end(connection)[0] - _end(groups[-1].connections[-1])[0] <= TOGETHER_NS:
            groups[-1].connections.append(connection)
        else:
            groups.append(Group([connection], why="opened and closed together"))
    whole = [g for g in groups if len(g.connections) > 1 and _has_bootstrap(g)]
    return whole if len(whole) == len([g for g in groups if len(g.connections) > 1]) else []


def _has_bootstrap(group: Group) -> bool:
    """Whether its first connection asked for the cluster only, and others did the work."""
    first = min(group.connections, key=_order)
    worked = any(c.apis - BOOTSTRAP_APIS for c in group.connections)
    return worked and METADATA in first.apis


def _end(connection: Connection) -> tuple[int, str]:
    return connection.close_ns or connection.last_ns, connection.conn_id


def _runs(members: list[Connection]) -> list[list[Connection]]:
    """Cut where a client had closed everything itself, its work done or a while ago, before it came again: another
    process.

    librdkafka and others close the bootstrap connection too before they open the next; kafkajs asks for the API
    versions on its first connection only, so that one which does not ask goes on with what was learned before.
    """
    runs: list[list[Connection]] = []
    last_ns, closed, worked, asked = 0, True, True, False
    for connection in sorted(members, key=lambda c: (c.begin_ns, c.conn_id)):
        at, asks = connection.begin_ns, API_VERSIONS in connection.apis
        begins_anew = asks or not asked
        if not runs or (begins_anew and closed and last_ns < at and (worked or at - last_ns > PAUSE_NS)):
            runs.append([])
            last_ns, closed, worked, asked = 0, True, False, False
        asked = asked or asks
        runs[-1].append(connection)
        last_ns = max(last_ns, connection.last_ns)
        closed = closed and _closed_by_client(connection)
        worked = worked or bool(connection.apis - BOOTSTRAP_APIS)
    return runs


def _closed_by_client(connection: Connection) -> bool:
    return connection.close_kind in ("fin_client", "rst_client")


def _proofs(run: list[Connection]) -> list[Group]:
    """Groups of connections that share an id of one owner; those whose ids take turns, never at one time, are one."""
    proofs: list[Group] = []
    for connection in run:
        ids = connection.members | connection.transactional_ids | connection.group_instances
        if not ids:
            continue
        same = [g for g in proofs if ids & set().union(*g.evidence())]
        turn = [g for g in proofs if not same and not _at_one_time(g, connection)]
        found = same or turn[:1]
        if not found:
            proofs.append(Group([connection], why=_why(connection)))
            continue
        found[0].connections.append(connection)
        for other in found[1:]:
            found[0].connections += other.connections
            proofs.remove(other)
    return proofs


def _why(connection: Connection) -> str:
    if connection.members:
        return "its own member id"
    return "its own transactional id" if connection.transactional_ids else "its own group instance id"


def _at_one_time(group: Group, connection: Connection) -> bool:
    """Whether the group used its ids while the connection used other ones."""
    lo, hi = _span(connection)
    return any(_span(c)[0] < hi and lo < _span(c)[1] for c in group.connections)


def _span(connection: Connection) -> tuple[int, int]:
    lo, hi = connection.member_first_ns, connection.member_last_ns
    if lo is None or hi is None:
        return connection.first_ns, connection.last_ns
    return lo, hi


def _share_out(run: list[Connection], proofs: list[Group]) -> list[Group]:
    """The other connections go to the proof with which they were closed, that has no other one to that broker, that
    began nearest."""
    proven = [list(g.connections) for g in proofs]
    anchors = [g.first_ns for g in proofs]
    taken = {c.conn_id for cs in proven for c in cs}
    unsure = False
    for connection in run:
        if connection.conn_id in taken:
            continue
        ranks = sorted(
            (not _ends_with(proven[i], connection), _doubled(g, connection), abs(anchors[i] - connection.begin_ns), i)
            for i, g in enumerate(proofs)
        )
        unsure = unsure or ranks[0][:2] == ranks[1][:2]
        proofs[ranks[0][-1]].connections.append(connection)
    for group in proofs:
        group.connections.sort(key=_order)
        if unsure:
            group.shared, group.why = True, f"{group.why}; connections without one by time"
    return proofs


def _ends_with(proven: list[Connection], connection: Connection) -> bool:
    """Whether the client closed the connection together with the proven ones."""
    if not _closed_by_client(connection):
        return False
    ends = [_end(c)[0] for c in proven if _closed_by_client(c)]
    return bool(ends) and abs(max(ends) - _end(connection)[0]) <= TOGETHER_NS


def _doubled(group: Group, connection: Connection) -> bool:
    return any(
        c.server == connection.server and c.first_ns < connection.last_ns and connection.first_ns < c.last_ns
        for c in group.connections
        if not (c.members or c.transactional_ids)
    )
