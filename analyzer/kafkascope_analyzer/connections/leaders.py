"""Who led which topic-partition when, as the brokers reported it.

Leader epochs only rise while a topic lives, so what a broker with old metadata says later is passed over (KIP-320); a
topic made anew under the same name has another id and begins again. What the controller itself says is never old: with
ZooKeeper topics may have no id, and it alone shows that an epoch begins again.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.role_rules import FOLLOWER_FETCH
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_parsers.schema import api_keys, api_name

_FETCHES = pa.array([key for key in api_keys() if api_name(key) in FOLLOWER_FETCH.apis], pa.int16())
_SEVERAL, _UNKNOWN = -2, -1


@dataclass(slots=True)
class _Advertised:
    """What the responses and requests say of one topic-partition: times and nodes, the newest epoch and the topic's id;
    by_controller: whether the controller itself reported any of it, so that a response without an epoch changes
    nothing."""

    times: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    epoch: int = -1
    topic_id: str | None = None
    by_controller: bool = False

    def add(self, leader: "_Leader") -> None:
        """Takes the next report, unless it is older than what is known."""
        topic_id, epoch = leader.topic_id, leader.epoch
        if topic_id is not None and topic_id != self.topic_id:
            if self.topic_id is not None:
                self.epoch = -1
            self.topic_id = topic_id
        if epoch is not None and epoch >= 0:
            if epoch < self.epoch and not leader.from_controller:
                return
            self.epoch = epoch
        elif self.by_controller and not leader.from_controller:
            return
        self.by_controller |= bool(leader.from_controller)
        self.times.append(leader.ts_ns)
        self.nodes.append(leader.node_id)


class _Leader(NamedTuple):
    """A row of `topology` about a topic-partition's leader; from_controller: whether the controller said so."""

    topic: str | None
    topic_id: str | None
    partition: int
    ts_ns: int
    node_id: int
    epoch: int | None
    from_controller: bool | None


class Leaders:
    """Leader of each topic-partition over time, as brokers and the controller said. topology: rows in time order;
    topics: name by id.
    """

    def __init__(self, topology: pa.Table, topics: dict[str, str]) -> None:
        is_leader = pc.equal(topology["kind"], "leader")
        rows = topology.filter(pc.fill_null(pc.and_(is_leader, pc.greater_equal(topology["node_id"], 0)), False))
        self._topics = topics
        self._known: dict[tuple[str, int], _Advertised] = {}
        names = ("topic", "topic_id", "partition", "ts_ns", "node_id", "leader_epoch", "from_controller")
        columns = (rows[name].to_pylist() for name in names)
        for leader in map(_Leader, *columns):
            topic = leader.topic or topics.get(leader.topic_id or "", "")
            self._known.setdefault((topic, leader.partition), _Advertised()).add(leader)
        self._places = pa.array([f"{topic}-{partition}" for topic, partition in self._known], pa.string())
        only = [known.nodes[0] if len(set(known.nodes)) == 1 else _SEVERAL for known in self._known.values()]
        self._only = np.array([*only, _UNKNOWN], np.int64)
        self._since_ns = np.array([*(known.times[0] for known in self._known.values()), 0], np.int64)
        self._names = TopicNames.of(topics)

    def at(self, topic: str | None, topic_id: str | None, partition: int, ts_ns: int) -> int | None:
        """The node that led the partition at that time, None where none was reported before it."""
        known = self._known.get((topic or self._topics.get(topic_id or "", ""), partition))
        if known is None:
            return None
        index = bisect_right(known.times, ts_ns) - 1
        return known.nodes[index] if index >= 0 else None

    def leading(self, counts: pa.Table) -> NDArray[np.int64]:
        """The node that led each partition when it was first answered, -1 for unknown. counts: confirmed ones, with
        topic or topic_id.
        """
        named = self._names.complete(counts["topic"], counts["topic_id"])
        index = self._index(named, counts["partition"])
        confirmed_ns = counts["confirmed_ns"].to_numpy()
        leader = np.where(self._since_ns[index] <= confirmed_ns, self._only[index], _UNKNOWN)
        rows = np.flatnonzero(leader == _SEVERAL)
        places = zip(*(column.take(pa.array(rows)).to_pylist() for column in (named, counts["partition"])), strict=True)
        for row, (topic, partition) in zip(rows.tolist(), places, strict=True):
            node = self.at(topic, None, partition, int(confirmed_ns[row]))
            leader[row] = _UNKNOWN if node is None else node
        return leader

    def _index(self, topics: pa.ChunkedArray, partitions: pa.ChunkedArray) -> NDArray[np.int64]:
        """Places of the topic-partitions among those with reports; the last one for the others."""
        places = pc.binary_join_element_wise(topics, pc.cast(partitions, pa.string()), "-")
        found = pc.fill_null(pc.index_in(places, self._places), len(self._only) - 1)
        return np.asarray(found.to_numpy(), np.int64)

    def followed(self, counts: pa.Table, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which partition counts (COUNTS_SCHEMA, topics resolved) are fetches that another node than the leader
        answered. nodes: node id of each row's connection, -1 for unknown.
        """
        leader = self._only[self._index(counts["topic"], counts["partition"])]
        answered = pc.and_(pc.is_in(counts["api_key"], _FETCHES), pc.is_valid(counts["confirmed_ns"]))
        maybe = np.asarray(answered) & (nodes >= 0) & (leader != _UNKNOWN) & (leader != nodes)
        rows = np.flatnonzero(maybe)
        chosen = counts.select(["topic", "topic_id", "partition", "confirmed_ns"]).take(pa.array(rows))
        leads = [self.at(*row) for row in zip(*chosen.to_pydict().values(), strict=True)]
        other = [lead is not None and lead != node for lead, node in zip(leads, nodes[rows].tolist(), strict=True)]
        return rows[np.array(other, np.bool_)]
