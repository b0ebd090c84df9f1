"""`Latencies`: how long responses took during a stall, by pair of host and broker."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.incidents.packets.meanwhile import rows_within

LATE_NS = 500_000_000
"""A response that takes this long is late: half of the shortest wait that is a stall."""
MOSTLY = 0.5
"""Least share of late responses of a slow pair of host and broker."""
FEW = 3
"""Fewest requests after which a pair without late responses counts as quick."""
_PAIR = ["client_ip", "node_id"]
_COLUMNS = [*_PAIR, "replica_id", "ts_ns", "response_ns", "broker_us", "api_key", "claimed_api_key"]
Pair = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: how long did responses take to requests of some APIs that were sent in a time?"""

    from_ns: int
    to_ns: int
    api_keys: Collection[int]


@dataclass(slots=True)
class Latency:
    """Responses of one broker to one host: their number, the number of late ones, the longest time, and the longest
    time that the broker itself took for one: without the time in which the request waited behind earlier ones of its
    connection, or until a throttle time was over."""

    n: int = 0
    n_late: int = 0
    longest_ns: int = 0
    longest_own_ns: int = 0

    def add(self, other: "Latency") -> None:
        """Adds more responses."""
        self.n, self.n_late = self.n + other.n, self.n_late + other.n_late
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        self.longest_own_ns = max(self.longest_own_ns, other.longest_own_ns)

    @property
    def is_late(self) -> bool:
        """Whether most responses were late."""
        return self.n_late > 0 and self.n_late >= MOSTLY * self.n

    @property
    def is_slow(self) -> bool:
        """Whether most responses were late, and the broker itself took that long for one: then those behind it on the
        connection had to wait, too."""
        return self.is_late and self.longest_own_ns >= LATE_NS

    @property
    def is_quick(self) -> bool:
        """Whether none of several was late."""
        return self.n >= FEW and self.n_late == 0


@dataclass(slots=True)
class Latencies:
    """Latencies of each pair of host and node. Fetch requests of follower brokers do not count."""

    of_pairs: dict[Pair, Latency] = field(default_factory=dict)

    @property
    def slow(self) -> dict[Pair, Latency]:
        """Pairs of which most responses were late."""
        return {pair: latency for pair, latency in self.of_pairs.items() if latency.is_slow}

    @property
    def queued(self) -> dict[Pair, Latency]:
        """Pairs of which most responses were late because the host had more requests in flight on a connection than the
        broker answered in that time."""
        return {pair: each for pair, each in self.of_pairs.items() if each.is_late and not each.is_slow}

    @property
    def quick(self) -> set[Pair]:
        """Pairs with several responses of which none was late."""
        return {pair for pair, latency in self.of_pairs.items() if latency.is_quick}

    def of_nodes(self, nodes: Collection[int]) -> "Latencies":
        """Returns the latencies of the given nodes only."""
        return Latencies({pair: latency for pair, latency in self.of_pairs.items() if pair[1] in nodes})

    def total(self) -> Latency:
        """Sum over all pairs."""
        found = Latency()
        for each in self.of_pairs.values():
            found.add(each)
        return found


def latencies(dataset: Dataset | None, questions: Sequence[Asked]) -> list[Latencies]:
    """Returns the latencies for each question, empty without a dataset. Raises UsageError where a table cannot be read.
    Memory: one batch, and a row for each pair."""
    found = [Latencies() for _ in questions]
    spans = [(each.from_ns, each.to_ns) for each in questions]
    for number, rows in rows_within(dataset, REQUESTS, _COLUMNS, "ts_ns", spans):
        for pair, latency in _by_pair(rows, questions[number].api_keys):
            found[number].of_pairs.setdefault(pair, Latency()).add(latency)
    return found


def _by_pair(rows: pa.Table, keys: Collection[int]) -> Iterator[tuple[Pair, Latency]]:
    """Yields the responses to clients by host and node. rows: rows of `requests`; encrypted requests count as the API
    that was guessed from their lengths."""
    api_keys = pc.coalesce(rows["api_key"], rows["claimed_api_key"])
    asked = pc.is_in(api_keys, pa.array(sorted(keys), pa.int16()))
    of_clients = pc.less(pc.fill_null(rows["replica_id"], -1), 0)
    rows = rows.filter(pc.and_(asked, of_clients)).select([*_PAIR, "ts_ns", "response_ns", "broker_us"])
    rows = rows.filter(pc.and_(pc.is_valid(rows["client_ip"]), pc.is_valid(rows["node_id"])))
    rows = rows.filter(pc.is_valid(rows["response_ns"]))
    took = pc.subtract(rows["response_ns"], rows["ts_ns"])
    late = pc.cast(pc.greater_equal(took, LATE_NS), pa.int64())
    own = pc.coalesce(pc.multiply(rows["broker_us"], 1_000), took)
    timed = pa.table({**{name: rows[name] for name in _PAIR}, "took": took, "late": late, "own": own})
    sums = [("took", "count"), ("late", "sum"), ("took", "max"), ("own", "max")]
    totals = timed.group_by(_PAIR, use_threads=False).aggregate(sums)
    for host, node_id, *found in zip(*(each.to_pylist() for each in totals.columns), strict=True):
        yield (host, node_id), Latency(*found)
