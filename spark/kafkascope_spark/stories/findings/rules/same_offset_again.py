"""`same_offset_again`: a consumer fetches the same offset again and again, although records are available."""

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables
from kafkascope_spark.stories.findings.conditions import NOT_NULL, all_of, count, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import CLIENT, NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, joined_lists
from kafkascope_spark.stories.findings.wording import client, duration, listed, times
from kafkascope_spark.stories.settings import settings

WHOLE_BATCHES = 3
"""From this version of Fetch on, a response has at least one whole batch of any size (KIP-74)."""
_ASKS = all_of(api_key=api_keys.FETCH, direction="request")
_ANSWERS = all_of(api_key=api_keys.FETCH, direction="response", error_code=0)
_PLACE = ("conn_id", "topic", "partition")
_ASKED = Where(PARTITIONS, _ASKS, partition_offset=NOT_NULL)
_FIRST, _LAST, _END = smallest("ts_ns"), largest("ts_ns"), largest("high_watermark")
_IS_LONG = _LAST - _FIRST >= limit.SAME_OFFSET_MS * 1_000_000
_READS = {
    "repeated": Groups(
        _ASKED,
        per=(*_PLACE, "partition_offset"),
        having=all_of(count() >= limit.ASKED_AGAIN, _IS_LONG),
        last_of=_PLACE,
    ),
    "ends": Groups(Where(PARTITIONS, _ANSWERS), per=_PLACE, having=_END >= 1),
}
_BY_PLACE = ", ".join(_PLACE)
_ON_PLACE = f"using ({_BY_PLACE})"
# One finding per client. Consumers of committed records get nothing from the last stable offset on, which is not their
# fault. Compressed batches are left to the rule unreadable_batches, and responses with a preferred replica to
# preferred_replica_loop. Idle consumers also fetch one offset again and again, the end of the log: their partitions are
# left out before requests are joined with their responses.
_QUERY = f"""
with behind as (
    select {_BY_PLACE} from repeated join (
        select {_BY_PLACE}, max(high_watermark) as log_end from partitions where {_ANSWERS} group by {_BY_PLACE}
    ) {_ON_PLACE}
    where partition_offset < log_end
), asked as (
    select request_id, {_BY_PLACE}, partition_offset, ts_ns from partitions left semi join behind {_ON_PLACE}
    where {_ASKS} and partition_offset is not null
), answered as (
    select request_id, topic, partition, high_watermark, n_batches, codec, first_offset, last_offset
    from partitions left semi join behind {_ON_PLACE}
    where {_ANSWERS} and high_watermark > 0 and coalesce(preferred_read_replica, -1) < 0
), by_offset as (
    select {_BY_PLACE}, partition_offset, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        max(high_watermark) as high_watermark, max(n_batches) as n_batches, max(last_offset) as last_offset,
        bool_and(first_offset is null) as is_control,
        bool_or(coalesce(codec, 'none') != 'none') as is_compressed, {first_ids()} as evidence
    from asked join answered using (request_id, topic, partition)
    where high_watermark > partition_offset
    group by {_BY_PLACE}, partition_offset
), stuck as (
    select b.* from by_offset b left anti join asked a
        on a.conn_id = b.conn_id and a.topic = b.topic and a.partition = b.partition
        and a.partition_offset <> b.partition_offset and a.ts_ns >= b.first_ns
    where b.n >= {limit.ASKED_AGAIN} and b.last_ns - b.first_ns >= {limit.SAME_OFFSET_MS}000000L and not is_compressed
), stable as (
    select request_id, topic, partition, max(last_stable_offset) as last_stable_offset
    from partitions left semi join behind {_ON_PLACE}
    where {_ANSWERS} and last_stable_offset >= 0 group by request_id, topic, partition
), unheld as (
    select s.*, r.api_version, r.max_wait_ms from stuck s left join stable l
        on l.request_id = element_at(s.evidence, -1) and l.topic = s.topic and l.partition = s.partition
        left join requests r on r.request_id = element_at(s.evidence, -1)
    where coalesce(l.last_stable_offset > s.partition_offset, true)
)
select {CLIENT}, array_sort(collect_set(concat(s.topic, '-', s.partition))) as places, sum(n) as n, max(n) as most,
    min_by(struct(concat(s.topic, '-', s.partition) as place, partition_offset, high_watermark, n_batches, last_offset,
        is_control, api_version, max_wait_ms), struct(-n, s.topic, s.partition)) as worst,
    min(first_ns) as first_ns, max(last_ns) as last_ns,
    {joined_lists("evidence", "first_ns, conn_id, s.topic, s.partition")} as evidence,
    array_sort(collect_set(conn_id)) as conn_ids
from unheld s join connection_clients using (conn_id)
where {NO_BROKER}
group by {CLIENT}"""


def _may_be_stuck(tables: Tables) -> bool:
    """Whether an offset that a consumer fetched last, and for long, is before the end of the log."""
    rows = tables["repeated"].join(tables["ends"], list(_PLACE), join_type="inner")
    return bool(pc.any(pc.less(rows["partition_offset"], rows[str(_END)])).as_py())


def _is_empty(f: Facts) -> bool:
    """Whether no response had a whole batch."""
    return not f.worst["n_batches"]


def _is_too_small(f: Facts) -> bool:
    """Whether the fetch size is too small, in versions of Fetch whose responses are empty then."""
    return _is_empty(f) and (f.worst["api_version"] or 0) < WHOLE_BATCHES


def _sentence(f: Facts) -> str:
    worst = f.worst
    asked = (
        f"{client(f.client_id, f.client_ip)} asked for offset {worst['partition_offset']} of {worst['place']} "
        f"{times(f.most)} in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)} and for no other later, "
        f"though the log goes on to {worst['high_watermark'] - 1}"
    )
    if _is_too_small(f):
        brought = "no answer had room for a whole batch"
    elif _is_empty(f):
        brought = f"no answer brought a record{_after_wait(f)}"
    elif worst["is_control"]:
        brought = "each answer brought a transaction's marker alone, which it does not get past"
    else:
        brought = f"each answer brought records up to offset {worst['last_offset']}, which it does not get past"
    more = f"; so on {listed(f.places)}" if len(f.places) > 1 else ""
    return f"{asked}: {brought}{more}"


def _after_wait(f: Facts) -> str:
    wait_ms = f.worst["max_wait_ms"]
    return "" if not wait_ms else f", each after at most {wait_ms} ms, as long as the consumer lets the broker wait"


def _advice(f: Facts) -> str:
    name, offset = client(f.client_id, f.client_ip), f.worst["partition_offset"]
    if _is_too_small(f):
        sizes = settings(("fetch_max",), f.libraries) or "its fetch size"
        return (
            f"Raise the fetch size of {name} above the largest record ({sizes}; max.partition.fetch.bytes (Java), "
            "fetch.message.max.bytes (librdkafka)): brokers cut what is larger to a request older than Fetch v3. Or "
            "upgrade it to a library that uses a newer Fetch, which brings at least one whole batch."
        )
    if _is_empty(f):
        return _nothing_came(f, name)
    if f.worst["is_control"]:
        return (
            f"Upgrade the library of {name}: it has to go on after what it does not hand to the application, as "
            f"markers of transactions. Until then a seek to {f.worst['last_offset'] + 1} skips no record."
        )
    return (
        f"Look at why {name} does not get past offset {offset}: an exception that lets it read the same again, or a "
        "library that does not understand the batch; upgrade that. A seek beyond it skips these records."
    )


def _nothing_came(f: Facts, name: str) -> str:
    """Returns the advice for a broker that returns nothing at an offset that is in its log."""
    wait, now = settings(("fetch_wait",), f.libraries) or "the longest wait of its Fetch", f.worst["max_wait_ms"]
    return (
        f"The broker does not come to give {name} these records. Where the topic has tiered storage "
        f"(remote.storage.enable), reading them from there takes longer than the consumer lets it wait: raise {wait}"
        f"{'' if now is None else f' (now {now})'} to some seconds, and from Kafka 3.8 on remote.fetch.max.wait.ms of "
        "the brokers. Else see the log of the broker for errors about this topic-partition: a segment that it cannot "
        "read. Another position skips these records."
    )


RULE = Rule(
    name="same_offset_again",
    title="A consumer fetches the same offset again and again, although records are available",
    severity="error",
    meaning="All its requests succeed, but it makes no progress: the first batch does not fit into the size that "
    "it allows, so that brokers send a part of a batch or nothing (before Fetch v3); or brokers send nothing, although "
    "the offset is in the log, as where a read from tiered storage takes longer than the consumer waits; or it does "
    "not get past what it is sent, as a transaction's marker or a batch that it cannot process.",
    looks_at=f"Fetch requests on one connection for one offset of a topic-partition, {limit.ASKED_AGAIN} times or more "
    f"for {limit.SAME_OFFSET_MS // 1000} s or longer, with no other offset asked for after that, while answers say "
    "that the log goes on. Who waits at the last stable offset is left out, and so are compressed batches "
    "(unreadable_batches).",
    advice="Raise the fetch size of the consumer above the largest record, or upgrade its library; where answers are "
    "empty, let it wait for longer (fetch.max.wait.ms), and see the broker's log.",
    sources=("KIP-74", "KIP-98", "KIP-405", "KIP-1018", "org.apache.kafka.clients.consumer.internals.CompletedFetch"),
    detectors=(
        Detector(
            reads=_READS,
            candidates=Candidates(
                {
                    "repeated": (*_PLACE, "partition_offset"),
                    "ends": (*_PLACE, str(_END)),
                },
                _may_be_stuck,
            ),
            query=_QUERY,
            subject=lambda f: f.worst["place"],
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
