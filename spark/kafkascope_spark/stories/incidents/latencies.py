"""`Latencies`: how long responses took while somebody stalled, by who asked whom."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.table_rows import scan
from kafkascope_analyzer.dataset.tables import REQUESTS

LATE_NS = 500_000_000
"""A response that takes so long is late: half of the shortest wait that is a stall."""
MOSTLY = 0.5
"""Share of late responses from which on a pair of host and broker is slow."""
_FEW = 3
"""With fewer requests, a pair that has no late response is not known to be quick."""
_COLUMNS = ["client_ip", "node_id", "replica_id", "ts_ns", "response_ns"]
Pair = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which responses are looked at: those to requests of some APIs that were sent from one time to another."""

    from_ns: int
    to_ns: int
    api_keys: Collection[int]


@dataclass(slots=True)
class Latency:
    """The responses of one broker to one host: how many, how many of them were late, and how long the longest took."""

    n: int = 0
    n_late: int = 0
    longest_ns: int = 0

    @property
    def is_slow(self) -> bool:
        """Whether most responses were late."""
        return self.n_late > 0 and self.n_late >= MOSTLY * self.n

    @property
    def is_quick(self) -> bool:
        """Whether none of several was late."""
        return self.n >= _FEW and self.n_late == 0


@dataclass(slots=True)
class Latencies:
    """Of each pair of host and node. Brokers that follow leaders are no hosts here."""

    of_pairs: dict[Pair, Latency] = field(default_factory=dict)

    @property
    def slow(self) -> dict[Pair, Latency]:
        """The pairs whose responses were late."""
        return {pair: latency for pair, latency in self.of_pairs.items() if latency.is_slow}

    @property
    def quick(self) -> set[Pair]:
        """The pairs none of whose responses was late."""
        return {pair for pair, latency in self.of_pairs.items() if latency.is_quick}

    def of_nodes(self, nodes: Collection[int]) -> "Latencies":
        """Those of some nodes."""
        return Latencies({pair: latency for pair, latency in self.of_pairs.items() if pair[1] in nodes})

    def total(self) -> Latency:
        """All pairs together."""
        all_pairs = self.of_pairs.values()
        longest_ns = max((each.longest_ns for each in all_pairs), default=0)
        return Latency(sum(each.n for each in all_pairs), sum(each.n_late for each in all_pairs), longest_ns)


def latencies(dataset: Dataset | None, questions: Sequence[Asked]) -> list[Latencies]:
    """How long responses took, for each question. dataset: None where there is none. Raises UsageError where a table
    cannot be read. Memory: one batch, and a row for each pair."""
    found = [Latencies() for _ in questions]
    if dataset is None or not questions:
        return found
    keys = sorted({key for question in questions for key in question.api_keys})
    starts, ends = np.array([q.from_ns for q in questions]), np.array([min(q.to_ns, FOREVER) for q in questions])
    since, until = int(starts.min()), int(ends.max())
    sent = (ds.field("ts_ns") >= since) & (ds.field("ts_ns") <= until) & ds.field("api_key").isin(keys)
    for batch in scan(dataset, REQUESTS, [*_COLUMNS, "api_key"], sent):
        rows = pa.Table.from_batches([batch])
        rows = rows.filter(pc.less(pc.fill_null(rows["replica_id"], -1), 0))
        rows = rows.drop_columns("replica_id").drop_null().sort_by("ts_ns")
        times = rows["ts_ns"].to_numpy()
        first, last = np.searchsorted(times, starts), np.searchsorted(times, ends, "right")
        for at in np.flatnonzero(first < last).tolist():
            mine = rows.slice(int(first[at]), int(last[at] - first[at]))
            for pair, latency in _by_pair(mine, questions[at].api_keys):
                known = found[at].of_pairs.setdefault(pair, Latency())
                known.n, known.n_late = known.n + latency.n, known.n_late + latency.n_late
                known.longest_ns = max(known.longest_ns, latency.longest_ns)
    return found


def _by_pair(rows: pa.Table, keys: Collection[int]) -> Iterator[tuple[Pair, Latency]]:
    rows = rows.filter(pa.array(np.isin(rows["api_key"].to_numpy(), list(keys))))
    took = pc.subtract(rows["response_ns"], rows["ts_ns"])
    late = pc.cast(pc.greater_equal(took, LATE_NS), pa.int64())
    grouped = rows.select(["client_ip", "node_id"]).append_column("took", took).append_column("late", late)
    totals = grouped.group_by(["client_ip", "node_id"], use_threads=False).aggregate(
        [("took", "count"), ("late", "sum"), ("took", "max")]
    )
    for row in zip(*(column.to_pylist() for column in totals.columns), strict=True):
        host, node_id, n, n_late, longest_ns = row
        yield (host, node_id), Latency(n, n_late, longest_ns)
