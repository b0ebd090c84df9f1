"""What flowed through a topic-partition in one slice of time, added up over connections."""

from collections import Counter
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.latency_histogram import added_up, histogram_of, percentile_us
from kafkascope_analyzer.dataset.stories import PARTITION_FLOW
from kafkascope_spark.stories.model import Row


@dataclass(slots=True)
class Produced:
    """Records that brokers accepted. leader: the node that accepted the last of them, with the time."""

    n_records: int = 0
    record_bytes: int = 0
    latencies: Counter[int] = field(default_factory=Counter)
    leader: tuple[int, int | None] = (0, None)

    def add(self, body: Row) -> None:
        """The slice of one connection (flow_events: produce_slice)."""
        self.n_records += body["n_records"]
        self.record_bytes += body["record_bytes"]
        self.latencies += added_up([body["latencies"]])
        self.leader = _latest(self.leader, (body["last_ns"], body["node_id"]))

    def columns(self) -> Row:
        """The columns of `partition_flow` that are the same for all readers of the slice."""
        return {
            "leader_id": self.leader[1],
            "n_records": self.n_records,
            "record_bytes": self.record_bytes,
            **_latencies("created_to_acked", self.latencies),
        }


@dataclass(slots=True)
class Read:
    """Records that a group fetched, and how far it is. next_offset: after the last record that it has; the rest is of
    the slice. lag_first, lag_last: each with the time of the response; committed: the last commit, with its time."""

    next_offset: int | None = None
    lag: int | None = None
    n_records: int = 0
    record_bytes: int = 0
    latencies: Counter[int] = field(default_factory=Counter)
    node: tuple[int, int | None] = (0, None)
    high_watermark: int | None = None
    lag_first: tuple[int, int] | None = None
    lag_last: tuple[int, int] | None = None
    lag_max: int | None = None
    position: tuple[int, int] | None = None
    committed: tuple[int, int] | None = None

    def commit(self, body: Row) -> None:
        """What was committed on one connection in the slice (flow_events: commit_slice)."""
        committed = (body["last_ns"], body["committed_offset"])
        self.committed = max(self.committed or committed, committed)

    def add(self, body: Row) -> None:
        """The slice of one connection (flow_events: fetch_slice)."""
        self.n_records += body["n_records"]
        self.record_bytes += body["record_bytes"]
        self.latencies += added_up([body["latencies"]])
        self.node = _latest(self.node, (body["last_ns"], body["node_id"]))
        self.high_watermark = highest(self.high_watermark, body["end_offset"])
        self.lag_max = highest(self.lag_max, body["lag_max"])
        if body["lag_first"] is not None:
            first, last = (body["first_ns"], body["lag_first"]), (body["last_ns"], body["lag_last"])
            self.lag_first = min(self.lag_first or first, first)
            self.lag_last = max(self.lag_last or last, last)
        if body["next_offset"] is not None:
            reached = (body["last_ns"], body["next_offset"])
            self.position = max(self.position or reached, reached)

    @property
    def has_news(self) -> bool:
        """Whether the group fetched or committed records in the slice, or was behind."""
        return self.n_records > 0 or bool(self.lag_max) or self.committed is not None

    def end_slice(self, end_offset: int | None) -> None:
        """Brings the lag up to the end of a slice. end_offset: of what was in the partition by then."""
        if self.position is not None:
            self.next_offset = self.position[1]
        if self.lag_last is not None:
            self.lag = self.lag_last[1]
        elif self.next_offset is not None and end_offset is not None:
            before, self.lag = self.lag, max(end_offset - self.next_offset, 0)
            self.lag_first = (0, self.lag if before is None else before)
            self.lag_last = (0, self.lag)
            self.lag_max = max(self.lag_first[1], self.lag)

    def begin_slice(self) -> None:
        """Forgets what is of the slice."""
        self.n_records, self.record_bytes, self.latencies = 0, 0, Counter()
        self.node, self.high_watermark, self.position, self.committed = (0, None), None, None, None
        self.lag_first, self.lag_last, self.lag_max = None, None, None


def flow_row(common: Row, read: Read) -> Row:
    """A row of `partition_flow`. common: the columns of topic-partition, reader and slice, and Produced.columns."""
    return {
        **common,
        "leader_id": read.node[1] if common["leader_id"] is None else common["leader_id"],
        "n_fetched": read.n_records,
        "fetched_bytes": read.record_bytes,
        **_latencies("acked_to_fetched", read.latencies),
        "lag_first": read.lag_first and read.lag_first[1],
        "lag_last": read.lag_last and read.lag_last[1],
        "lag_max": read.lag_max,
        "committed_offset": read.committed and read.committed[1],
        "high_watermark": read.high_watermark,
    }


def unread_row(common: Row) -> Row:
    """A row of `partition_flow` for records that nobody read. common: as of flow_row."""
    return dict.fromkeys(PARTITION_FLOW.schema.names) | common


def _latencies(name: str, counts: Counter[int]) -> Row:
    """Percentiles and histogram of latencies; null without any, as in most slices of a reader that is behind."""
    if not counts:
        return {f"{name}_p50_us": None, f"{name}_p99_us": None, name: None}
    return {
        f"{name}_p50_us": percentile_us(counts, 0.5),
        f"{name}_p99_us": percentile_us(counts, 0.99),
        name: histogram_of(counts),
    }


def _latest(known: tuple[int, int | None], other: tuple[int, int | None]) -> tuple[int, int | None]:
    """The later of two times with a node; one whose node is not known counts for nothing."""
    return known if other[1] is None or other[0] < known[0] else other


def highest(known: int | None, other: int | None) -> int | None:
    """The higher of two numbers, either of which may not be known."""
    return max((each for each in (known, other) if each is not None), default=None)
