"""Who led which topic-partition when, as the brokers told it."""

from bisect import bisect_right

import pyarrow as pa
import pyarrow.compute as pc


class Leaders:
    """Leader of each topic-partition over time, as Metadata told it."""

    def __init__(self, topology: pa.Table, topics: dict[str, str]) -> None:
        is_leader = pc.equal(topology["kind"], "leader")
        rows = topology.filter(pc.fill_null(pc.and_(is_leader, pc.greater_equal(topology["node_id"], 0)), False))
        self._topics = topics
        self._told: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
        columns = (rows[name].to_pylist() for name in ("topic", "topic_id", "partition", "ts_ns", "node_id"))
        for topic, topic_id, partition, ts_ns, node_id in zip(*columns, strict=True):
            times, nodes = self._told.setdefault((topic or topics.get(topic_id, ""), partition), ([], []))
            times.append(ts_ns)
            nodes.append(node_id)

    def at(self, topic: str | None, topic_id: str | None, partition: int, ts_ns: int) -> int | None:
        """The node that led the partition at that time, None where it was not told before it."""
        told = self._told.get((topic or self._topics.get(topic_id or "", ""), partition))
        if told is None:
            return None
        index = bisect_right(told[0], ts_ns) - 1
        return told[1][index] if index >= 0 else None
