"""Topics in words: the figures of each topic and reader, of its partitions and of its slices of time."""

from dataclasses import dataclass

from kafkascope_analyzer.report.formatting import NS_PER_MS, count, node, safe, span
from kafkascope_analyzer.report.model.flow import Flow, PartitionLine, SliceFlow, TopicFlow
from kafkascope_analyzer.report.model.flow_figures import flow_figures, records

MOST_FLOWS = 60
"""Most pairs of topic and reader that the page shows; report.json has more."""


@dataclass(frozen=True, slots=True)
class LagBand:
    """A time slice at whose end the reader was behind. share: its lag relative to the reader's maximum lag."""

    from_ns: int
    to_ns: int
    share: float


@dataclass(frozen=True, slots=True)
class PageTopicFlow:
    """A topic and its reader. figures, partitions, slices: cells of tables."""

    topic: str
    reader: str
    figures: tuple[str, ...]
    sentence: str
    lags: tuple[LagBand, ...]
    heading: str
    partitions: tuple[tuple[str, ...], ...]
    more_partitions: str
    slices: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PageFlow:
    """The first MOST_FLOWS topics and readers; more: how many others there are."""

    present: bool
    why_not: str | None
    slice_length: str
    n: int
    more: str
    listed: tuple[PageTopicFlow, ...]


def flow_texts(flow: Flow) -> PageFlow:
    """Returns the section `flow` of the report in the form of the page, with figures in the order of the columns."""
    listed = flow.listed[:MOST_FLOWS]
    left = flow.n - len(listed)
    more = f"… and {count(left, 'topic and reader', 'topics and readers')} more (report.json)." if left else ""
    shown = tuple(_topic(row, flow.slice_ms or 0) for row in listed)
    return PageFlow(flow.present, flow.why_not, flow.slice_length, flow.n, more, shown)


def _topic(row: TopicFlow, slice_ms: int) -> PageTopicFlow:
    topic, reader = safe(row.topic), safe(row.reader)
    left = row.n_partitions - len(row.partitions)
    return PageTopicFlow(
        topic=topic,
        reader=reader,
        figures=tuple(flow_figures(row)),
        sentence=f"{reader} on {topic}: {row.note}" if row.note else "",
        lags=_lags(row, slice_ms),
        heading=f"{topic}, read by {reader}: partitions and slices",
        partitions=tuple(map(_partition, row.partitions)),
        more_partitions=f"… and {count(left, 'partition')} more (table partition_flow)." if left > 0 else "",
        slices=tuple(map(_slice, row.over_time)),
    )


def _lags(row: TopicFlow, slice_ms: int) -> tuple[LagBand, ...]:
    """Returns the time slices at whose end the reader was behind."""
    highest = row.lag_max or 0
    behind = [(one.ts_ns, one.lag) for one in row.over_time if one.lag and highest]
    return tuple(LagBand(ts_ns, ts_ns + slice_ms * NS_PER_MS, round(lag / highest, 4)) for ts_ns, lag in behind)


def _partition(one: PartitionLine) -> tuple[str, ...]:
    counts = (f"{one.n_records:,}", f"{one.n_fetched:,}")
    lags = (records(one.lag_max), one.lag_max_at or "", records(one.lag_last))
    committed = (records(one.commit_lag_max), records(one.commit_lag_last))
    return (str(one.partition), node(one.leader_id, None), *counts, *_p99(one), *lags, *committed)


def _slice(one: SliceFlow) -> tuple[str, ...]:
    return (
        one.at,
        f"{one.n_records:,}",
        f"{one.n_fetched:,}",
        *_p99(one),
        records(one.lag),
        records(one.commit_lag),
    )


def _p99(one: PartitionLine | SliceFlow) -> tuple[str, str]:
    return span(one.created_to_acked_p99_us), span(one.acked_to_fetched_p99_us)
