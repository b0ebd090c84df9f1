"""`competing_commits`: two clients that are no members of a group commit offsets of the same topic-partition for it."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, below, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, listed, times

_OUTSIDE = Where(
    REQUESTS, api_key=api_keys.OFFSET_COMMIT, status="ok", error_code=0, generation_or_epoch=below(0), group_id=NOT_NULL
)
# One finding per group. `commits`: commits of clients that are not members, each with the previous one of the same
# topic-partition; `backwards`: commits with a smaller offset than another client had committed just before.
_QUERY = f"""
with commits as (
    select o.group_id, p.topic, p.partition, p.partition_offset as at, p.ts_ns, p.request_id, p.conn_id,
        c.client_instance_id, c.client_id, c.client_ip, c.software_name,
        lag(struct(c.client_instance_id as who, p.partition_offset as at)) over (
            partition by o.group_id, p.topic, p.partition order by p.ts_ns, p.request_id) as before
    from outside_commits o join partitions p on p.request_id = o.request_id and p.direction = 'request'
        join connection_clients c on c.conn_id = p.conn_id
    where p.partition_offset is not null and {NO_BROKER}
), turns as (
    select group_id, topic, partition, count(*) as n_all, count_if(before.at > at) as n,
        min(if(before.at > at, ts_ns, null)) as first_ns, max(if(before.at > at, ts_ns, null)) as last_ns,
        max(if(before.at > at, before.at - at, 0)) as furthest,
        slice(array_sort(collect_list(if(before.at > at, struct(ts_ns, request_id), null))).request_id, 1, 100)
            as evidence
    from commits where before.who <> client_instance_id
    group by group_id, topic, partition having n >= {limit.COMMITTED_BACK}
), clients_of as (
    select group_id, {sorted_set("client_instance_id")} as client_instance_ids,
        array_sort(collect_set(struct(client_id, client_ip))) as rivals,
        {sorted_set("software_name")} as software_names, array_sort(collect_set(conn_id)) as conn_ids
    from commits left semi join turns using (group_id, topic, partition) group by group_id
)
select t.group_id, null as client_instance_id, cast(sum(n) as bigint) as n, min(first_ns) as first_ns,
    max(last_ns) as last_ns, max(furthest) as furthest,
    array_sort(collect_set(concat(topic, '-', partition))) as places,
    slice(flatten(array_sort(collect_list(struct(first_ns, topic, partition, evidence))).evidence), 1, 100) as evidence,
    max(c.conn_ids) as conn_ids, max(c.rivals) as rivals, max(c.client_instance_ids) as client_instance_ids,
    max(c.software_names) as software_names
from turns t join clients_of c on c.group_id = t.group_id
group by t.group_id"""


def _sentence(f: Facts) -> str:
    who = sorted({client(each["client_id"], each["client_ip"]) for each in f.rivals})
    return (
        f"{listed(who)} commit offsets of {listed(f.places)} for group {f.group_id} by turns, without being members of "
        f"it: {times(f.n)} from {f.begin(f.first_ns)} to {f.at(f.last_ns)} one of them set the offset back from that "
        f"of the other, by up to {counted(f.furthest, 'record')}"
    )


_ADVICE = (
    "Give each application a group.id of its own: the group keeps one offset for each topic-partition, that of the "
    "last commit. Whoever starts again from it reads records twice, or skips what nobody has processed; the group's "
    "lag jumps with each commit, and says nothing. Where the two are one application, let them join the group "
    "(subscribe()), which gives each partition to one of them."
)
RULE = Rule(
    name="competing_commits",
    title="Two clients commit offsets of one group by turns",
    severity="warning",
    meaning="Consumers that assign their partitions themselves (assign()) may commit for any group, and the "
    "coordinator takes it: nothing fails. Two of them with the same group.id overwrite each other's offsets.",
    looks_at="OffsetCommit without a generation, accepted, of two clients or more for one group and topic-partition, "
    f"where {limit.COMMITTED_BACK} or more set the offset back from what another client had committed just before. "
    "Members of a group hand partitions over, and commit with their generation: they are left out.",
    advice=_ADVICE,
    sources=("org.apache.kafka.clients.consumer.KafkaConsumer, Manual Partition Assignment",),
    detectors=(
        Detector(
            reads={
                "outside_commits": _OUTSIDE,
                "committing_groups": Groups(_OUTSIDE, per=("group_id",), having=count() >= 2 * limit.COMMITTED_BACK),
            },
            query=_QUERY,
            subject=fact("group_id"),
            sentence=_sentence,
        ),
    ),
)
