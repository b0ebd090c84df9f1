"""Who led which topic-partition when, as the brokers reported it.

Leader epochs only rise while a topic lives, so what a broker with old metadata says later is passed over (KIP-320); a
topic made anew under the same name has another id and begins again. What the controller itself says is never old: with
ZooKeeper topics may have no id, and it alone shows that an epoch begins again.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

UNKNOWN = -1
"""The node where no report names one."""


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


class Reported(NamedTuple):
    """The nodes that were reported to lead some partitions around some times, UNKNOWN for none: in the last report up
    to each time, and in the first one after it."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]


class Leaders:
    """Leader of each topic-partition over time, as brokers and the controller said. topology: rows in time order;
    topics: name by id.
    """

    def __init__(self, topology: pa.Table, topics: dict[str, str]) -> None:
        is_leader = pc.equal(topology["kind"], "leader")
        rows = topology.filter(pc.fill_null(pc.and_(is_leader, pc.greater_equal(topology["node_id"], 0)), False))
        advertised: dict[tuple[str, int], _Advertised] = {}
        names = ("topic", "topic_id", "partition", "ts_ns", "node_id", "leader_epoch", "from_controller")
        columns = (rows[name].to_pylist() for name in names)
        for leader in map(_Leader, *columns):
            topic = leader.topic or topics.get(leader.topic_id or "", "")
            advertised.setdefault((topic, leader.partition), _Advertised()).add(leader)
        known = list(advertised.values())
        self._places = pa.array([f"{topic}-{partition}" for topic, partition in advertised], pa.string())
        n_reports = [len(place.times) for place in known]
        self._ends = np.cumsum([0, *n_reports, 0])
        """The reports of a place are those from its end of the one before to its own; the last place has none."""
        ts_ns = np.array([ts_ns for place in known for ts_ns in place.times], np.int64)
        self._nodes = np.array([*(node for place in known for node in place.nodes), UNKNOWN], np.int64)
        self._times = np.unique(ts_ns)
        self._order = self._order_of(np.repeat(np.arange(len(known)), n_reports), ts_ns)

    def reported(self, topics: pa.ChunkedArray, partitions: pa.ChunkedArray, ts_ns: NDArray[np.int64]) -> Reported:
        """The nodes that were reported to lead partitions around the times. topics: by name, null for none."""
        places = pc.binary_join_element_wise(topics, pc.cast(partitions, pa.string()), "-")
        place = pc.fill_null(pc.index_in(places, self._places), len(self._places)).to_numpy().astype(np.int64)
        after = np.searchsorted(self._order, self._order_of(place, ts_ns), "right")
        has_before, has_after = after > self._ends[place], after < self._ends[place + 1]
        nodes = self._nodes
        return Reported(np.where(has_before, nodes[after - 1], UNKNOWN), np.where(has_after, nodes[after], UNKNOWN))

    def _order_of(self, place: NDArray[np.int64], ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers that sort by place, then by time, as far as reports tell times apart."""
        return place * (len(self._times) + 1) + np.searchsorted(self._times, ts_ns, "right")
