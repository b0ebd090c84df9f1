"""`committed_offset_back`: a group begins at an older offset than the one that it had committed."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
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
_COLUMNS = (
    "group_id, topic, partition, offset, request_id, at_ns, ts_ns, client_instance_id, client_id, client_ip, "
    "is_member, is_commit"
)
_PLACE = "group_id, topic, partition"
# One finding per group and cause. `lookups`: committed offsets that a response gave to a client which then fetched from
# there; `seen`: such an offset that is smaller than an earlier accepted commit, with the highest commit and the last
# one, by windows: a join would grow with the square of the requests. Where the last commit has that offset, its sender
# set the group back; where that is higher, too, the server did not return what it had accepted. A client that fetched
# from the smaller offset before it committed it went back on purpose.
_QUERY = f"""
with commits as (
    select r.group_id, p.topic, p.partition, p.partition_offset as offset, p.request_id,
        coalesce(r.response_ns, p.ts_ns) as at_ns, p.ts_ns, c.client_instance_id, c.client_id, c.client_ip,
        r.generation_or_epoch >= 0 as is_member, true as is_commit
    from partitions p join requests r on r.request_id = p.request_id
        left semi join fetched_again f on f.topic = p.topic and f.partition = p.partition and f.group_id = r.group_id
        join connection_clients c on c.conn_id = p.conn_id
    where p.api_key = {api_keys.OFFSET_COMMIT} and p.direction = 'request' and p.partition_offset >= 0
        and r.status = 'ok' and coalesce(r.n_errors, 0) = 0
), lookups as (
    select r.group_id, p.topic, p.partition, p.partition_offset as offset, p.request_id,
        r.ts_ns as at_ns, coalesce(r.response_ns, p.ts_ns) as ts_ns, c.client_instance_id, c.client_id,
        c.client_ip, cast(null as boolean) as is_member, false as is_commit
    from partitions p join requests r on r.request_id = p.request_id
        left semi join fetched_again f on f.topic = p.topic and f.partition = p.partition and f.group_id = r.group_id
        join connection_clients c on c.conn_id = p.conn_id
    where p.api_key = {api_keys.OFFSET_FETCH} and p.direction = 'response' and p.partition_offset >= 0
        and coalesce(p.error_code, 0) = 0 and {NO_BROKER}
), ordered as (
    select *, max(if(is_commit, struct(offset, at_ns as done_ns, request_id, client_instance_id), null))
            over before as highest,
        last_value(if(is_commit, struct(offset, at_ns as done_ns, ts_ns, request_id, client_instance_id, client_id,
            client_ip, is_member), null), true) over before as last
    from (select {_COLUMNS} from commits union all select {_COLUMNS} from lookups)
    window before as (partition by {_PLACE} order by at_ns, is_commit, request_id
        rows between unbounded preceding and 1 preceding)
), seen as (
    select {_PLACE}, offset, request_id, ts_ns as answered_ns, client_instance_id, client_id, client_ip, highest, last
    from ordered where not is_commit and highest.offset > offset
), fetches as (
    select c.client_instance_id, p.topic, p.partition, p.partition_offset, p.ts_ns
    from partitions p left semi join seen s on s.topic = p.topic and s.partition = p.partition
        join connection_clients c on c.conn_id = p.conn_id
    where p.api_key = {api_keys.FETCH} and p.direction = 'request' and p.partition_offset >= 0
), back as (
    select s.*, last.offset = s.offset as is_committed from seen s
    left semi join fetches f on f.client_instance_id = s.client_instance_id and f.topic = s.topic
        and f.partition = s.partition and f.partition_offset = s.offset
        and f.ts_ns between s.answered_ns and s.answered_ns + {limit.RESET_AFTER_MS} * 1000000L
    where last.offset > s.offset
        or (last.offset = s.offset and last.is_member and last.client_instance_id = highest.client_instance_id)
), unwanted as (
    select b.* from back b left anti join fetches f on b.is_committed
        and f.client_instance_id = b.last.client_instance_id and f.topic = b.topic and f.partition = b.partition
        and f.partition_offset <= b.offset and f.ts_ns between b.highest.done_ns and b.last.ts_ns
)
select group_id, is_committed, count(*) as n, min(answered_ns) as first_ns, max(answered_ns) as last_ns,
    try_sum(if(is_committed, highest.offset, last.offset) - offset) as n_again,
    min_by(struct(concat(topic, '-', partition) as place, offset, highest, last, client_id, client_ip, answered_ns),
        struct(answered_ns, topic, partition)) as example,
    min_by(if(is_committed, last.client_instance_id, client_instance_id), struct(answered_ns, topic, partition))
        as client_instance_id,
    {sorted_set("client_instance_id")} as client_instance_ids, cast(null as array<string>) as conn_ids,
    {joined_lists("array(highest.request_id, last.request_id, request_id)", "answered_ns, topic, partition")}
        as evidence
from unwanted group by group_id, is_committed"""


def _may_be_after_a_commit(tables: Tables) -> bool:
    """Whether a committed offset that was looked up may be smaller than one that was committed before."""
    looked_up = rows_of(tables["looking_up"], *_AT, str(_LAST), str(_LOWEST))
    return _some_are_after_a_higher(rows_of(tables["committing"], *_AT, str(_FIRST), str(_HIGHEST)), looked_up)


def _is_after_a_commit(tables: Tables) -> bool:
    """Whether a committed offset that was looked up is smaller than one that was committed before."""
    looked_up = rows_of(tables["lookups"], *_AT, "ts_ns", "partition_offset")
    return _some_are_after_a_higher(rows_of(tables["commits"], *_AT, "ts_ns", "partition_offset"), looked_up)


def _some_are_after_a_higher(commits: Iterable[tuple[Any, ...]], lookups: Iterable[tuple[Any, ...]]) -> bool:
    """Whether a commit before one of the look-ups had a higher offset. Rows: topic, partition, time and offset."""
    of_place: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for topic, partition, ts_ns, offset in commits:
        of_place[topic, partition].append((ts_ns, offset))
    highest: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
    for place, rows in of_place.items():
        rows.sort()
        times_ns, offsets = zip(*rows, strict=True)
        highest[place] = list(times_ns), list(accumulate(offsets, max))
    for topic, partition, ts_ns, offset in lookups:
        times, so_far = highest.get((topic, partition), ([], []))
        before = bisect_left(times, ts_ns)
        if before and so_far[before - 1] > offset:
            return True
    return False


def _sentence(f: Facts) -> str:
    e = f.example
    reader = client(e["client_id"], e["client_ip"])
    more = f", likewise {counted(f.n - 1, 'more time')}" if f.n > 1 else ""
    again = f"{counted(f.n_again, 'record')} {'is' if f.n_again == 1 else 'are'} read again"
    begins = f"{reader} began there at {f.begin(e['answered_ns'])}{more}: {again}"
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
                _may_be_after_a_commit,
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
