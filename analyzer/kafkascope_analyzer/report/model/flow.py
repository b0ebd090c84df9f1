"""Records passing through each topic, for each group that reads it: end-to-end latency and lag, over time.

The lag is the number of records that the reader still has to fetch. The commit lag, which Kafka's own tools show, is
the number that its group still has to commit: it includes records that were fetched and not yet processed.

All figures are sums over the table partition_flow, computed by DuckDB. Memory grows with topics, readers and slices,
and with the partitions of each topic, never with requests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from kafkascope_analyzer.dataset.latency_histogram import MIDDLE_SQL
from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.report.formatting import NS_PER_MS, clock, count, list_of
from kafkascope_analyzer.report.model.client_names import client_ids
from kafkascope_analyzer.report.model.presence import Presence, presence
from kafkascope_analyzer.report.rows import column_names, select
from kafkascope_analyzer.sql.database import Database
from kafkascope_spark.stories.tables import PARTITION_FLOW

MOST_TOPICS = 100
MOST_PARTITIONS = 10
NAMED_PARTITIONS = 3
"""Limits of report.json; the table partition_flow has everything."""


@dataclass(frozen=True, slots=True)
class SliceFlow:
    """A topic and its reader in one slice of time."""

    ts_ns: Annotated[int, "beginning of the slice"]
    n_records: Annotated[int, "records that brokers accepted"]
    n_fetched: Annotated[int, "records that the reader fetched for the first time"]
    created_to_acked_p99_us: Annotated[int | None, "from creation to acknowledgment, 99th percentile"]
    acked_to_fetched_p99_us: Annotated[int | None, "from acknowledgment to the first fetch, 99th percentile"]
    lag: Annotated[int | None, "lag of the reader at the end of the slice, records, all partitions together"]
    commit_lag: Annotated[
        int | None,
        "commit lag of its group at the end of the slice, records, all partitions together in which the "
        "capture shows a commit; null before the first commit",
    ]
    at: Annotated[str, "beginning of the slice, after the capture's start"] = ""


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """A partition of a topic and its reader over the whole capture."""

    partition: Annotated[int, "partition"]
    leader_id: Annotated[int | None, "its leader in the last slice, as in table partition_flow"]
    n_records: Annotated[int, "records that brokers accepted"]
    n_fetched: Annotated[int, "records that the reader fetched for the first time"]
    created_to_acked_p99_us: Annotated[int | None, "from creation to acknowledgment, 99th percentile"]
    acked_to_fetched_p99_us: Annotated[int | None, "from acknowledgment to the first fetch, 99th percentile"]
    lag_max: Annotated[int | None, "greatest lag of the reader, records"]
    lag_max_ns: Annotated[int | None, "beginning of the slice with the greatest lag"]
    lag_last: Annotated[int | None, "lag of the reader at the end, records"]
    commit_lag_max: Annotated[
        int | None, "greatest commit lag of its group at the end of a slice, records; null without a commit"
    ]
    commit_lag_last: Annotated[int | None, "commit lag at the end, as kafka-consumer-groups.sh shows it"]
    lag_max_at: Annotated[
        str | None, "beginning of that slice, after the capture's start; null where the reader was not behind"
    ] = None


@dataclass(frozen=True, slots=True)
class TopicFlow:
    """A topic and a group that reads it, over the whole capture; also a topic with a consumer without a group, or with
    no reader."""

    topic: Annotated[str, "topic"]
    group_id: Annotated[str | None, "group that reads it"]
    client_instance_id: Annotated[str | None, "consumer that reads it without a group"]
    n_partitions: Annotated[int, "partitions with records that were written, fetched, committed or waiting"]
    n_records: Annotated[int, "records that brokers accepted since the first request of the reader"]
    record_bytes: Annotated[int, "bytes of their record batches"]
    created_to_acked_p50_us: Annotated[int | None, "from the creation of a record to its acknowledgment, median"]
    created_to_acked_p99_us: Annotated[int | None, "99th percentile"]
    n_fetched: Annotated[int, "records that the reader fetched for the first time"]
    acked_to_fetched_p50_us: Annotated[int | None, "from the acknowledgment of a record to its first fetch, median"]
    acked_to_fetched_p99_us: Annotated[int | None, "99th percentile"]
    lag_max: Annotated[int | None, "greatest lag of the reader, records, all partitions together"]
    lag_last: Annotated[int | None, "lag at the end, records"]
    commit_lag_max: Annotated[
        int | None,
        "greatest commit lag of its group at the end of a slice, records, all partitions together in "
        "which the capture shows a commit; null without one",
    ]
    commit_lag_last: Annotated[int | None, "commit lag at the end, as kafka-consumer-groups.sh shows it"]
    partitions: Annotated[tuple[PartitionLine, ...], "the first 10, those with the highest lag and latency first"]
    over_time: Annotated[
        tuple[SliceFlow, ...],
        "time slices with records that were written, fetched, committed or waiting",
    ]
    reader: Annotated[str, "the group, or the client id of the consumer, in words"] = ""
    note: Annotated[str | None, "when and where it fell behind, and whether it caught up; null where it did not"] = None


@dataclass(frozen=True, slots=True)
class Flow(Presence):
    """Records passing through all topics."""

    slice_ms: Annotated[int | None, "length of a slice, milliseconds"]
    slice_length: Annotated[str, "length of a slice in words"]
    n: Annotated[int, "pairs of topic and reader"]
    listed: Annotated[tuple[TopicFlow, ...], "the first 100, those that were furthest behind and slowest first"]


_SUM = f"(case when sum({{0}}) > {2**63 - 1} then {2**63 - 1} else sum({{0}}) end)::bigint"
"""SQL sum of a lag over any number of partitions, capped at the largest bigint."""
_READ = "coalesce(group_id, client_instance_id) is not null"
_TOPICS = f"""
with flow as (
    select *, dense_rank() over (order by topic, group_id, client_instance_id) as reader from partition_flow
    where {_READ} or topic not in (select topic from partition_flow where {_READ})
), parts as (
    select *, unnest([
        {{{{level: 'topic', key: 0}}}}, {{{{level: 'partition', key: partition}}}}, {{{{level: 'slice', key: ts_ns}}}}
    ], recursive := true)
    from flow
), steps as (
    select reader, level, key, true as acked, unnest(created_to_acked, recursive := true) from parts
    union all select reader, level, key, false, unnest(acked_to_fetched, recursive := true) from parts
), classes as (
    select reader, level, key, acked, {MIDDLE_SQL.format(from_us="from_us")} as us,
        sum(sum(n)) over (partition by reader, level, key, acked order by from_us) as up_to,
        sum(sum(n)) over (partition by reader, level, key, acked) as n
    from steps group by reader, level, key, acked, from_us
), percentiles as (
    select reader, level, key,
        min(us) filter (acked and 2 * up_to >= n) as created_to_acked_p50_us,
        min(us) filter (acked and 100 * up_to >= 99 * n) as created_to_acked_p99_us,
        min(us) filter (not acked and 2 * up_to >= n) as acked_to_fetched_p50_us,
        min(us) filter (not acked and 100 * up_to >= 99 * n) as acked_to_fetched_p99_us
    from classes group by all
), sums as (
    select reader, level, key, any_value(topic) as topic, any_value(group_id) as group_id,
        any_value(client_instance_id) as client_instance_id, count(distinct partition) as n_partitions,
        coalesce(sum(n_records), 0)::bigint as n_records, coalesce(sum(record_bytes), 0)::bigint as record_bytes,
        coalesce(sum(n_fetched), 0)::bigint as n_fetched, last(leader_id order by ts_ns) as leader_id,
        max(lag_max) as lag_max, first(ts_ns order by lag_max desc nulls last, ts_ns) as lag_max_ns,
        arg_max(lag_last, ts_ns) as lag_last
    from parts group by all
), figures as (select * from sums left join percentiles using (reader, level, key)
), known as (
    select reader, ts_ns, partition, last_value(lag_last ignore nulls) over so_far as lag,
        last_value(end_offset ignore nulls) over so_far as up_to,
        last_value(committed_offset ignore nulls) over so_far as committed,
        if(up_to < committed, 0, up_to - committed) as commit_lag
    from (select distinct reader, ts_ns from flow) join (select distinct reader, partition from flow) using (reader)
        left join flow using (reader, ts_ns, partition)
    window so_far as (partition by reader, partition order by ts_ns)
), lags as (
    select reader, ts_ns as key, {_SUM.format("lag")} as lag, {_SUM.format("commit_lag")} as commit_lag
    from known group by all
), commit_lags as (
    select reader, partition, max(commit_lag) as commit_lag_max, arg_max(commit_lag, ts_ns) as commit_lag_last
    from known group by all
), partitions as (
    select reader, list({{partition}} order by lag_max desc nulls last,
        greatest(created_to_acked_p99_us, acked_to_fetched_p99_us) desc nulls last, key) as partitions
    from (select *, key::integer as partition from figures where level = 'partition')
        left join commit_lags using (reader, partition)
    group by reader
), over_time as (
    select reader, list({{slice}} order by key) as over_time, max(lag) as lag_max, arg_max(lag, key) as lag_last,
        max(commit_lag) as commit_lag_max, arg_max(commit_lag, key) as commit_lag_last
    from (select *, key as ts_ns from figures left join lags using (reader, key) where level = 'slice') group by reader
)
select {{topic}} from (select * exclude (lag_max, lag_last) from figures where level = 'topic')
    join partitions using (reader) join over_time using (reader)
"""
"""Topics with their readers; "no reader" only where nobody reads the topic. Where the lag of a partition in a slice,
its end or its last committed offset is not known, the previous value holds. Where a commit lies beyond the end that the
capture shows, the commit lag is zero."""


def flow(database: Database) -> Flow:
    """Returns topics with their readers, those that were furthest behind and slowest first."""
    here = presence(database.dataset, PARTITION_FLOW)
    if not database.has(PARTITION_FLOW.name):
        return Flow(here.present, here.why_not, None, "", 0, ())
    query = _TOPICS.format(topic=column_names(TopicFlow), partition=_struct(PartitionLine), slice=_struct(SliceFlow))
    found = select(database, query, TopicFlow)
    names = client_ids(database.dataset, (row.client_instance_id for row in found))
    slice_ms = next((ms for (ms,) in database.query("select slice_ms from partition_flow limit 1")[1]), None)
    start_ns = capture_span(database.dataset)[0]
    listed = [_with_words(replace(row, reader=_reader_text(row, names)), start_ns, slice_ms or 0) for row in found]
    listed.sort(key=lambda each: (-(each.lag_max or 0), -_slowest(each), each.topic, each.reader))
    return Flow(here.present, here.why_not, slice_ms, _length_text(slice_ms), len(listed), tuple(listed[:MOST_TOPICS]))


def _struct(kind: type[Any]) -> str:
    """Returns SQL that makes a struct of the columns of the kind."""
    return f"struct_pack({', '.join(f'{name} := {name}' for name in column_names(kind).split(', '))})"


def _length_text(slice_ms: int | None) -> str:
    """Returns the length of a slice in its largest unit."""
    for unit, name in ((3_600_000, "hour"), (60_000, "minute"), (1_000, "second")):
        if slice_ms and slice_ms % unit == 0:
            return count(slice_ms // unit, name)
    return ""


def _slowest(each: TopicFlow) -> int:
    return max(each.created_to_acked_p99_us or 0, each.acked_to_fetched_p99_us or 0)


def _reader_text(row: TopicFlow, names: Mapping[str, str | None]) -> str:
    client = row.client_instance_id
    return row.group_id or ("nobody" if client is None else f"{names.get(client) or client} (no group)")


def _with_words(row: TopicFlow, start_ns: int, slice_ms: int) -> TopicFlow:
    def at(ns: int | None) -> str:
        return clock(max((ns or 0) - start_ns, 0))

    lines = (replace(p, lag_max_at=at(p.lag_max_ns) if p.lag_max else None) for p in row.partitions[:MOST_PARTITIONS])
    slices = (replace(each, at=at(each.ts_ns)) for each in row.over_time)
    return replace(row, note=_note(row, start_ns, slice_ms), partitions=tuple(lines), over_time=tuple(slices))


def _note(row: TopicFlow, start_ns: int, slice_ms: int) -> str | None:
    """Returns a sentence about where the reader fell behind by more records than an average slice of time brings."""
    lags, n_slices = {each.ts_ns: each.lag for each in row.over_time if each.lag is not None}, len(row.over_time)
    if not lags:
        return None
    highest_ns = max(lags, key=lambda ts_ns: lags[ts_ns])
    highest, last = lags[highest_ns], lags[max(lags)]
    if highest * n_slices <= max(row.n_fetched, row.n_records, n_slices):
        return None
    if highest_ns == max(lags):
        text = f"{count(highest, 'record')} behind when the capture ended, which is the most"
    else:
        after = "caught up at the end" if last == 0 else f"{count(last, 'record')} behind at the end"
        text = f"{count(highest, 'record')} behind at {clock(highest_ns + slice_ms * NS_PER_MS - start_ns)}; {after}"
    behind = sorted((-part.lag_max, part.partition) for part in row.partitions if part.lag_max)
    names = [f"partition {number} up to {-lag:,}" for lag, number in behind]
    return f"{text}; {list_of(names, NAMED_PARTITIONS)}"
