"""`offset_reset`: a consumer's position was outside the log, and it continued elsewhere."""

import shlex
from collections.abc import Collection
from datetime import UTC, datetime

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import joined_lists
from kafkascope_spark.stories.findings.wording import SECURED, client, counted, times
from kafkascope_spark.stories.settings import setting, settings

OUTSIDE = "OFFSET_OUT_OF_RANGE"
_WHO = "client_instance_id, client_id, client_ip, group_id, topic"
_IS_FETCH = f"api_key = {api_keys.FETCH}"
_IS_LOOKUP = f"api_key = {api_keys.LIST_OFFSETS}"
_OF_PARTITION = "partition by client_instance_id, topic, partition"
_IN_ORDER = f"{_OF_PARTITION} order by"
_EACH = f"{_OF_PARTITION}, number"
# One finding per client and topic. `lost`: the Fetch requests outside the log, with the time of the error (their offset
# is null where an incremental Fetch did not repeat it). `numbered`: these errors and what the client asked for the
# partition, with the number of the last error before it. A client may look up both ends of the log (sarama does), so
# that not the answer to ListOffsets shows where it went on, but the next Fetch of the partition, which may be outside
# the log again where retention is quicker than the client. `matching`: the answers with its offset, which show the
# policy unless both ends are the same. Where no Fetch follows: all answers, if they agree. `followers`: connections to
# a node that a leader named as the preferred replica, and up to where the log went by then. `written`: batches of
# the topic whose records are dated longer ago than retention keeps records by default.
_QUERY = f"""
with lost as (
    select {_WHO}, partition, conn_ids as own_conns, api_key, request_id as lost_id, min(ts_ns) as lost_ns,
        min(conn_id) as lost_conn
    from (select * except (group_id) from outside_fetches) join (
        select explode(conn_ids) as conn_id, conn_ids, client_instance_id, kind, group_id from clients
    ) using (conn_id)
    where {NO_BROKER}
    group by {_WHO}, partition, conn_ids, api_key, request_id
), policies as (
    select request_id, topic.name as topic, asked.partition_index as partition,
        case asked.timestamp when -2 then 'earliest' when -1 then 'latest' else 'by_duration' end as policy
    from list_offsets_requests lateral view explode(topics) as topic lateral view explode(topic.partitions) as asked
), offsets as (
    select request_id, conn_id, ts_ns, api_key, topic, partition, partition_offset as offset, policy from partitions
    left join policies using (request_id, topic, partition)
    where ({_IS_FETCH} and direction = 'request') or ({_IS_LOOKUP}
        and direction = 'response' and coalesce(error_code, 0) = 0 and partition_offset >= 0)
), asked_or_lost as (
    select /*+ broadcast(readers) */ {_WHO}, partition, request_id, conn_id, ts_ns, api_key, offset, policy,
        0 as is_lost
    from offsets join (
        select distinct {_WHO}, partition, explode(own_conns) as conn_id from lost
    ) as readers using (topic, partition, conn_id)
    union all
    select {_WHO}, partition, lost_id, lost_conn, lost_ns, api_key, offset, null, 1
    from lost left join (select request_id as lost_id, api_key, topic, partition, offset from offsets) as asked
        using (lost_id, api_key, topic, partition)
), numbered as (
    select *, sum(is_lost) over ({_IN_ORDER} ts_ns, is_lost, request_id) as number
    from asked_or_lost
), following as (
    select *, min(ts_ns) over ({_EACH}) as lost_ns, min(if({_IS_LOOKUP}, ts_ns, null)) over ({_EACH}) as looked_up_ns
    from numbered where number > 0
), resets as (
    select {_WHO}, partition, lost_ns, max(if(is_lost = 1, request_id, null)) as lost_id,
        max(if(is_lost = 1, conn_id, null)) as lost_conn, max(if(is_lost = 1, offset, null)) as old_offset,
        min(if({_IS_FETCH} and ts_ns > looked_up_ns and offset is not null, struct(ts_ns, offset), null)) as next,
        array_sort(collect_list(
            if({_IS_LOOKUP}, struct(ts_ns, request_id, conn_id, offset, policy), null)
        )) as lookups
    from following where ts_ns <= lost_ns + {limit.RESET_AFTER_MS} * 1000000L
    group by {_WHO}, partition, number, lost_ns
), moves as (
    select *, coalesce(next.offset, get(matching, 0).offset) as new_offset,
        coalesce(get(matching, 0), lookups[0]) as new,
        if(size(array_distinct(matching.policy)) = 1, matching[0].policy, null) as policy
    from (
        select *, if(next is null, if(size(array_distinct(lookups.offset)) = 1, lookups, array()),
            filter(lookups, l -> l.ts_ns < next.ts_ns and l.offset = next.offset)) as matching
        from resets where size(lookups) > 0
    )
), followers as (
    select p.topic, p.partition, c.conn_id as lost_conn, max(p.high_watermark) as known_end
    from partitions p join owned_connections c on p.preferred_read_replica = c.node_id
    where p.api_key = {api_keys.FETCH} and p.direction = 'response' and p.preferred_read_replica >= 0
        and exists (select 1 from outside_fetches)
    group by p.topic, p.partition, c.conn_id
), written as (
    select topic, count(*) as n_written, count_if(ts_ns / 1e6 - max_timestamp_ms > {limit.OLD_TIMES_MS}) as n_old,
        min(max_timestamp_ms) as oldest_ms
    from partitions
    where api_key = {api_keys.PRODUCE} and direction = 'request' and max_timestamp_ms >= 0
        and topic in (select topic from lost)
    group by topic
), found as (
select {_WHO}, count(distinct partition) as n, count(*) as n_moves, min(lost_ns) as first_ns, max(new.ts_ns) as last_ns,
    min(struct(lost_ns, partition, old_offset, new_offset, policy)) as move,
    try_sum(greatest(new_offset - old_offset, 0)) as n_skipped,
    try_sum(if(old_offset <= known_end, greatest(old_offset - new_offset, 0), 0)) as n_again,
    {joined_lists("array(lost_id, new.request_id)", "lost_ns, partition")} as evidence,
    flatten(collect_list(array(lost_conn, new.conn_id))) as conn_ids,
    if(try_sum(greatest(new_offset - old_offset, 0)) > 0, 'error', 'warning') as severity
from moves left join followers using (topic, partition, lost_conn)
where new_offset is not null
group by {_WHO}
)
select * from found left join (select * from written where n_old > 0) using (topic)"""


def _sentence(f: Facts) -> str:
    group = "" if f.group_id is None else f" of group {f.group_id}"
    return (
        f"{client(f.client_id, f.client_ip)}{group} asked for an offset outside the log in {counted(f.n, 'partition')} "
        f"of {f.topic}{_again(f)}, first at {f.begin(f.first_ns)}: {_move(f)}{_effect(f)}"
    )


def _again(f: Facts) -> str:
    return f" {times(f.n_moves)}" if f.n_moves > f.n else ""


def _move(f: Facts) -> str:
    old, new, policy = f.move["old_offset"], f.move["new_offset"], f.move["policy"]
    moved = f"continued at {new}" if old is None else f"went from offset {old} to {new}"
    return f"{f.topic}-{f.move['partition']} {moved}{'' if policy is None else f' ({policy})'}"


def _effect(f: Facts) -> str:
    if _at_follower(f):
        return (
            "; it had asked a follower, its preferred replica, which did not have that offset yet, while the leader "
            f"did: it reads {counted(f.n_again, 'record')} again"
        )
    if (f.n_skipped or 0) > 0:
        return f"; it never reads {counted(f.n_skipped, 'record')}{_dated(f)}"
    return "; its old offset lay beyond the end of the log" if _was_beyond(f) else ""


def _dated(f: Facts) -> str:
    """Returns how old the records of the topic are by their own times."""
    if not f.n_old:
        return ""
    oldest = datetime.fromtimestamp(f.oldest_ms // 1000, UTC)
    return (
        f". Of {counted(f.n_written, 'batch', 'batches')} that were written to {f.topic}, {f.n_old} have records that "
        f"are dated a week ago or longer, the oldest on {oldest:%Y-%m-%d}"
    )


def _at_follower(f: Facts) -> bool:
    return (f.n_again or 0) > 0 and _was_beyond(f)


def _was_beyond(f: Facts) -> bool:
    old = f.move["old_offset"]
    return old is not None and f.move["new_offset"] < old


def _advice(f: Facts) -> str:
    if _at_follower(f):
        return _FOLLOWER
    if f.n_old and (f.n_skipped or 0) > 0:
        return _DATED
    return _beyond(f) if _was_beyond(f) else _deleted(f.libraries)


_FOLLOWER = (
    "No record was deleted, and no offset has to be set: a follower may be some records behind its leader. Update the "
    "client's library: before it gives up a position at a follower it has to ask the leader (KIP-392). Until then let "
    "it read from leaders, without client.rack. What it reads again is processed twice."
)


_DATED = (
    "The consumer is not the cause: brokers delete by the times in the records (retention.ms), and these are old when "
    "they are written. Let the producer set times in milliseconds since 1970 (seconds give dates in January 1970, 0 "
    "gives its first day), or none at all, so that its library sets the present time. Where old times are right (a "
    "migration, a replay), let the topic have message.timestamp.type=LogAppendTime, or a longer retention.ms, "
    "meanwhile. Brokers can refuse such records (message.timestamp.before.max.ms). Write what was deleted again."
)


def _deleted(libraries: Collection[str]) -> str:
    return (
        "The records were deleted before they were read: make the consumer keep up (more partitions and members, a "
        f"larger {settings(('poll_records', 'fetch_max'), libraries)}), or raise retention.ms and retention.bytes of "
        f"the topic; see who calls DeleteRecords. {setting('offset_reset', libraries)} decides where it goes on."
    )


def _beyond(f: Facts) -> str:
    group = "GROUP" if f.group_id is None else shlex.quote(f.group_id)
    return (
        "The log ends before the offset that was committed: the topic was deleted and created again, its end was "
        "lost in an unclean election (unclean.leader.election.enable), or the offsets are of another cluster. Find "
        "out which of these it was before you reset offsets, with the group stopped: --to-earliest reads all "
        "remaining records again; --to-latest skips all records that were not read yet, and the group never gets "
        "them. Without --execute the command only shows what it would do: kafka-consumer-groups.sh "
        f"--bootstrap-server BROKER:9092 --group {group} --topic {shlex.quote(f.topic)} --reset-offsets "
        f"--to-earliest ({SECURED}); {setting('offset_reset', f.libraries)} decides where it goes on without."
    )


DETECTOR = Detector(
    reads={"outside_fetches": Where(ERRORS, error_name=OUTSIDE, api_key=api_keys.FETCH)},
    query=_QUERY,
    subject=fact("topic"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="offset_reset",
    title="A consumer's offset is outside the log",
    severity="error",
    meaning="The offset that a consumer fetches is not in the log. By its reset policy it continues at the earliest "
    "or latest offset: records are skipped, which is an error, or read twice.",
    looks_at=(
        f"{OUTSIDE} in an answer to Fetch, followed by ListOffsets of the same client for the partition. Without "
        "that it says nothing: a follower that lags answers the same, and the consumer asks the leader. The offset "
        "where it continued is that of the next Fetch: some clients look up both ends of the log. Where records are "
        "skipped, the times in the batches that were written to the topic."
    ),
    advice=f"{_deleted(())} Where the records are dated long ago when they are written: {_DATED}",
    sources=(
        "KIP-392",
        "KIP-1106",
        "auto.offset.reset of the consumer settings",
        "org.apache.kafka.clients.consumer.internals.FetchCollector",
    ),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"offset_out_of_range"}), same=frozenset({"offset_out_of_range"})),
)
