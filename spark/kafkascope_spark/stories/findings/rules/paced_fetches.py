"""`paced_fetches`: a consumer pauses between responses full of records, and falls behind."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import above, all_of, column, count, largest, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration
from kafkascope_spark.stories.settings import settings

_LEFT = Groups(
    Where(
        PARTITIONS,
        column("high_watermark") > column("last_offset") + 1,
        api_key=api_keys.FETCH,
        direction="response",
        n_records=above(0),
    ),
    per=("conn_id", "topic", "partition"),
    having=all_of(
        count() >= limit.PACED_FETCHES,
        largest(column("high_watermark") - column("last_offset")) > total("n_records"),
    ),
)
"""Topic-partitions of a connection in which records were left after responses, once more of them than all these
responses contained: what is left has to grow by as much as the consumer reads."""
# One finding per client. `behind`: records in the partition after those of the response. If there are some, the broker
# could return more at once: the time until the next request for the partition is the client's.
_QUERY = f"""
with answers as (
    select p.conn_id, p.topic, p.partition, p.request_id, p.ts_ns, r.ts_ns as asked_ns, p.n_records,
        if(p.high_watermark <= p.last_offset, 0, p.high_watermark - p.last_offset - 1) as behind
    from partitions p left semi join left_behind using (conn_id, topic, partition)
        join requests r on p.request_id = r.request_id
    where p.api_key = {api_keys.FETCH} and p.direction = 'response' and p.n_records > 0
), paused as (
    select *, following.asked_ns - ts_ns as pause_ns, following.ts_ns - following.asked_ns as broker_ns
    from (
        select *, lead(struct(asked_ns, ts_ns))
            over (partition by conn_id, topic, partition order by ts_ns, request_id) as following
        from answers
    )
), each as (
    select conn_id, topic, partition, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        count_if(behind > 0) as n_behind, sum(pause_ns) as paused_ns,
        cast(percentile(pause_ns, 0.5) as bigint) as pause_ns, cast(percentile(pause_ns, 0.1) as bigint) as short_ns,
        cast(percentile(pause_ns, 0.9) as bigint) as long_ns, cast(percentile(broker_ns, 0.5) as bigint) as broker_ns,
        min_by(behind, struct(ts_ns, request_id)) as behind_first,
        max_by(behind, struct(ts_ns, request_id)) as behind_last, sum(n_records) as n_records,
        {first_ids()} as evidence
    from paused group by conn_id, topic, partition
)
select client_instance_id, client_id, client_ip, cast(sum(n) as bigint) as n, min(first_ns) as first_ns,
    max(last_ns) as last_ns, count(*) as n_partitions, cast(sum(behind_first) as bigint) as behind_first,
    cast(sum(behind_last) as bigint) as behind_last, cast(sum(n_records) as bigint) as n_records,
    max_by(struct(topic, partition, pause_ns, short_ns, long_ns, broker_ns),
        struct(behind_last, topic, partition)) as example,
    slice(flatten(array_sort(collect_list(struct(first_ns, topic, partition, evidence))).evidence), 1, 100) as evidence,
    array_sort(collect_set(conn_id)) as conn_ids
from each join connection_clients using (conn_id)
where {NO_BROKER} and n >= {limit.PACED_FETCHES} and 10 * n_behind >= 8 * n
    and pause_ns >= {limit.PACED_MS} * 1000000L and 10 * paused_ns >= 8 * (last_ns - first_ns)
    and behind_last - behind_first >= n_records and behind_last >= 2 * behind_first
group by client_instance_id, client_id, client_ip"""


def _is_timed(f: Facts) -> bool:
    """Whether all pauses have about the same length, as those of a timer do, in contrast to those of work."""
    return bool(f.example["long_ns"] - f.example["short_ns"] <= f.example["pause_ns"] // 20)


def _sentence(f: Facts) -> str:
    e = f.example
    more = f" and {counted(f.n_partitions - 1, 'more partition')}" if f.n_partitions > 1 else ""
    timed = ", all equally long" if _is_timed(f) else ""
    return (
        f"{client(f.client_id, f.client_ip)} falls behind: {f.behind_first:,} records of {e['topic']}-{e['partition']}"
        f"{more} were left after its response at {f.begin(f.first_ns)}, {f.behind_last:,} at {f.at(f.last_ns)}. It "
        f"asks for more {duration(e['pause_ns'])} after each response (median{timed}); the broker answers within "
        f"{duration(e['broker_ns'])}, with records"
    )


def _advice(f: Facts) -> str:
    return _timed(f.libraries) if _is_timed(f) else _busy(f.libraries)


def _busy(libraries: Collection[str]) -> str:
    more = settings(("poll_records", "fetch_max"), libraries)
    return (
        "Brokers and network are not the cause: the application takes that long for what it gets. See what it does "
        "with each record (calls to other services, one commit for each), and give the group more members, up to "
        f"the number of partitions{f'; {more} decide how much it gets at once' if more else ''}."
    )


def _timed(libraries: Collection[str]) -> str:
    librdkafka = (
        "librdkafka waits for fetch.queue.backoff.ms (1 s in releases without that setting) while its queue is full: "
        "raise queued.min.messages and queued.max.messages.kbytes, or lower fetch.queue.backoff.ms"
    )
    own = f"{librdkafka}." if "librdkafka" in libraries or not libraries else "see its settings for prefetching."
    return (
        "Brokers and network are not the cause: pauses that are equally long come from a timer of the client, not "
        f"from work. Look for what limits its fetches: {own} Where it asks for few bytes at once, let it ask for "
        f"more ({settings(('fetch_max',), libraries) or 'the largest size of a Fetch'}, and the limit of each "
        "partition)."
    )


RULE = Rule(
    name="paced_fetches",
    title="A consumer pauses between fetches, and falls behind",
    severity="warning",
    meaning="A broker that has more records answers a Fetch at once. A consumer that fetches rarely limits itself: "
    "by the work of its application, or by a queue or timer of its library. Its lag grows without an error.",
    looks_at="Responses with records, after which records were left in the topic-partition (high watermark), and the "
    f"time from each to the next request for it: {limit.PACED_FETCHES} or more of a client, {limit.PACED_MS} ms or "
    "longer (median), in all four fifths of the time, while what was left grew to the double or more, and by as much "
    "as the consumer read.",
    advice=f"{_busy(())} {_timed(())}",
    sources=("KIP-74", "fetch.queue.backoff.ms of librdkafka", "max.poll.records of the consumer settings"),
    detectors=(
        Detector(
            reads={"left_behind": _LEFT},
            query=_QUERY,
            subject=lambda f: f"{f.example['topic']}-{f.example['partition']}",
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=frozenset({"slow_consumer"})),
)
