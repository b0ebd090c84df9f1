"""`returns_to_offset`: a group goes back to the same offset again and again, because a record there cannot be
processed."""

import shlex
from collections import defaultdict

import pyarrow as pa

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, at_least, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, joined_lists, sorted_set
from kafkascope_spark.stories.findings.wording import SECURED, client, listed, times
from kafkascope_spark.stories.tables import CLIENTS, PARTITION_FLOW

_IS_FETCH = f"api_key = {api_keys.FETCH}"
_IS_LOOKUP = f"api_key = {api_keys.OFFSET_FETCH}"
_PLACE = "group_id, topic, partition"
_IN_ORDER = "order by ts_ns, request_id"
_GROUP_PLACE = ("topic", "partition", "group_id")
_FETCH = (*_GROUP_PLACE, "conn_id", "partition_offset", "ts_ns")
_FETCHED_AGAIN = Groups(
    Where(PARTITION_FLOW, n_fetched_again=above(0), group_id=NOT_NULL),
    per=_GROUP_PLACE,
    having=total("n_fetched_again") >= limit.RETURNS,
)
# One finding per group, about the offset to which it returned most often. `positions`: the Fetch requests of the group
# for the topic-partitions of which it fetched records again, and the committed offsets that it looked up; `returns`:
# Fetch requests for an offset beyond which the group had fetched before, and that the connection did not just ask for.
# A consumer that has fetched nothing there yet counts only if it begins at the committed offset: else the group reads
# the log from one end each time, because it never commits.
_QUERY = f"""
with readers as (
    select explode(conn_ids) as conn_id, client_instance_id, client_id, client_ip, software_name, group_id
    from clients where {NO_BROKER} and group_id is not null
), positions as (
    select p.request_id, p.ts_ns, p.api_key, p.topic, p.partition, p.partition_offset, r.*
    from partitions p join readers r on r.conn_id = p.conn_id
        left semi join fetched_again f
            on f.topic = p.topic and f.partition = p.partition and f.group_id = r.group_id
    where p.partition_offset >= 0 and (({_IS_FETCH} and p.direction = 'request')
        or ({_IS_LOOKUP} and p.direction = 'response' and coalesce(p.error_code, 0) = 0))
), ordered as (
    select *, lag(api_key) over (partition by {_PLACE} {_IN_ORDER}) = {api_keys.OFFSET_FETCH} as is_looked_up,
        lag(partition_offset) over (partition by {_PLACE}, conn_id, api_key {_IN_ORDER}) as before,
        lag(client_instance_id) over (partition by {_PLACE}, api_key {_IN_ORDER}) as last_reader,
        max(if({_IS_FETCH}, partition_offset, null)) over (partition by {_PLACE} {_IN_ORDER}
            rows between unbounded preceding and 1 preceding) as furthest
    from positions
), returns as (
    select *, last_reader <> client_instance_id as is_other from ordered
    where {_IS_FETCH} and furthest > partition_offset and not before <=> partition_offset
        and (last_reader = client_instance_id or is_looked_up)
), offsets as (
    select {_PLACE}, partition_offset, count(*) as n, count_if(is_other) as n_others,
        count_if(not is_other and is_looked_up) as n_again, max(furthest) as furthest,
        min(ts_ns) as first_ns, max(ts_ns) as last_ns, {first_ids()} as evidence,
        {sorted_set("struct(client_id, client_ip)")} as readers, {sorted_set("client_instance_id")} as instances,
        {sorted_set("software_name")} as software_names, {sorted_set("conn_id")} as conn_ids
    from returns group by {_PLACE}, partition_offset
    having n >= {limit.RETURNS} and last_ns - first_ns >= {limit.RETURNS_MS}000000L
        and (last_ns - first_ns) / (n - 1) <= {limit.RETURNS_APART_S} * 1000000000L
)
select group_id, if(size(array_distinct(flatten(collect_list(instances)))) = 1, max(instances)[0], null)
        as client_instance_id,
    min_by(struct(topic, partition, partition_offset, n, n_others, n_again, furthest, readers, first_ns, last_ns),
        struct(-n, first_ns, topic, partition, partition_offset)) as worst,
    array_sort(collect_set(concat(topic, '-', partition))) as places, cast(sum(n) as bigint) as n,
    min(first_ns) as first_ns, max(last_ns) as last_ns,
    {joined_lists("evidence", "first_ns, topic, partition, partition_offset")} as evidence,
    array_sort(array_distinct(flatten(collect_list(conn_ids)))) as conn_ids,
    array_sort(array_distinct(flatten(collect_list(instances)))) as client_instance_ids,
    array_sort(array_distinct(flatten(collect_list(software_names)))) as software_names,
    if(max(last_ns - first_ns) >= {limit.SAME_OFFSET_MS}000000L, 'error', 'warning') as severity
from offsets group by group_id"""


def _goes_back(tables: Tables) -> bool:
    """Whether a group fetched from the same offset often enough, each time after it had fetched beyond that."""
    furthest, before = dict[tuple[str, int, str], int](), dict[tuple[str, int, str, str], int]()
    returns_ns = defaultdict(list)
    for topic, partition, group_id, conn_id, offset, ts_ns in rows_of(_fetches_in_order(tables), *_FETCH):
        place, on_connection = (topic, partition, group_id), (topic, partition, group_id, conn_id)
        if offset < furthest.get(place, 0) and before.get(on_connection) != offset:
            returns_ns[place, offset].append(ts_ns)
        furthest[place] = max(furthest.get(place, 0), offset)
        before[on_connection] = offset
    return any(
        len(times_ns) >= limit.RETURNS and times_ns[-1] - times_ns[0] >= limit.RETURNS_MS * 1_000_000
        for times_ns in returns_ns.values()
    )


def _fetches_in_order(tables: Tables) -> pa.Table:
    """Returns the Fetch requests of the groups for topic-partitions of which they fetched records again."""
    of_groups = [
        {"conn_id": conn_id, "group_id": group_id}
        for conn_ids, group_id in rows_of(tables["members"], "conn_ids", "group_id")
        for conn_id in conn_ids or ()
    ]
    members = pa.Table.from_pylist(of_groups, pa.schema([("conn_id", pa.string()), ("group_id", pa.string())]))
    fetches, again = tables["fetches"], tables["fetched_again"].select(_GROUP_PLACE)
    for other, names in ((members, ["conn_id"]), (again, list(_GROUP_PLACE))):
        fetches = fetches.join(other, names, join_type="inner", use_threads=False)
    return fetches.sort_by([("ts_ns", "ascending"), ("request_id", "ascending")])


def _place(f: Facts) -> str:
    return f"{f.worst['topic']}-{f.worst['partition']}"


def _readers(f: Facts) -> str:
    return listed(sorted({client(each["client_id"], each["client_ip"]) for each in f.worst["readers"]}))


def _sentence(f: Facts) -> str:
    worst = f.worst
    others = [place for place in f.places if place != _place(f)]
    more = f"; likewise in {listed(others)}" if others else ""
    return (
        f"Group {f.group_id} went back to offset {worst['partition_offset']} of {_place(f)} {times(worst['n'])}, from "
        f"{f.begin(worst['first_ns'])} to {f.at(worst['last_ns'])}, although it had fetched records up to offset "
        f"{worst['furthest'] - 1}: {_how(f)}{more}"
    )


def _how(f: Facts) -> str:
    """Returns who went back, and how: the same consumer, or another process."""
    worst = f.worst
    by_itself = worst["n"] - worst["n_others"] - worst["n_again"]
    ways = [
        ("began at this offset, which the group had committed, in a new process", worst["n_others"]),
        ("joined the group again and began at the committed offset", worst["n_again"]),
        ("fetched the same records once more by itself", by_itself),
    ]
    return f"{_readers(f)} {listed([f'{text} ({times(n)})' for text, n in ways if n])}"


def _advice(f: Facts) -> str:
    worst = f.worst
    offset = worst["partition_offset"]
    where = "at" if worst["n_others"] + worst["n_again"] == 0 else "at or after"
    return (
        f"Find out why {_readers(f)} cannot process the record {where} offset {offset} of {_place(f)}: its log has "
        "the exception, or what ended the process. This shows the record: kafka-console-consumer.sh --bootstrap-server "
        f"BROKER:9092 --topic {shlex.quote(worst['topic'])} --partition {worst['partition']} --offset {offset} "
        f"--max-messages 1 ({SECURED}; older releases of this command call the option --consumer.config). "
        f"{_DEAD_LETTERS} An offset set to {offset + 1} while the group is stopped skips the record: it is then "
        "not processed."
    )


_DEAD_LETTERS = (
    "Let the application put what it cannot process elsewhere and go on: DefaultErrorHandler with "
    "DeadLetterPublishingRecoverer (Spring), errors.tolerance and errors.deadletterqueue.topic.name (Connect), "
    "deserialization.exception.handler (Streams), a dead-letter topic of its own elsewhere."
)
RULE = Rule(
    name="returns_to_offset",
    title="A group goes back to the same offset again and again",
    severity="error",
    meaning="A record that the application cannot process holds up its partition: the consumer goes back to it and "
    "tries again, or its process ends at it, and the next one begins at the same committed offset. Brokers and network "
    "work, no request fails, and the lag of this partition grows.",
    looks_at="Fetch requests of a group for one offset of a topic-partition, after it had already fetched records "
    f"beyond that offset: {limit.RETURNS} returns or more, for {limit.RETURNS_MS // 1000} s or longer, "
    f"{limit.RETURNS_APART_S} s or less from one to the next on average; an error from "
    f"{limit.SAME_OFFSET_MS // 1000} s on. A new process counts if it begins at the committed offset. Consumers "
    "without a group are left out: they may read the same records on purpose.",
    advice=f"Find out which record cannot be processed, and why. {_DEAD_LETTERS}",
    sources=("KIP-161", "KIP-298", "org.springframework.kafka.listener.DefaultErrorHandler"),
    detectors=(
        Detector(
            reads={
                "fetched_again": _FETCHED_AGAIN,
                "members": Where(CLIENTS, group_id=NOT_NULL),
                "fetches": Where(PARTITIONS, api_key=api_keys.FETCH, direction="request", partition_offset=at_least(0)),
            },
            candidates=Candidates(
                {
                    "fetched_again": _GROUP_PLACE,
                    "members": ("conn_ids", "group_id"),
                    "fetches": ("request_id", "ts_ns", "conn_id", "topic", "partition", "partition_offset"),
                },
                _goes_back,
            ),
            query=_QUERY,
            subject=_place,
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES),
    unless=("offset_reset",),
)
