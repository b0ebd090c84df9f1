"""The state of the cluster over time, as the brokers reported it: leaders, coordinators and addresses, each with its
time.

A fact is the last report about one subject (a topic-partition's leader, a coordinator's key, a node's endpoint) and its
source. Leader epochs only rise while a topic exists (KIP-320): older reports are ignored. Facts that no response
reports are taken from the requests that a broker confirmed (table `roles`)."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import CONNECTIONS, ROLE_ROWS, TOPOLOGY
from kafkascope_parsers.versions import MOST_INT32, parse_number

RAFT_LOG = ("__cluster_metadata", 0)
"""The partition whose leader is the active controller (KIP-500)."""
ACTIVE_CONTROLLER = ("active controller",)
REPORTED, CONFIRMED, CONTROLLED = "reported", "confirmed", "controller"
Key = tuple[Any, ...]

_COORDINATORS = {"group_coordinator": "group", "transaction_coordinator": "transaction", "share_coordinator": "share"}
_KINDS = ("broker", "leader", "coordinator", "controller", "cluster")


@dataclass(frozen=True, slots=True)
class TopologyRow(Row):
    """A row of the table topology."""

    TABLE: ClassVar[Table] = TOPOLOGY
    ts_ns: int
    kind: str
    node_id: int | None
    host: str | None
    port: int | None
    rack: str | None
    topic: str | None
    topic_id: str | None
    partition: int | None
    leader_epoch: int | None
    coordinator_key: str | None
    coordinator_type: str | None
    cluster_id: str | None
    request_id: str | None
    from_controller: bool


@dataclass(frozen=True, slots=True)
class _Node(Row):
    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    node_id: int | None


@dataclass(frozen=True, slots=True)
class _Confirmed(Row):
    TABLE: ClassVar[Table] = ROLE_ROWS
    conn_id: str
    role: str
    subject: str | None
    first_ns: int | None
    last_ns: int | None
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about one subject. since_ns: time since when the node is the same; request_id: the request that reported
    it first.

    key: ("leader", topic, partition), ("coordinator", type, key), ("broker", node, host, port), ("controller",) for the
    node that Metadata names, ACTIVE_CONTROLLER for the node that sends requests to brokers, ("cluster", id). source:
    reported by a response about the cluster, CONTROLLED for a request of the controller, or confirmed by a response of
    the node itself."""

    key: Key
    node_id: int | None
    since_ns: int
    request_id: str | None
    source: str
    epoch: int | None = None
    topic_id: str | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A subject whose node changed: the fact before (None at first) and after."""

    before: Fact | None
    after: Fact

    @property
    def is_move(self) -> bool:
        """Whether a leader, a coordinator or the active controller moved from one node to another. A change of the
        controller in Metadata is not a move: in KRaft it may be any broker."""
        return self.before is not None and self.after.key[0] in ("leader", "coordinator", *ACTIVE_CONTROLLER)


@dataclass(frozen=True, slots=True)
class Move:
    """A leader of a partition, a coordinator or the active controller that moved from a node to another."""

    ts_ns: int
    from_node: int
    to_node: int


@dataclass(frozen=True, slots=True)
class Served:
    """A node that served a topic-partition as its leader on one connection, from the first of these requests to the
    last."""

    topic_partition: str
    node_id: int
    first_ns: int
    last_ns: int


class Replay:
    """State after the facts so far."""

    def __init__(self) -> None:
        self.state: dict[Key, Fact] = {}

    def take(self, fact: Fact) -> Change | None:
        """Takes the next fact in time; returns the change, where the node of a subject is new or another."""
        known = self.state.get(fact.key)
        if known is None:
            self.state[fact.key] = fact
            return Change(None, fact)
        if fact.source == CONFIRMED or _is_older(fact, known):
            return None
        epoch = fact.epoch if fact.epoch is not None else known.epoch
        topic_id, rack = fact.topic_id or known.topic_id, fact.rack or known.rack
        if fact.node_id == known.node_id and (fact.epoch in (None, known.epoch) or known.epoch is None):
            source = CONTROLLED if fact.source == CONTROLLED else known.source
            self.state[fact.key] = replace(known, source=source, epoch=epoch, topic_id=topic_id, rack=rack)
            return None
        self.state[fact.key] = replace(fact, topic_id=topic_id, rack=rack)
        return Change(known, fact) if fact.node_id != known.node_id else None


def _is_older(fact: Fact, known: Fact) -> bool:
    """Whether a fact has an earlier epoch than the known one, of the same topic. A fact of the controller is never
    older, and after it a fact without an epoch always is.
    """
    if fact.source == CONTROLLED:
        return False
    if fact.epoch is None and known.source == CONTROLLED and fact.key[0] == "leader":
        return True
    same = fact.topic_id is None or known.topic_id is None or fact.topic_id == known.topic_id
    return same and fact.epoch is not None and known.epoch is not None and fact.epoch < known.epoch


def facts_in_order(dataset: Dataset) -> list[Fact]:
    """Returns all facts by time: as many as changes were reported, and one per connection and role."""
    found = [fact for row in read(dataset, TopologyRow, one_of("kind", list(_KINDS))) if (fact := _fact_of(row))]
    return sorted([*found, *_confirmed(dataset)], key=lambda f: (f.since_ns, f.source == CONFIRMED, str(f.key)))


def moves_in(dataset: Dataset) -> list[Move]:
    """Returns the moves by time. Raises UsageError where a table cannot be read."""
    replay = Replay()
    changes = [change for fact in facts_in_order(dataset) if (change := replay.take(fact)) and change.is_move]
    nodes = ((c.after.since_ns, c.before.node_id if c.before else None, c.after.node_id) for c in changes)
    return [Move(ts_ns, before, after) for ts_ns, before, after in nodes if before is not None and after is not None]


@dataclass(frozen=True, slots=True)
class Holders:
    """leaders: by topic-partition its leaders in order, each with the time of the first report, and with the first
    leader epoch that was reported for it. coordinators: the same by group or transactional id."""

    leaders: dict[str, list[Fact]]
    coordinators: dict[str, list[Fact]]


def holders_in(dataset: Dataset) -> Holders:
    """Returns the leaders and coordinators over time. Raises UsageError where a table cannot be read."""
    replay = Replay()
    found = Holders(defaultdict(list), defaultdict(list))
    for fact in facts_in_order(dataset):
        if fact.key[0] not in ("leader", "coordinator"):
            continue
        change = replay.take(fact)
        _, name, last = fact.key
        of_name = found.leaders[f"{name}-{last}"] if fact.key[0] == "leader" else found.coordinators[str(last)]
        if change is not None:
            of_name.append(fact)
        elif of_name[-1].epoch is None:
            of_name[-1] = replace(of_name[-1], epoch=replay.state[fact.key].epoch)
    return found


def topic_ids_in(dataset: Dataset) -> dict[str, dict[str, int]]:
    """Returns by topic its IDs in the order in which brokers first reported them, each with that time. A topic with
    several IDs was deleted and created again (KIP-516). Raises UsageError where a table cannot be read."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    rows = read(dataset, TopologyRow, one_of("kind", ["topic"]))
    for row in sorted(rows, key=lambda r: r.ts_ns):
        if row.topic is not None and row.topic_id is not None:
            found[row.topic].setdefault(row.topic_id, row.ts_ns)
    return found


def served_in(dataset: Dataset, topic_partitions: Collection[str]) -> list[Served]:
    """Returns the nodes that served these topic-partitions as their leaders. Raises UsageError where a table cannot be
    read."""
    chosen = one_of("role", ["partition_leader"]) & one_of("verdict", ["confirmed"])
    rows = list(read(dataset, _Confirmed, chosen & one_of("subject", sorted(topic_partitions))))
    nodes = {row.conn_id: row.node_id for row in read(dataset, _Node)} if rows else {}
    return [
        Served(row.subject, node_id, row.first_ns, row.last_ns)
        for row in rows
        if (node_id := nodes.get(row.conn_id)) is not None
        and row.subject is not None
        and row.first_ns is not None
        and row.last_ns is not None
    ]


def _fact_of(row: TopologyRow) -> Fact | None:
    key = _key_of(row)
    if key is None or (row.node_id is None and row.kind != "cluster"):
        return None
    epoch = row.leader_epoch if row.leader_epoch is not None and row.leader_epoch >= 0 else None
    known = (row.node_id, row.ts_ns, row.request_id, CONTROLLED if row.from_controller else REPORTED)
    return Fact(key, *known, epoch, topic_id=row.topic_id, rack=row.rack)


def _key_of(row: TopologyRow) -> Key | None:
    kind = row.kind
    if kind == "leader":
        return None if row.topic is None else ("leader", row.topic, row.partition)
    if kind == "coordinator":
        return ("coordinator", row.coordinator_type, row.coordinator_key)
    if kind == "broker":
        return None if not row.host else ("broker", row.node_id, row.host, row.port)
    if kind == "cluster":
        return ("cluster", row.cluster_id)
    has_epoch = row.leader_epoch is not None  # the controller's epoch, which only its own requests have
    return ACTIVE_CONTROLLER if has_epoch else ("controller",)


def _confirmed(dataset: Dataset) -> Iterator[Fact]:
    """Yields facts from responses of nodes, on connections whose node is known."""
    nodes = {row.conn_id: row.node_id for row in read(dataset, _Node)}
    wanted = ["partition_leader", *_COORDINATORS]
    for row in read(dataset, _Confirmed, one_of("role", wanted) & one_of("verdict", ["confirmed"])):
        node_id = nodes.get(row.conn_id)
        key = _key_of_role(row.role, row.subject)
        if node_id is not None and key is not None and row.first_ns is not None:
            yield Fact(key, node_id, row.first_ns, next(iter(row.evidence), None), CONFIRMED)


def _key_of_role(role: str, subject: str | None) -> Key | None:
    if subject is None:
        return None
    if role != "partition_leader":
        return ("coordinator", _COORDINATORS[role], subject)
    topic, _, partition = subject.rpartition("-")
    number = parse_number(partition, MOST_INT32)
    return None if number is None else ("leader", topic, number)
