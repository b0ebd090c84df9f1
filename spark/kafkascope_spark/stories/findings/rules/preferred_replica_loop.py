"""`preferred_replica_loop`: a consumer repeatedly fetches from the leader, which refers it to its preferred replica."""

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import at_least, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration, times

OUTSIDE = 1
"""OFFSET_OUT_OF_RANGE."""
_SENT_AWAY = Groups(
    Where(PARTITIONS, api_key=api_keys.FETCH, direction="response", preferred_read_replica=at_least(0)),
    per=("topic", "partition"),
    having=count() >= limit.SENT_AWAY,
)
# One finding per client. `sent`: number of referrals to each replica, for each topic-partition; `came`: number of
# responses with records from that replica in that time.
_QUERY = f"""
with fetched as (
    select p.*, {", ".join(f"c.{name}" for name in ("node_id", "client_instance_id", "client_id", "client_ip"))}
    from partitions p left semi join sent_away using (topic, partition)
        join owned_connections c using (conn_id)
    where p.api_key = {api_keys.FETCH} and p.direction = 'response' and {NO_BROKER}
), sent as (
    select client_instance_id, client_id, client_ip, topic, partition, preferred_read_replica as replica_id,
        count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns, min(node_id) as leader_id,
        {first_ids()} as evidence, collect_set(conn_id) as conn_ids
    from fetched where preferred_read_replica >= 0
    group by client_instance_id, client_id, client_ip, topic, partition, preferred_read_replica
    having n >= {limit.SENT_AWAY} and (last_ns - first_ns) / (n - 1) <= {limit.SENT_AWAY_APART_S} * 1000000000L
), came as (
    select s.client_instance_id, s.topic, s.partition, s.replica_id, count_if(f.n_records > 0) as n_came,
        coalesce(max(if(f.n_records > 0, f.ts_ns, null)), s.first_ns) as came_ns,
        count_if(f.error_code = {OUTSIDE}) as n_refused
    from sent s left join fetched f on f.client_instance_id = s.client_instance_id and f.topic = s.topic
        and f.partition = s.partition and f.node_id = s.replica_id and f.ts_ns between s.first_ns and s.last_ns
    group by s.client_instance_id, s.topic, s.partition, s.replica_id, s.first_ns
)
select client_instance_id, client_id, client_ip, cast(sum(n) as bigint) as n, min(first_ns) as first_ns,
    max(last_ns) as last_ns, count(distinct topic, partition) as n_partitions, cast(sum(n_came) as bigint) as n_came,
    cast(sum(n_refused) as bigint) as n_refused,
    min_by(struct(topic, partition, replica_id, leader_id, n, first_ns, last_ns),
        struct(first_ns, topic, partition)) as example,
    slice(flatten(array_sort(collect_list(struct(first_ns, topic, partition, evidence))).evidence), 1, 100) as evidence,
    array_sort(array_distinct(flatten(collect_list(conn_ids)))) as conn_ids,
    if(sum(n_came) = 0 or max(last_ns - came_ns) >= {limit.SAME_OFFSET_MS}000000L, 'error', 'warning') as severity
from sent join came using (client_instance_id, topic, partition, replica_id)
group by client_instance_id, client_id, client_ip"""


def _sentence(f: Facts) -> str:
    e = f.example
    leader = "its leader" if e["leader_id"] is None else f"its leader, node {e['leader_id']},"
    every = duration((e["last_ns"] - e["first_ns"]) // (e["n"] - 1))
    more = f" (likewise {counted(f.n_partitions - 1, 'more partition')})" if f.n_partitions > 1 else ""
    return (
        f"{client(f.client_id, f.client_ip)} asked for {e['topic']}-{e['partition']} at {leader} {e['n']} times from "
        f"{f.begin(f.first_ns)} to {f.at(f.last_ns)}, one time in {every}, and was sent to node {e['replica_id']}, its "
        f"preferred replica, each time{more}. {_effect(f)}"
    )


def _effect(f: Facts) -> str:
    """Returns how much it read from the replica."""
    e = f.example
    if f.n_refused:
        return (
            f"There it got OFFSET_OUT_OF_RANGE {times(f.n_refused)}: the replica does not have the offset that the "
            "leader has, and a leader that names another replica gives no records"
        )
    return (
        f"It read from node {e['replica_id']} in between, and went back each time: a leader that names another "
        "replica gives no records, and each change takes time"
        if f.n_came
        else f"It got no records from node {e['replica_id']} meanwhile, and a leader that names another replica gives "
        "none: it read nothing"
    )


def _advice(f: Facts) -> str:
    return f"Look at node {f.example['replica_id']}: {_REPLICA}" if f.n_refused else _ADVICE


_REPLICA = (
    "its copy ends before the consumer's position, or begins after it, and the leader takes it for one that is in sync "
    "(kafka-topics.sh --describe says whether it is; its log, whether it fetches from the leader). Until it has caught "
    "up let the consumer read from leaders, without client.rack. No offset has to be set, and no record is lost."
)

_ADVICE = (
    "The brokers answer as they should. Update the client's library: a consumer stays with its preferred replica until "
    "metadata.max.age.ms is over, or the replica does not serve it. Until then let it read from leaders, without "
    "client.rack: what it reads comes from other racks then, which may cost more."
)
RULE = Rule(
    name="preferred_replica_loop",
    title="A consumer does not stay with its preferred replica",
    severity="warning",
    meaning="Where brokers have a replica.selector.class, a leader sends consumers to the replica in their rack "
    "(KIP-392), with a response without records. A consumer that forgets this fetches from the leader again, and "
    "reads with interruptions; one that ignores it reads nothing.",
    looks_at=f"Fetch responses that name a preferred replica: {limit.SENT_AWAY} or more for a client and a "
    f"topic-partition, {limit.SENT_AWAY_APART_S} s or less from one to the next on average. An error where it got no "
    f"records from that replica meanwhile, or none for the last {limit.SAME_OFFSET_MS // 1000} s.",
    advice=f"{_ADVICE} Where the replica answers OFFSET_OUT_OF_RANGE, look at it: {_REPLICA}",
    sources=("KIP-392", "org.apache.kafka.clients.consumer.internals.SubscriptionState"),
    detectors=(
        Detector(
            reads={"sent_away": _SENT_AWAY},
            query=_QUERY,
            subject=lambda f: f"{f.example['topic']}-{f.example['partition']}",
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
