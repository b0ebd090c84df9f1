"""`skipped_new_partition`: a group that reads a topic skips the first records of its new partitions."""

from collections.abc import Collection

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.conditions import longer_than
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.sql import joined_lists, sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, listed
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import REBALANCES

_PLACE = "topic, partition"
# One finding per group and topic. `fresh`: partitions that got their first owner because members learned that there
# are more of them. `since`: when the group first read the topic. `written`: the first accepted record of each
# partition; if its offset is 0, nobody wrote to the partition before.
_QUERY = f"""
with fresh as (
    select group_id, start_ns, place.topic, place.partition, m.client_instance_id
    from (select group_id, start_ns, members, explode(partitions) as place from changed)
        lateral view explode(members) as m
    where place.owner_before is null and place.owner_after = m.member_id
), written as (
    select {_PLACE}, min(struct(ts_ns, partition_offset as offset, request_id)) as first
    from partitions join (select distinct {_PLACE} from fresh) using ({_PLACE})
    where api_key = {api_keys.PRODUCE} and direction = 'response' and coalesce(error_code, 0) = 0
        and partition_offset >= 0
    group by {_PLACE}
), since as (
    select f.group_id, f.topic, min(p.ts_ns) as read_ns
    from (select distinct group_id, topic, client_instance_id from fresh) f
    join connection_clients c using (client_instance_id)
    join partitions p on p.conn_id = c.conn_id and p.topic = f.topic
    where p.api_key = {api_keys.FETCH} and p.direction = 'request'
    group by f.group_id, f.topic
), begun as (
    select f.group_id, f.topic, f.partition, f.client_instance_id,
        min(struct(p.ts_ns, p.partition_offset as offset, p.request_id, p.conn_id)) as first
    from fresh f join connection_clients c using (client_instance_id)
    join partitions p on p.conn_id = c.conn_id and p.topic = f.topic and p.partition = f.partition
    where p.api_key = {api_keys.FETCH} and p.direction = 'request' and p.ts_ns >= f.start_ns and p.partition_offset >= 0
    group by f.group_id, f.topic, f.partition, f.client_instance_id
), skipped as (
    select b.*, w.first.ts_ns as written_ns, w.first.request_id as written_by
    from begun b join written w using ({_PLACE}) join since s using (group_id, topic)
    where w.first.offset = 0 and b.first.offset > 0 and s.read_ns < w.first.ts_ns and w.first.ts_ns < b.first.ts_ns
)
select s.group_id, s.topic, min(s.client_instance_id) as client_instance_id,
    {sorted_set("s.client_instance_id")} as client_instance_ids, min(c.client_id) as client_id,
    min(c.client_ip) as client_ip, coalesce(try_sum(s.first.offset), 0) as n, {sorted_set("s.partition")} as partitions,
    min(s.written_ns) as first_ns, max(s.first.ts_ns) as last_ns,
    {joined_lists("array(s.written_by, s.first.request_id)", "s.first.ts_ns, s.partition")} as evidence,
    collect_set(s.first.conn_id) as conn_ids, collect_set(c.software_name) as software_names
from skipped s join clients c on s.client_instance_id = c.client_instance_id
group by s.group_id, s.topic"""


def _sentence(f: Facts) -> str:
    readers = client(f.client_id, f.client_ip)
    n_others = len(f.client_instance_ids or ()) - 1
    if n_others > 0:
        readers += f" and {counted(n_others, 'more member')}"
    return (
        f"Group {f.group_id} skipped {counted(f.n, 'record')} of the new partitions "
        f"{listed([f'{f.topic}-{partition}' for partition in f.partitions])}: brokers accepted them from "
        f"{f.begin(f.first_ns)} on, before {readers} knew of these partitions, and the group began behind them, by "
        f"{f.at(f.last_ns)} at the latest"
    )


def _advice(libraries: Collection[str], f: Facts | None = None) -> str:
    where = "the group" if f is None else f"group {f.group_id}"
    lost = "TOPIC:PARTITION" if f is None else ", ".join(f"{f.topic}:{partition}" for partition in f.partitions)
    return (
        "Members learn of new partitions with their next Metadata; if they begin at the latest offset then, they skip "
        f"what was written before. Set {setting('offset_reset', libraries) or 'the reset policy'} to earliest: it "
        f"counts only where the group has no committed offset. To read what was skipped, stop {where}, and set it back "
        f"for these partitions alone (kafka-consumer-groups.sh --reset-offsets --to-earliest --topic {lost} --dry-run, "
        "then --execute): what it has read of them since is read twice."
    )


RULE = Rule(
    name="skipped_new_partition",
    title="A group skips the first records of new partitions",
    severity="error",
    meaning="Producers use new partitions of a topic as soon as they know of them. A group that learns of them later, "
    "and begins at the end of the log there, never reads what was written before. No error and no lag tell so.",
    looks_at="Partitions that got their first owner when members of a group learned of more partitions (table "
    "rebalances), whose record with offset 0 a broker accepted in the capture while the group already read the topic, "
    "and whose first Fetch asks for a later offset.",
    advice=_advice(()),
    sources=("KAFKA-12478", "KIP-1106", "auto.offset.reset of the consumer settings"),
    detectors=(
        Detector(
            reads={"changed": Where(REBALANCES, trigger="subscription_changed", members=longer_than(0))},
            query=_QUERY,
            subject=lambda f: f"group {f.group_id}",
            sentence=_sentence,
            advice=lambda f: _advice(f.libraries, f),
        ),
    ),
)
