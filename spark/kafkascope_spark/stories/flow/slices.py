"""Sums of the records that passed through a topic-partition in one slice of time, over all connections."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkascope_analyzer.dataset.latency_histogram import LatencyClass, added_up, histogram_of, percentile_us
from kafkascope_analyzer.dataset.tables.event_kinds.flow import CommitSlice, FetchSlice, ProduceSlice
from kafkascope_spark.stories.flow.table import PartitionFlow


class Reader(NamedTuple):
    """A reader of a topic-partition: a group, or a consumer without one."""

    group_id: str | None
    client_instance_id: str | None


class Place(NamedTuple):
    """A topic-partition and a slice of time. ts_ns: begin of the slice; slice_ms: its length."""

    topic: str
    partition: int
    ts_ns: int
    slice_ms: int


class Latencies(NamedTuple):
    """Percentiles and histogram of latencies; None without any, as in most slices of a reader that is behind."""

    p50_us: int | None = None
    p99_us: int | None = None
    histogram: tuple[LatencyClass, ...] | None = None


class Accepted(NamedTuple):
    """Sums of the records that brokers accepted in a slice; the same for all readers."""

    leader_id: int | None
    n_records: int
    record_bytes: int
    latencies: Latencies


@dataclass(slots=True)
class Produced:
    """Records that brokers accepted in a slice. leader: time of the last of them, and the node that accepted it."""

    n_records: int = 0
    record_bytes: int = 0
    latencies: Counter[int] = field(default_factory=Counter)
    leader: tuple[int, int | None] = (0, None)

    def add(self, body: ProduceSlice) -> None:
        """Adds the slice of one connection."""
        self.n_records += body.n_records
        self.record_bytes += body.record_bytes
        self.latencies += added_up([body.latencies])
        self.leader = _latest(self.leader, (body.last_ns, body.node_id))

    def accepted(self) -> Accepted:
        """Returns the sums of the slice."""
        return Accepted(self.leader[1], self.n_records, self.record_bytes, _latencies(self.latencies))


@dataclass(slots=True)
class Read:
    """Position of a reader, and the records that it fetched in a slice. next_offset: offset after its last record; lag:
    its lag; both are kept over slices, all others are of the slice. lag_first, lag_last: each with the time of the
    response; committed: the last commit, with its time."""

    next_offset: int | None = None
    lag: int | None = None
    n_records: int = 0
    n_again: int = 0
    record_bytes: int = 0
    latencies: Counter[int] = field(default_factory=Counter)
    node: tuple[int, int | None] = (0, None)
    high_watermark: int | None = None
    lag_first: tuple[int, int] | None = None
    lag_last: tuple[int, int] | None = None
    lag_max: int | None = None
    position: tuple[int, int] | None = None
    committed: tuple[int, int] | None = None

    def commit(self, body: CommitSlice) -> None:
        """Adds the commits of one connection in the slice."""
        committed = (body.last_ns, body.committed_offset)
        self.committed = max(self.committed or committed, committed)

    def add(self, body: FetchSlice) -> None:
        """Adds the slice of one connection."""
        self.n_records += body.n_records
        self.n_again += body.n_again
        self.record_bytes += body.record_bytes
        self.latencies += added_up([body.latencies])
        self.node = _latest(self.node, (body.last_ns, body.node_id))
        self.high_watermark = highest(self.high_watermark, body.end_offset)
        self.lag_max = highest(self.lag_max, body.lag_max)
        if body.lag_first is not None and body.lag_last is not None:
            first, last = (body.first_ns, body.lag_first), (body.last_ns, body.lag_last)
            self.lag_first = min(self.lag_first or first, first)
            self.lag_last = max(self.lag_last or last, last)
        if body.next_offset is not None:
            reached = (body.last_ns, body.next_offset)
            self.position = max(self.position or reached, reached)

    @property
    def has_news(self) -> bool:
        """Whether the group fetched or committed records in the slice, or was behind."""
        return self.n_records + self.n_again > 0 or bool(self.lag_max) or self.committed is not None

    def end_slice(self, end_offset: int | None) -> None:
        """Updates the lag to the end of a slice. end_offset: end of the partition at that time."""
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
        """Resets the values of the slice."""
        self.n_records, self.n_again, self.record_bytes, self.latencies = 0, 0, 0, Counter()
        self.node, self.high_watermark, self.position, self.committed = (0, None), None, None, None
        self.lag_first, self.lag_last, self.lag_max = None, None, None


def flow_row(place: Place, accepted: Accepted, reader: Reader, read: Read, end_offset: int | None) -> PartitionFlow:
    """Returns the row of `partition_flow` for a reader. end_offset: end of the partition at the end of the slice."""
    created, fetched = accepted.latencies, _latencies(read.latencies)
    return PartitionFlow(
        place.topic,
        place.partition,
        reader.group_id,
        reader.client_instance_id,
        place.ts_ns,
        place.slice_ms,
        leader_id=read.node[1] if accepted.leader_id is None else accepted.leader_id,
        n_records=accepted.n_records,
        record_bytes=accepted.record_bytes,
        created_to_acked_p50_us=created.p50_us,
        created_to_acked_p99_us=created.p99_us,
        created_to_acked=created.histogram,
        n_fetched=read.n_records,
        n_fetched_again=read.n_again,
        fetched_bytes=read.record_bytes,
        acked_to_fetched_p50_us=fetched.p50_us,
        acked_to_fetched_p99_us=fetched.p99_us,
        acked_to_fetched=fetched.histogram,
        lag_first=None if read.lag_first is None else read.lag_first[1],
        lag_last=None if read.lag_last is None else read.lag_last[1],
        lag_max=read.lag_max,
        committed_offset=None if read.committed is None else read.committed[1],
        high_watermark=read.high_watermark,
        end_offset=end_offset,
    )


def unread_row(place: Place, accepted: Accepted, end_offset: int | None) -> PartitionFlow:
    """Returns a row of `partition_flow` for records without a reader."""
    row = flow_row(place, accepted, _NOBODY, Read(), end_offset)
    row.n_fetched = row.n_fetched_again = row.fetched_bytes = None
    return row


_NOBODY = Reader(None, None)


def _latencies(counts: Counter[int]) -> Latencies:
    if not counts:
        return _NO_LATENCIES
    return Latencies(percentile_us(counts, 0.5), percentile_us(counts, 0.99), histogram_of(counts))


_NO_LATENCIES = Latencies()


def _latest(known: tuple[int, int | None], other: tuple[int, int | None]) -> tuple[int, int | None]:
    """Returns the later of two pairs of time and node; a pair without a known node does not count."""
    return known if other[1] is None or other[0] < known[0] else other


def highest(known: int | None, other: int | None) -> int | None:
    """Returns the higher of two numbers, ignoring None."""
    return max((each for each in (known, other) if each is not None), default=None)
