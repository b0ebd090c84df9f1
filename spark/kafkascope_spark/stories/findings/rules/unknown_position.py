"""`unknown_position`: a consumer begins at an end of the log because its OffsetFetch failed."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import joined_lists
from kafkascope_spark.stories.findings.wording import client, counted
from kafkascope_spark.stories.settings import setting

_PLACE = "topic, partition"
# One finding per client, group and topic. `lost`: the last failed OffsetFetch before the client looked up an end of the
# log. A successful repetition gives it the offset at which to begin. `known`: how far the group is known to have read
# (commits, and the offset before the first record that a broker accepted in this capture).
_QUERY = f"""
with lost as (
    select client_instance_id, client_id, client_ip, e.group_id, ts_ns, request_id, error_name, conn_ids as own_conns
    from failed_lookups e join (
        select explode(conn_ids) as conn_id, conn_ids, client_instance_id, kind from clients
    ) using (conn_id)
    where {NO_BROKER}
), answered as (
    select conn_id, request_id, ts_ns from requests
    where api_key = {api_keys.OFFSET_FETCH} and status = 'ok' and n_errors = 0 and exists (select 1 from lost)
), policies as (
    select request_id, topic.name as topic, asked.partition_index as partition,
        case asked.timestamp when -2 then 'earliest' when -1 then 'latest' end as policy
    from list_offsets_requests lateral view explode(topics) as topic lateral view explode(topic.partitions) as asked
), ends as (
    select conn_id, request_id, ts_ns, {_PLACE}, partition_offset as offset, policy
    from partitions join policies using (request_id, topic, partition)
    where api_key = {api_keys.LIST_OFFSETS} and direction = 'response' and coalesce(error_code, 0) = 0
        and partition_offset >= 0 and policy is not null and exists (select 1 from lost)
), began as (
    select l.client_instance_id, l.client_id, l.client_ip, l.group_id, l.own_conns, e.topic, e.partition, e.offset,
        e.policy, e.conn_id, e.request_id, e.ts_ns, max(struct(l.ts_ns, l.request_id, l.error_name)) as lost
    from lost l join ends e on array_contains(l.own_conns, e.conn_id)
        and e.ts_ns between l.ts_ns and l.ts_ns + {limit.RESET_AFTER_MS} * 1000000L
    group by all
), kept as (
    select b.* from began b left anti join answered a
        on array_contains(b.own_conns, a.conn_id) and a.ts_ns between b.lost.ts_ns and b.ts_ns
), fetched as (
    select k.group_id, k.client_instance_id, k.client_id, k.client_ip, k.topic, k.partition, k.offset, k.policy, k.lost,
        k.request_id, k.conn_id, k.ts_ns, min(p.ts_ns) as fetch_ns
    from kept k join partitions p on array_contains(k.own_conns, p.conn_id) and p.topic = k.topic
        and p.partition = k.partition and p.partition_offset = k.offset and p.ts_ns >= k.ts_ns
    where p.api_key = {api_keys.FETCH} and p.direction = 'request'
    group by all
), places as (select distinct group_id, topic, partition, offset, fetch_ns from fetched),
committed as (
    select x.group_id, x.topic, x.partition, max(p.partition_offset) as committed
    from places x join partitions p using (topic, partition) join requests r on p.request_id = r.request_id
    where p.api_key = {api_keys.OFFSET_COMMIT} and p.direction = 'request' and r.group_id = x.group_id
        and p.ts_ns < x.fetch_ns
    group by x.group_id, x.topic, x.partition
), written as (
    select x.topic, x.partition, min(p.partition_offset) as written_from
    from places x join partitions p using (topic, partition)
    where p.api_key = {api_keys.PRODUCE} and p.direction = 'response' and coalesce(p.error_code, 0) = 0
        and p.partition_offset >= 0 and p.ts_ns < x.fetch_ns
    group by x.topic, x.partition
), known as (
    select *, if(policy = 'latest', greatest(offset - committed, 0), greatest(committed - offset, 0)) as n_known,
        if(policy = 'latest' and committed is null, greatest(offset - written_from, 0), null) as n_written
    from fetched left join committed using (group_id, topic, partition) left join written using (topic, partition)
)
select client_instance_id, client_id, client_ip, group_id, topic, count(*) as n, min(lost.ts_ns) as first_ns,
    max(fetch_ns) as last_ns, min_by(struct(partition, offset, policy, lost.error_name as error_name),
        struct(ts_ns, partition)) as example,
    cast(sum(n_known) as bigint) as n_known, cast(sum(n_written) as bigint) as n_written,
    {joined_lists("array(lost.request_id, request_id)", "ts_ns, partition")} as evidence,
    collect_set(conn_id) as conn_ids, if(max(policy) = 'latest', 'error', 'warning') as severity
from known group by client_instance_id, client_id, client_ip, group_id, topic"""


def _sentence(f: Facts) -> str:
    e = f.example
    more = f", likewise {counted(f.n - 1, 'more partition')}" if f.n > 1 else ""
    return (
        f"{client(f.client_id, f.client_ip)} of group {f.group_id} began to read {f.topic}-{e['partition']} at "
        f"{f.begin(f.last_ns)} at the {e['policy']} offset, {e['offset']}{more}, because its OffsetFetch had failed "
        f"({e['error_name']}): it did not repeat it. {_effect(f)}"
    )


def _effect(f: Facts) -> str:
    if f.example["policy"] == "earliest":
        known = f"{counted(f.n_known, 'record')} that the group had committed" if f.n_known else "what the group had"
        return f"It reads again {known}{'' if f.n_known else ' read'}"
    if f.n_known:
        return f"It skipped {counted(f.n_known, 'record')} after the last commit of the group"
    if f.n_written:
        return (
            f"It skipped what the group had not read before, {counted(f.n_written, 'record')} of this capture among "
            "it, unless another member had read them"
        )
    return "It skipped what the group had not read before"


def _advice(libraries: Collection[str], group_id: str | None = None) -> str:
    return (
        "The brokers are not the cause: after such an error a client has to send the same request again (with the "
        "member epoch of the next heartbeat, or at the coordinator that FindCoordinator names), and must not act as "
        "if nothing had been committed. Update the client's library; until then "
        f"{setting('offset_reset', libraries)}=none stops it where it would skip. To read what was skipped, set the "
        "offsets back only after you have compared: kafka-consumer-groups.sh --describe for "
        f"{group_id or 'the group'} shows them; what was processed since is read twice then."
    )


RULE = Rule(
    name="unknown_position",
    title="A consumer begins at an end of the log because its OffsetFetch failed",
    severity="error",
    meaning="A consumer asks where its group has got to (OffsetFetch). An error is no answer to that; a client that "
    "takes it for one goes to the end of the log that auto.offset.reset names, and skips records, or reads them again. "
    "No error tells so, neither at the broker nor in the application.",
    looks_at="OffsetFetch with an error, followed by ListOffsets for the earliest or latest offset and by a Fetch at "
    f"that offset within {limit.RESET_AFTER_MS / 1000:g} s, without an OffsetFetch in between that succeeded. Skipped "
    "records are counted from the group's last commit; where the capture has none, from the first record that a "
    "broker accepted in it.",
    advice=_advice(()),
    sources=("KIP-848", "auto.offset.reset of the consumer settings"),
    detectors=(
        Detector(
            reads={"failed_lookups": Where(ERRORS, api_name="OffsetFetch", group_id=NOT_NULL)},
            query=_QUERY,
            subject=fact("topic"),
            sentence=_sentence,
            advice=lambda f: _advice(f.libraries, f.group_id),
        ),
    ),
)
