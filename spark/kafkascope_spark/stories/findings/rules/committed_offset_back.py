"""`committed_offset_back`: a group begins at an older offset than the one that it had committed."""

from collections.abc import Iterable
from typing import Any

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, all_of, at_least, largest, smallest, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import joined_lists, sorted_set
from kafkascope_spark.stories.findings.wording import client, counted
from kafkascope_spark.stories.tables import PARTITION_FLOW

_AT = ("topic", "partition")
_COMMITTED = Where(PARTITIONS, api_key=api_keys.OFFSET_COMMIT, direction="request", partition_offset=at_least(0))
_LOOKED_UP = Where(PARTITIONS, api_key=api_keys.OFFSET_FETCH, direction="response", partition_offset=at_least(0))
_FIRST, _LAST = smallest("ts_ns"), largest("ts_ns")
_HIGHEST, _LOWEST = largest("partition_offset"), smallest("partition_offset")
_ON_CONNECTION = ("conn_id", *_AT)
_PLACE = "cluster, group_id, topic, partition"
_OF_PLACE = ", ".join(f"l.{name}" for name in _PLACE.split(", "))
# One finding per group and cause. `lookups`: committed offsets that a response gave to a client which then fetched from
# there; `seen`: such an offset that is smaller than an earlier accepted commit, with the highest commit and the last
# one. Where the last commit has that offset, its sender set the group back; where that is higher, too, the server did
# not return what it had accepted. Who fetched from the smaller offset before it committed it went back on purpose.
_QUERY = f"""
with commits as (
    select r.cluster, r.group_id, p.topic, p.partition, p.partition_offset as offset, p.request_id, p.conn_id,
        coalesce(r.response_ns, p.ts_ns) as done_ns, p.ts_ns, c.client_instance_id, c.client_id, c.client_ip,
        r.generation_or_epoch >= 0 as is_member
    from partitions p join requests r on r.request_id = p.request_id
        left semi join fetched_again f on f.topic = p.topic and f.partition = p.partition and f.group_id = r.group_id
        join connection_clients c on c.conn_id = p.conn_id
    where p.api_key = {api_keys.OFFSET_COMMIT} and p.direction = 'request' and p.partition_offset >= 0
        and r.status = 'ok' and coalesce(r.n_errors, 0) = 0
), lookups as (
    select r.cluster, r.group_id, p.topic, p.partition, p.partition_offset as offset, p.request_id, p.conn_id,
        r.ts_ns as asked_ns, coalesce(r.response_ns, p.ts_ns) as told_ns, c.client_instance_id, c.client_id, c.client_ip
    from partitions p join requests r on r.request_id = p.request_id
        left semi join fetched_again f on f.topic = p.topic and f.partition = p.partition and f.group_id = r.group_id
        join connection_clients c on c.conn_id = p.conn_id
    where p.api_key = {api_keys.OFFSET_FETCH} and p.direction = 'response' and p.partition_offset >= 0
        and coalesce(p.error_code, 0) = 0 and {NO_BROKER}
), seen as (
    select {_OF_PLACE}, l.offset, l.request_id, l.told_ns, l.client_instance_id, l.client_id, l.client_ip,
        max(struct(m.offset, m.done_ns, m.request_id, m.client_instance_id)) as highest,
        max_by(struct(m.offset, m.done_ns, m.ts_ns, m.request_id, m.client_instance_id, m.client_id, m.client_ip,
            m.is_member), struct(m.done_ns, m.request_id)) as last
    from lookups l join commits m on l.cluster <=> m.cluster and l.group_id = m.group_id and l.topic = m.topic
        and l.partition = m.partition and m.done_ns < l.asked_ns
    group by {_OF_PLACE}, l.offset, l.request_id, l.told_ns, l.client_instance_id, l.client_id, l.client_ip
    having highest.offset > l.offset
), fetches as (
    select c.client_instance_id, p.topic, p.partition, p.partition_offset, p.ts_ns
    from partitions p left semi join seen s on s.topic = p.topic and s.partition = p.partition
        join connection_clients c on c.conn_id = p.conn_id
    where p.api_key = {api_keys.FETCH} and p.direction = 'request' and p.partition_offset >= 0
), back as (
    select s.*, last.offset = s.offset as is_committed from seen s
    left semi join fetches f on f.client_instance_id = s.client_instance_id and f.topic = s.topic
        and f.partition = s.partition and f.partition_offset = s.offset
        and f.ts_ns between s.told_ns and s.told_ns + {limit.RESET_AFTER_MS} * 1000000L
    where last.offset > s.offset
        or (last.offset = s.offset and last.is_member and last.client_instance_id = highest.client_instance_id)
), unwanted as (
    select b.* from back b left anti join fetches f on b.is_committed
        and f.client_instance_id = b.last.client_instance_id and f.topic = b.topic and f.partition = b.partition
        and f.partition_offset <= b.offset and f.ts_ns between b.highest.done_ns and b.last.ts_ns
)
select group_id, is_committed, count(*) as n, min(told_ns) as first_ns, max(told_ns) as last_ns,
    try_sum(if(is_committed, highest.offset, last.offset) - offset) as n_again,
    min_by(struct(concat(topic, '-', partition) as place, offset, highest, last, client_id, client_ip, told_ns),
        struct(told_ns, topic, partition)) as example,
    min_by(if(is_committed, last.client_instance_id, client_instance_id), struct(told_ns, topic, partition))
        as client_instance_id,
    {sorted_set("client_instance_id")} as client_instance_ids, cast(null as array<string>) as conn_ids,
    {joined_lists("array(highest.request_id, last.request_id, request_id)", "told_ns, topic, partition")} as evidence
from unwanted group by group_id, is_committed"""


def _is_before_a_commit(tables: Tables) -> bool:
    """Whether a committed offset that was looked up may be smaller than one that was committed before."""
    commits = _ranges(rows_of(tables["committing"], *_AT, str(_FIRST), str(_HIGHEST)))
    return any(
        first_ns < last_ns and highest > lowest
        for topic, partition, last_ns, lowest in rows_of(tables["looking_up"], *_AT, str(_LAST), str(_LOWEST))
        for first_ns, highest in commits.get((topic, partition), ())
    )


def _is_after_a_commit(tables: Tables) -> bool:
    """Whether a committed offset that was looked up is smaller than one that was committed before."""
    commits = _ranges(rows_of(tables["commits"], *_AT, "ts_ns", "partition_offset"))
    return any(
        committed_ns < ts_ns and committed > offset
        for topic, partition, ts_ns, offset in rows_of(tables["lookups"], *_AT, "ts_ns", "partition_offset")
        for committed_ns, committed in commits.get((topic, partition), ())
    )


def _ranges(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Returns times with offsets, by topic-partition. rows: of topic, partition, time and offset."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for topic, partition, ts_ns, offset in rows:
        found.setdefault((topic, partition), []).append((ts_ns, offset))
    return found


def _sentence(f: Facts) -> str:
    e = f.example
    reader = client(e["client_id"], e["client_ip"])
    more = f", likewise {counted(f.n - 1, 'more time')}" if f.n > 1 else ""
    again = f"{counted(f.n_again, 'record')} {'is' if f.n_again == 1 else 'are'} read again"
    begins = f"{reader} began there at {f.begin(e['told_ns'])}{more}: {again}"
    if f.is_committed:
        who = client(e["last"]["client_id"], e["last"]["client_ip"])
        return (
            f"{who} committed offset {e['highest']['offset']} of {e['place']} for group {f.group_id} at "
            f"{f.begin(e['highest']['done_ns'])}, and then the smaller offset {e['offset']} at "
            f"{f.begin(e['last']['ts_ns'])}, without having fetched from there again. {begins}"
        )
    return (
        f"Offset {e['last']['offset']} of {e['place']} was committed for group {f.group_id} and accepted at "
        f"{f.begin(e['last']['done_ns'])}; asked for it later, the coordinator returned {e['offset']}. {begins}"
    )


def _advice(f: Facts) -> str:
    if f.is_committed:
        who = client(f.example["last"]["client_id"], f.example["last"]["client_ip"])
        return (
            f"Let {who} commit only offsets that are larger than the last one that was accepted: a commit that failed "
            "in a rebalance and is tried again later, or commits that several threads send, set the group back. "
            "Update its library or framework. Nothing is lost, but what is read again is processed twice."
        )
    return (
        "The consumers are not the cause: they began at the offset that they were given. Look at what answers as the "
        "coordinator of the group: a commit that it accepted and lost (its log, that of the leader of "
        "__consumer_offsets at the time, an unclean election; a server that is not Apache Kafka), or a client that "
        "the capture does not show and that set the offsets back (kafka-consumer-groups.sh --reset-offsets). Nothing "
        "is lost, but what is read again is processed twice."
    )


RULE = Rule(
    name="committed_offset_back",
    title="A group begins at an older offset than the one that it had committed",
    severity="warning",
    meaning="The committed offset of a group only grows while its members process records. Where it goes back, the "
    "next consumer of the topic-partition begins there and processes records again, without an error.",
    looks_at="OffsetFetch that returns a smaller offset than an earlier OffsetCommit of the same group and "
    "topic-partition that was accepted, for a client that then fetches from there. Either the last commit had that "
    "offset, and its sender, a member, had committed the higher one itself and had fetched nothing from the smaller "
    "one since; or the last commit was higher, too, so that the coordinator returned something else. Groups that "
    "fetched nothing again are left out, and so are offsets that a client from outside of the group set, and "
    "consumers that go back on purpose.",
    advice="Where a member commits a smaller offset, update its library or framework; where the coordinator returns "
    "less than it accepted, look at its log.",
    sources=("org.apache.kafka.clients.consumer.KafkaConsumer, commitSync", "KIP-98"),
    detectors=(
        Detector(
            reads={
                "fetched_again": Groups(
                    Where(PARTITION_FLOW, n_fetched_again=above(0), group_id=NOT_NULL),
                    per=(*_AT, "group_id"),
                    having=total("n_fetched_again") >= 1,
                ),
                "committing": Groups(_COMMITTED, per=_ON_CONNECTION, having=all_of(_FIRST >= 0, _HIGHEST >= 0)),
                "looking_up": Groups(_LOOKED_UP, per=_ON_CONNECTION, having=all_of(_LAST >= 0, _LOWEST >= 0)),
                "commits": _COMMITTED,
                "lookups": _LOOKED_UP,
            },
            candidates=Candidates(
                {
                    "committing": (*_AT, str(_FIRST), str(_HIGHEST)),
                    "looking_up": (*_AT, str(_LAST), str(_LOWEST)),
                },
                _is_before_a_commit,
                then=Candidates(
                    {
                        "commits": (*_AT, "ts_ns", "partition_offset"),
                        "lookups": (*_AT, "ts_ns", "partition_offset"),
                    },
                    _is_after_a_commit,
                ),
            ),
            query=_QUERY,
            subject=lambda f: f.example["place"],
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES),
)
