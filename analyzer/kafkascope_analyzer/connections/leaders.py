"""The leader of each topic-partition over time, as the brokers reported it.

Leader epochs only rise while a topic exists, so later reports of a broker with old metadata are ignored (KIP-320). A
topic that is created again under the same name has another id, and its epochs begin again. Reports of the controller
itself are never old: with ZooKeeper topics may have no id, and only the controller shows that an epoch begins again.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import distinct_sorted

UNKNOWN = -1
"""Stands for the node where no report names one."""


@dataclass(slots=True)
class _Advertised:
    """Reports of responses and requests about one topic-partition: times and nodes, the newest epoch and the topic's
    id; by_controller: whether the controller itself reported any of it, in which case a response without an epoch is
    ignored."""

    times: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    epoch: int = -1
    topic_id: str | None = None
    by_controller: bool = False

    def add(self, leader: "_Leader") -> None:
        """Adds the next report, unless it is older than the known ones."""
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
    """A row of `topology` about a topic-partition's leader; from_controller: whether the controller reported it."""

    topic: str | None
    topic_id: str | None
    partition: int
    ts_ns: int
    node_id: int
    epoch: int | None
    from_controller: bool | None


class Reported(NamedTuple):
    """The reported leaders of partitions around given times, UNKNOWN for none: in the last report up to each time, and
    in the first one after it."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]


class Leaders:
    """Leader of each topic-partition over time, as reported by brokers and the controller. topology: rows in time
    order; topics: names by id.
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
        """The reports of place i are those from _ends[i] to before _ends[i + 1]; the last place has none."""
        ts_ns = np.array([ts_ns for place in known for ts_ns in place.times], np.int64)
        self._nodes = np.array([*(node for place in known for node in place.nodes), UNKNOWN], np.int64)
        self._times = distinct_sorted(ts_ns)
        self._order = self._order_of(np.repeat(np.arange(len(known)), n_reports), ts_ns)

    def reported(self, topics: pa.ChunkedArray, partitions: pa.ChunkedArray, ts_ns: NDArray[np.int64]) -> Reported:
        """Returns the reported leaders of partitions around the times. topics: by name, null for none."""
        places = pc.binary_join_element_wise(topics, pc.cast(partitions, pa.string()), "-")
        place = pc.fill_null(pc.index_in(places, self._places), len(self._places)).to_numpy().astype(np.int64)
        after = np.searchsorted(self._order, self._order_of(place, ts_ns), "right")
        has_before, has_after = after > self._ends[place], after < self._ends[place + 1]
        nodes = self._nodes
        return Reported(np.where(has_before, nodes[after - 1], UNKNOWN), np.where(has_after, nodes[after], UNKNOWN))

    def _order_of(self, place: NDArray[np.int64], ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns numbers that sort by place, then by time, with times between the same reports being equal."""
        return place * (len(self._times) + 1) + np.searchsorted(self._times, ts_ns, "right")
