"""`Latencies`: how long responses took while somebody stalled, by who asked whom."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.incidents.meanwhile import rows_within

LATE_NS = 500_000_000
"""A response that takes so long is late: half of the shortest wait that is a stall."""
MOSTLY = 0.5
"""Share of late responses from which on a pair of host and broker is slow."""
FEW = 3
"""With fewer requests, a pair that has no late response is not known to be quick."""
_PAIR = ["client_ip", "node_id"]
_COLUMNS = [*_PAIR, "replica_id", "ts_ns", "response_ns", "api_key", "claimed_api_key"]
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

    def add(self, other: "Latency") -> None:
        """Takes more responses."""
        self.n, self.n_late = self.n + other.n, self.n_late + other.n_late
        self.longest_ns = max(self.longest_ns, other.longest_ns)

    @property
    def is_slow(self) -> bool:
        """Whether most responses were late."""
        return self.n_late > 0 and self.n_late >= MOSTLY * self.n

    @property
    def is_quick(self) -> bool:
        """Whether none of several was late."""
        return self.n >= FEW and self.n_late == 0


@dataclass(slots=True)
class Latencies:
    """The latencies of each pair of host and node. Brokers that follow leaders are no hosts here."""

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
        found = Latency()
        for each in self.of_pairs.values():
            found.add(each)
        return found


def latencies(dataset: Dataset | None, questions: Sequence[Asked]) -> list[Latencies]:
    """How long responses took, for each question. dataset: None where there is none. Raises UsageError where a table
    cannot be read. Memory: one batch, and a row for each pair."""
    found = [Latencies() for _ in questions]
    spans = [(each.from_ns, each.to_ns) for each in questions]
    for number, rows in rows_within(dataset, REQUESTS, _COLUMNS, "ts_ns", spans):
        for pair, latency in _by_pair(rows, questions[number].api_keys):
            found[number].of_pairs.setdefault(pair, Latency()).add(latency)
    return found


def _by_pair(rows: pa.Table, keys: Collection[int]) -> Iterator[tuple[Pair, Latency]]:
    """The responses of some rows to clients, by host and node. Encrypted requests are of the API that is claimed."""
    api_keys = pc.coalesce(rows["api_key"], rows["claimed_api_key"])
    asked = pc.is_in(api_keys, pa.array(sorted(keys), pa.int16()))
    of_clients = pc.less(pc.fill_null(rows["replica_id"], -1), 0)
    rows = (
        rows.filter(pc.and_(asked, of_clients)).drop_columns(["api_key", "claimed_api_key", "replica_id"]).drop_null()
    )
    took = pc.subtract(rows["response_ns"], rows["ts_ns"])
    late = pc.cast(pc.greater_equal(took, LATE_NS), pa.int64())
    timed = rows.select(_PAIR).append_column("took", took).append_column("late", late)
    totals = timed.group_by(_PAIR, use_threads=False).aggregate([("took", "count"), ("late", "sum"), ("took", "max")])
    for host, node_id, n, n_late, longest_ns in zip(*(each.to_pylist() for each in totals.columns), strict=True):
        yield (host, node_id), Latency(n, n_late, longest_ns)
