"""How records passed through each topic, for each group that reads it: latency from end to end and lag, over time.

Everything is from the table partition_flow. Memory grows with topics, readers and slices, and with the partitions of
each topic, never with requests.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.latency_histogram import percentile_us
from kafkascope_analyzer.dataset.stories import PARTITION_FLOW
from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.report.formatting import NS_PER_MS, clock, count, list_of
from kafkascope_analyzer.report.model.client_names import client_ids
from kafkascope_analyzer.report.model.presence import Presence, presence
from kafkascope_analyzer.report.rows import Row, read

MOST_TOPICS = 100
MOST_PARTITIONS = 10
NAMED_PARTITIONS = 3
"""Limits of report.json; the table partition_flow has everything."""


@dataclass(frozen=True, slots=True)
class SliceFlow:
    """A topic and its reader in one slice of time."""

    ts_ns: Annotated[int, "begin of the slice"]
    at: Annotated[str, "the same after the capture's start"]
    n_records: Annotated[int, "records that brokers accepted"]
    n_fetched: Annotated[int, "records that the reader fetched for the first time"]
    created_to_acked_p99_us: Annotated[int | None, "from creation to acknowledgment, 99th percentile"]
    acked_to_fetched_p99_us: Annotated[int | None, "from acknowledgment to the first fetch, 99th percentile"]
    lag: Annotated[int | None, "records by which the reader was behind at the end of it, all partitions together"]


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """A partition of a topic and its reader over the whole capture."""

    partition: Annotated[int, "partition"]
    leader_id: Annotated[int | None, "its leader in the last slice, as in table partition_flow"]
    n_records: Annotated[int, "records that brokers accepted"]
    n_fetched: Annotated[int, "records that the reader fetched for the first time"]
    created_to_acked_p99_us: Annotated[int | None, "from creation to acknowledgment, 99th percentile"]
    acked_to_fetched_p99_us: Annotated[int | None, "from acknowledgment to the first fetch, 99th percentile"]
    lag_max: Annotated[int | None, "records by which the reader was behind at most"]
    lag_max_at: Annotated[str | None, "the slice in which it was, after the capture's start"]
    lag_last: Annotated[int | None, "records by which it was behind at the end"]


@dataclass(frozen=True, slots=True)
class TopicFlow:
    """A topic and a group that reads it (a consumer without a group; nobody), over the whole capture."""

    topic: Annotated[str, "topic"]
    group_id: Annotated[str | None, "group that reads it"]
    client_instance_id: Annotated[str | None, "consumer that reads it without a group"]
    reader: Annotated[str, "the group, or the client id of the consumer, in words"]
    n_partitions: Annotated[int, "partitions with records, or with a lag"]
    n_records: Annotated[int, "records that brokers accepted since the reader is known"]
    record_bytes: Annotated[int, "bytes of their record batches"]
    created_to_acked_p50_us: Annotated[int | None, "from the creation of a record to its acknowledgment, median"]
    created_to_acked_p99_us: Annotated[int | None, "99th percentile"]
    n_fetched: Annotated[int, "records that the reader fetched for the first time"]
    acked_to_fetched_p50_us: Annotated[int | None, "from the acknowledgment of a record to its first fetch, median"]
    acked_to_fetched_p99_us: Annotated[int | None, "99th percentile"]
    lag_max: Annotated[int | None, "records by which the reader was behind at most, all partitions together"]
    lag_last: Annotated[int | None, "the same at the end"]
    note: Annotated[str | None, "when and where it fell behind, and whether it caught up; null where it did not"]
    partitions: Annotated[tuple[PartitionLine, ...], "the first 10, those with the highest lag and latency first"]
    over_time: Annotated[tuple[SliceFlow, ...], "slices of time with records or a lag"]


@dataclass(frozen=True, slots=True)
class Flow(Presence):
    """How records passed through all topics."""

    slice_ms: Annotated[int | None, "length of a slice, milliseconds"]
    slice_length: Annotated[str, "the same in words"]
    n: Annotated[int, "pairs of topic and reader"]
    listed: Annotated[tuple[TopicFlow, ...], "the first 100, those that were furthest behind and slowest first"]


@dataclass(frozen=True, slots=True)
class _Step:
    """Records whose latency is in one step of the histogram."""

    from_us: int
    n: int


@dataclass(frozen=True, slots=True)
class _SliceRow(Row):
    """A partition and its reader in one slice of time."""

    TABLE: ClassVar[Table] = PARTITION_FLOW
    topic: str
    partition: int
    group_id: str | None
    client_instance_id: str | None
    ts_ns: int
    slice_ms: int
    leader_id: int | None
    n_records: int
    record_bytes: int
    created_to_acked: tuple[_Step, ...]
    n_fetched: int
    acked_to_fetched: tuple[_Step, ...]
    lag_last: int | None
    lag_max: int | None


@dataclass(slots=True)
class _Sums:
    """Records and latencies that are added up."""

    n_records: int = 0
    record_bytes: int = 0
    n_fetched: int = 0
    created: Counter[int] = field(default_factory=Counter)
    fetched: Counter[int] = field(default_factory=Counter)

    def add(self, row: _SliceRow) -> None:
        """A row of partition_flow."""
        self.n_records += row.n_records
        self.record_bytes += row.record_bytes
        self.n_fetched += row.n_fetched
        self.created += _counts(row.created_to_acked)
        self.fetched += _counts(row.acked_to_fetched)


def _counts(steps: tuple[_Step, ...]) -> Counter[int]:
    return Counter({step.from_us: step.n for step in steps})


@dataclass(slots=True)
class _Partition:
    """A partition of a topic and its reader. lags: at the end of each slice with a row; highest: the lag and slice."""

    sums: _Sums = field(default_factory=_Sums)
    leader: tuple[int, int | None] = (0, None)
    lags: dict[int, int] = field(default_factory=dict)
    highest: tuple[int, int] | None = None


@dataclass(slots=True)
class _Topic:
    """A topic and its reader."""

    sums: _Sums = field(default_factory=_Sums)
    partitions: dict[int, _Partition] = field(default_factory=lambda: defaultdict(_Partition))
    slices: dict[int, _Sums] = field(default_factory=lambda: defaultdict(_Sums))

    def add(self, row: _SliceRow) -> None:
        """A row of partition_flow."""
        partition, ts_ns = self.partitions[row.partition], row.ts_ns
        for sums in (self.sums, self.slices[ts_ns], partition.sums):
            sums.add(row)
        partition.leader = max(partition.leader, (ts_ns, row.leader_id), key=lambda each: each[0])
        if row.lag_last is not None:
            partition.lags[ts_ns] = row.lag_last
        if row.lag_max is not None and (partition.highest is None or row.lag_max > partition.highest[0]):
            partition.highest = (row.lag_max, ts_ns)

    def lags(self) -> dict[int, int]:
        """The lag of all partitions together at the end of each slice: what is not known of a slice is as before."""
        known: dict[int, int] = {}
        found = {}
        for ts_ns in sorted(self.slices):
            known |= {number: each.lags[ts_ns] for number, each in self.partitions.items() if ts_ns in each.lags}
            if known:
                found[ts_ns] = sum(known.values())
        return found


_Reader = tuple[str | None, str | None]


def flow(dataset: Dataset) -> Flow:
    """Topics with their readers. A reader that nobody is stands only where nobody reads the topic."""
    topics: dict[str, dict[_Reader, _Topic]] = defaultdict(lambda: defaultdict(_Topic))
    slice_ms = None
    for row in read(dataset, _SliceRow):
        topics[row.topic][row.group_id, row.client_instance_id].add(row)
        slice_ms = row.slice_ms
    for readers in topics.values():
        if len(readers) > 1:
            readers.pop((None, None), None)
    found = [(topic, reader, each) for topic, readers in topics.items() for reader, each in readers.items()]
    names = client_ids(dataset, {client for _, (_, client), _ in found if client is not None})
    start_ns = capture_span(dataset)[0]
    listed = [_topic_flow(topic, reader, each, (names, start_ns, slice_ms or 0)) for topic, reader, each in found]
    listed.sort(key=lambda each: (-(each.lag_max or 0), -_slowest(each), each.topic, each.reader))
    shown = tuple(listed[:MOST_TOPICS])
    here = presence(dataset, PARTITION_FLOW)
    return Flow(here.present, here.why_not, slice_ms, _length_text(slice_ms), len(listed), shown)


def _length_text(slice_ms: int | None) -> str:
    """The length of a slice in its largest unit."""
    for unit, name in ((3_600_000, "hour"), (60_000, "minute"), (1_000, "second")):
        if slice_ms and slice_ms % unit == 0:
            return count(slice_ms // unit, name)
    return ""


def _slowest(each: TopicFlow) -> int:
    return max(each.created_to_acked_p99_us or 0, each.acked_to_fetched_p99_us or 0)


def _topic_flow(topic: str, reader: _Reader, each: _Topic, known: tuple[dict[str, str | None], int, int]) -> TopicFlow:
    names, start_ns, slice_ms = known
    lags, sums = each.lags(), each.sums
    highest_ns = max(lags, key=lambda ts_ns: lags[ts_ns], default=None)
    ordered = sorted(each.partitions.items(), key=lambda item: (-_weight(item[1])[0], -_weight(item[1])[1], item[0]))
    return TopicFlow(
        topic,
        *reader,
        _reader_text(reader, names),
        len(each.partitions),
        sums.n_records,
        sums.record_bytes,
        percentile_us(sums.created, 0.5),
        percentile_us(sums.created, 0.99),
        sums.n_fetched,
        percentile_us(sums.fetched, 0.5),
        percentile_us(sums.fetched, 0.99),
        None if highest_ns is None else lags[highest_ns],
        lags[max(lags)] if lags else None,
        _note(each, lags, start_ns, slice_ms),
        tuple(_partition_line(*one, start_ns) for one in ordered[:MOST_PARTITIONS]),
        tuple(_slice_flow(ts_ns, one, lags.get(ts_ns), start_ns) for ts_ns, one in sorted(each.slices.items())),
    )


def _weight(partition: _Partition) -> tuple[int, int]:
    """What puts a partition before others: its lag, then its latency."""
    latencies = (percentile_us(counts, 0.99) or 0 for counts in (partition.sums.created, partition.sums.fetched))
    return (partition.highest or (0, 0))[0], max(latencies)


def _reader_text(reader: _Reader, names: dict[str, str | None]) -> str:
    group_id, client = reader
    if group_id is not None:
        return group_id
    return "nobody" if client is None else f"{names.get(client) or client} (no group)"


def _note(each: _Topic, lags: dict[int, int], start_ns: int, slice_ms: int) -> str | None:
    """Says where the reader fell behind: by more records than an average slice of time brings it."""
    if not lags:
        return None
    highest_ns = max(lags, key=lambda ts_ns: lags[ts_ns])
    highest, last = lags[highest_ns], lags[max(lags)]
    if highest * len(each.slices) <= max(each.sums.n_fetched, each.sums.n_records, len(each.slices)):
        return None
    if highest_ns == max(lags):
        said = f"{count(highest, 'record')} behind when the capture ended, which is the most"
    else:
        after = "caught up at the end" if last == 0 else f"{count(last, 'record')} behind at the end"
        said = f"{count(highest, 'record')} behind at {clock(highest_ns + slice_ms * NS_PER_MS - start_ns)}; {after}"
    behind = sorted((-one.highest[0], number) for number, one in each.partitions.items() if one.highest)
    names = [f"partition {number} up to {-lag:,}" for lag, number in behind if lag]
    return f"{said}; {list_of(names, NAMED_PARTITIONS)}"


def _partition_line(number: int, each: _Partition, start_ns: int) -> PartitionLine:
    sums = each.sums
    return PartitionLine(
        number,
        each.leader[1],
        sums.n_records,
        sums.n_fetched,
        percentile_us(sums.created, 0.99),
        percentile_us(sums.fetched, 0.99),
        None if each.highest is None else each.highest[0],
        None if each.highest is None or not each.highest[0] else clock(max(each.highest[1] - start_ns, 0)),
        each.lags[max(each.lags)] if each.lags else None,
    )


def _slice_flow(ts_ns: int, sums: _Sums, lag: int | None, start_ns: int) -> SliceFlow:
    return SliceFlow(
        ts_ns,
        clock(max(ts_ns - start_ns, 0)),
        sums.n_records,
        sums.n_fetched,
        percentile_us(sums.created, 0.99),
        percentile_us(sums.fetched, 0.99),
        lag,
    )
