"""The model of `kafkascope topology`: the cluster at one time, or how it changed."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from kafkascope_analyzer.dataset.broker_releases import cluster_releases
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.durations import parse_moment
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import capture_span, one_of
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_analyzer.dataset.topology_facts import (
    ACTIVE_CONTROLLER,
    RAFT_LOG,
    REPORTED,
    Change,
    Fact,
    Replay,
    facts_in_order,
)
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_analyzer.report.formatting import absolute, address
from kafkascope_analyzer.report.model.listed_brokers import GONE, BrokerMove, broker_moves
from kafkascope_analyzer.report.model.zookeeper_sessions import zookeeper_sessions
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_parsers.broker_release import ZOOKEEPER_MODE
from kafkascope_parsers.errors import UsageError

SAME_MOVE_NS = 1_000_000_000
"""Partitions of a topic that move from one node to another within this time of each other are one change."""


@dataclass(frozen=True, slots=True)
class CaptureTimes:
    """Begin and end of the capture."""

    start_ns: int | None
    end_ns: int | None
    start: str | None
    duration_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBy:
    """The request that shows a fact about the cluster, and the packet in which its response begins."""

    request_id: str | None
    api_name: str | None = None
    packet_no: int | None = None
    capture_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller(ShownBy):
    """The active controller, and how it is known."""

    node_id: int | None
    since_ns: int
    source: str
    epoch: int | None
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyBroker(ShownBy):
    """A node with its advertised addresses, its servers' addresses and its connections."""

    node_id: int
    advertised: tuple[str, ...]
    rack: str | None
    addresses: tuple[str, ...]
    n_connections: int
    listed: bool | None
    since_ns: int | None
    source: str = REPORTED


@dataclass(frozen=True, slots=True)
class UnknownAddress:
    """The address of a Kafka server whose node is not known, with the reason."""

    address: str
    why: str
    n_connections: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLeader(ShownBy):
    """The leader of a partition."""

    topic: str
    partition: int
    leader_epoch: int | None
    node_id: int | None
    since_ns: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator(ShownBy):
    """The coordinator of a group or a transactional id."""

    type: str
    key: str
    node_id: int | None
    since_ns: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterChange(ShownBy):
    """A leader, coordinator or controller that moved, or a broker that left or came back. ts_ns, last_ns: times at
    which the first and the last partition moved.
    """

    ts_ns: int
    last_ns: int
    kind: str
    subject: str
    what: str = "moved"
    node_id: int | None
    from_: int | None = None
    to: int | None = None
    partitions: tuple[int, ...] = ()
    epochs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """The cluster at one time, or at the end with all changes before it."""

    capture: CaptureTimes
    at_ns: int | None
    at: str | None
    cluster_ids: tuple[str, ...]
    mode: str | None
    sentence: str | None
    zookeeper_sessions: tuple[ZooKeeperSession, ...]
    controller: Controller | None
    brokers: tuple[TopologyBroker, ...]
    open_addresses: tuple[UnknownAddress, ...]
    leaders: tuple[PartitionLeader, ...]
    coordinators: tuple[Coordinator, ...]
    changes: tuple[ClusterChange, ...] | None

    @property
    def has_zookeeper(self) -> bool:
        """Whether ZooKeeper elects the controller. Metadata then names the elected controller."""
        return self.mode == ZOOKEEPER_MODE


@dataclass(frozen=True, slots=True)
class _Server(Row):
    """The columns of a connection that describe its server."""

    TABLE: ClassVar[Table] = CONNECTIONS
    server_ip: str | None
    server_port: int | None
    node_id: int | None
    node_id_why: str | None
    first_ns: int
    last_ns: int

    @property
    def address(self) -> str:
        """Address and port."""
        return address(self.server_ip, self.server_port) or ""


@dataclass(frozen=True, slots=True)
class _Request(Row):
    TABLE: ClassVar[Table] = REQUESTS
    request_id: str
    api_name: str | None
    response_packet_no: int | None
    capture_id: int | None


S = TypeVar("S", bound=ShownBy)


def topology_model(dataset: Dataset, at: str | None = None) -> Topology:
    """Returns the cluster at a time, or at the end with all changes before it. Raises UsageError where the text is not
    a time."""
    capture = _capture_times(dataset)
    at_ns = None if at is None else time_of(at, capture.start_ns, capture.end_ns)
    replay, changes = Replay(), []
    for fact in facts_in_order(dataset):
        if at_ns is not None and fact.since_ns > at_ns:
            break
        change = replay.take(fact)
        if change is not None and change.before is not None:
            changes.append(change)
    moves = [move for move in broker_moves(dataset) if at_ns is None or move.ts_ns <= at_ns]
    releases = cluster_releases(dataset)
    servers = [row for row in _servers(dataset) if at_ns is None or row.first_ns <= at_ns <= row.last_ns]
    model = Topology(
        capture=capture,
        at_ns=at_ns,
        at=None if at_ns is None else absolute(at_ns),
        cluster_ids=tuple(sorted(key[1] for key in replay.state if key[0] == "cluster")),
        mode=releases.mode,
        sentence=releases.sentence,
        zookeeper_sessions=tuple(zookeeper_sessions(dataset)),
        controller=_controller(replay.state),
        brokers=tuple(_brokers(servers, replay.state, moves)),
        open_addresses=tuple(_open_addresses(servers)),
        leaders=tuple(_leader(fact) for fact in _of_kind(replay.state, "leader")),
        coordinators=tuple(_coordinator(fact) for fact in _of_kind(replay.state, "coordinator")),
        changes=None if at_ns is not None else tuple(_changes(changes, moves)),
    )
    return _with_packets(dataset, model)


def _capture_times(dataset: Dataset) -> CaptureTimes:
    first_ns, last_ns = capture_span(dataset)
    if not last_ns:
        return CaptureTimes(None, None, None, None)
    return CaptureTimes(first_ns, last_ns, absolute(first_ns), (last_ns - first_ns) // 1000)


def time_of(text: str, start_ns: int | None, end_ns: int | None) -> int:
    """Returns nanoseconds since the epoch of the time given to --at, which must lie in the capture. Raises
    UsageError."""
    if start_ns is None or end_ns is None:
        raise UsageError("the capture has no packets, so there is no time to look at")
    at_ns = parse_moment(text, "--at").since_epoch(start_ns)
    if not start_ns <= at_ns <= end_ns:
        raise UsageError(f"--at {text}: the capture has only {absolute(start_ns)} to {absolute(end_ns)}")
    return at_ns


def _of_kind(state: dict[Any, Fact], kind: str) -> list[Fact]:
    found = [fact for key, fact in state.items() if key[0] == kind]
    return sorted(found, key=lambda fact: tuple(str(p) if not isinstance(p, int) else f"{p:010}" for p in fact.key))


def _controller(state: dict[Any, Fact]) -> Controller | None:
    """Returns the leader of the raft log; else the node that sends a controller's requests to brokers (ZooKeeper); else
    the node that Metadata names, which in KRaft may be any broker that is up (KIP-590).
    """
    ways = {
        "raft log": ("leader", *RAFT_LOG),
        "its requests to brokers": ACTIVE_CONTROLLER,
        "Metadata": ("controller",),
    }
    for by, key in ways.items():
        fact = state.get(key)
        if fact is not None:
            epoch = None if by == "Metadata" else fact.epoch
            return Controller(
                request_id=fact.request_id,
                node_id=fact.node_id,
                since_ns=fact.since_ns,
                source=fact.source,
                epoch=epoch,
                by=by,
            )
    return None


def _leader(fact: Fact) -> PartitionLeader:
    return PartitionLeader(
        request_id=fact.request_id,
        topic=fact.key[1],
        partition=fact.key[2],
        leader_epoch=fact.epoch,
        node_id=fact.node_id,
        since_ns=fact.since_ns,
        source=fact.source,
    )


def _coordinator(fact: Fact) -> Coordinator:
    return Coordinator(
        request_id=fact.request_id,
        type=fact.key[1],
        key=fact.key[2],
        node_id=fact.node_id,
        since_ns=fact.since_ns,
        source=fact.source,
    )


def _brokers(servers: list[_Server], state: dict[Any, Fact], moves: list[BrokerMove]) -> Iterator[TopologyBroker]:
    """Yields nodes with their advertised addresses, racks, servers' addresses, and connections."""
    seen: dict[int, Counter[str]] = defaultdict(Counter)
    for row in servers:
        if row.node_id is not None:
            seen[row.node_id][row.address] += 1
    listed = grouped(_of_kind(state, "broker"), lambda fact: int(fact.key[1]))
    where = {move.node_id: move.what for move in moves}
    for node in sorted({*listed, *seen}):
        facts = listed.get(node, [])
        first = min(facts, key=lambda fact: fact.since_ns, default=None)
        yield TopologyBroker(
            request_id=None if first is None else first.request_id,
            node_id=node,
            advertised=tuple(address(fact.key[2], fact.key[3]) or "" for fact in facts),
            rack=next((fact.rack for fact in facts if fact.rack), None),
            addresses=tuple(place for place, _ in sorted(seen[node].items(), key=lambda item: (-item[1], item[0]))),
            n_connections=seen[node].total(),
            listed=None if first is None else where.get(node) != GONE,
            since_ns=None if first is None else first.since_ns,
        )


def _servers(dataset: Dataset) -> Iterator[_Server]:
    return read(dataset, _Server, one_of("protocol", ["kafka"]))


def _open_addresses(servers: list[_Server]) -> list[UnknownAddress]:
    found = Counter((row.address, row.node_id_why or "nothing shows it") for row in servers if row.node_id is None)
    return [UnknownAddress(*place, n) for place, n in sorted(found.items())]


def _changes(changes: list[Change], moves: list[BrokerMove]) -> list[ClusterChange]:
    """Returns moves of leaders (partitions of a topic together), of coordinators and of the raft log, and brokers that
    left and came back, by time.
    """
    out = [
        ClusterChange(
            request_id=move.request_id,
            ts_ns=move.ts_ns,
            last_ns=move.ts_ns,
            kind="broker",
            subject=f"node {move.node_id}",
            what=move.what,
            node_id=move.node_id,
        )
        for move in moves
    ]
    together: dict[tuple[str, int | None, int | None], int] = {}
    for change in changes:
        before, after = change.before, change.after
        if before is None or not change.is_move:
            continue
        moved = _moved(before, after)
        key = moved.subject, moved.from_, moved.to
        place = together.get(key) if after.key[0] == "leader" else None
        if place is not None and moved.ts_ns - out[place].last_ns <= SAME_MOVE_NS:
            out[place] = _joined(out[place], moved)
            continue
        if after.key[0] == "leader":
            together[key] = len(out)
        out.append(moved)
    return sorted(out, key=lambda row: (row.ts_ns, row.kind, row.subject, str(row.to)))


def _joined(known: ClusterChange, moved: ClusterChange) -> ClusterChange:
    """Joins partitions of a topic that moved between the same nodes into one change."""
    partitions = tuple(sorted({*known.partitions, *moved.partitions}))
    epochs = tuple(sorted({*known.epochs, *moved.epochs}))
    return replace(known, last_ns=moved.ts_ns, partitions=partitions, epochs=epochs)


def _moved(before: Fact, after: Fact) -> ClusterChange:
    """Returns the change for one move from a node to another."""
    kind, subject = "controller", "ZooKeeper"
    partitions: tuple[int, ...] = ()
    epochs = () if after.epoch is None else (after.epoch,)
    if after.key[0] == "coordinator":
        kind, subject, epochs = f"{after.key[1]} coordinator", after.key[2], ()
    elif after.key != ACTIVE_CONTROLLER:
        kind = "controller" if after.key[1:] == RAFT_LOG else "leader"
        subject, partitions = after.key[1], (after.key[2],)
    return ClusterChange(
        request_id=after.request_id,
        ts_ns=after.since_ns,
        last_ns=after.since_ns,
        kind=kind,
        subject=subject,
        node_id=after.node_id,
        from_=before.node_id,
        to=after.node_id,
        partitions=partitions,
        epochs=epochs,
    )


def _with_packets(dataset: Dataset, model: Topology) -> Topology:
    """Returns the model in which everything that has a request also has the request's API and the packet of its
    response."""
    parts: list[ShownBy] = [*model.brokers, *model.leaders, *model.coordinators, *(model.changes or ())]
    parts += [model.controller] if model.controller else []
    wanted = sorted({part.request_id for part in parts if part.request_id})
    known = {row.request_id: row for row in read(dataset, _Request, one_of("request_id", wanted))}

    def shown(part: S) -> S:
        row = known.get(part.request_id or "")
        if row is None:
            return part
        return replace(part, api_name=row.api_name, packet_no=row.response_packet_no, capture_id=row.capture_id)

    return replace(
        model,
        controller=None if model.controller is None else shown(model.controller),
        brokers=tuple(map(shown, model.brokers)),
        leaders=tuple(map(shown, model.leaders)),
        coordinators=tuple(map(shown, model.coordinators)),
        changes=None if model.changes is None else tuple(map(shown, model.changes)),
    )
