"""`topic_created_again`: a deleted topic exists again, because a client requested its Metadata."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import sorted_set
from kafkascope_spark.stories.findings.wording import client, duration, times

# One finding per topic. `gone`: successful deletions; `asked`: Metadata requests that may create the topic, before any
# CreateTopics for it; `back`: the first Metadata response after that with a leader of one of its partitions.
_QUERY = f"""
with gone as (
    select each.name as topic, d.ts_ns, d.request_id, d.conn_id
    from delete_topics_responses d lateral view explode(responses) as each
    where each.error_code = 0 and each.name is not null
), named as (
    select m.request_id, m.conn_id, m.ts_ns, each.name as topic
    from metadata_requests m lateral view explode(topics) as each
    where m.allow_auto_topic_creation and each.name in (select topic from gone)
), asked as (
    select g.topic, g.ts_ns as gone_ns, g.request_id as deletion, g.conn_id as by_conn,
        min(struct(n.ts_ns, n.request_id, n.conn_id)) as first
    from gone g join named n on n.topic = g.topic
        and n.ts_ns between g.ts_ns and g.ts_ns + {limit.BACK_S} * 1000000000L
    group by g.topic, g.ts_ns, g.request_id, g.conn_id
), back as (
    select a.topic, a.gone_ns, a.deletion, a.by_conn, a.first, min(p.ts_ns) as back_ns
    from asked a join partitions p on p.topic = a.topic and p.api_key = {api_keys.METADATA}
        and p.direction = 'response' and p.leader_id >= 0
        and p.ts_ns between a.first.ts_ns and a.gone_ns + {limit.BACK_S} * 1000000000L
    where not exists (
        select 1 from requests c where c.api_name = 'CreateTopics' and c.ts_ns between a.gone_ns and a.first.ts_ns
    )
    group by a.topic, a.gone_ns, a.deletion, a.by_conn, a.first
)
select topic, count(*) as n, min(gone_ns) as first_ns, max(back_ns) as last_ns, min(back_ns - gone_ns) as soonest_ns,
    if(count(distinct c.client_instance_id) = 1, min(c.client_instance_id), null) as client_instance_id,
    min(c.client_id) as client_id, min(c.client_ip) as client_ip, {sorted_set("c.software_name")} as software_names,
    slice(flatten(array_sort(collect_list(struct(gone_ns, array(deletion, first.request_id) as ids))).ids), 1, 100)
        as evidence,
    array_sort(array_distinct(flatten(collect_list(array(by_conn, first.conn_id))))) as conn_ids
from back join connection_clients c on c.conn_id = back.first.conn_id
group by topic"""


def _sentence(f: Facts) -> str:
    again = f"{times(f.n)} " if f.n > 1 else ""
    return (
        f"{f.topic} was deleted {again}from {f.begin(f.first_ns)} on, and was there again within "
        f"{duration(f.soonest_ns)}: {client(f.client_id, f.client_ip)} asked for it in Metadata, which lets the broker "
        "create it (allow_auto_topic_creation), and nobody sent CreateTopics"
    )


_ADVICE = (
    "Stop the clients that use the topic before it is deleted, or let them create none: allow.auto.create.topics=false "
    "(Java consumers, librdkafka), allowAutoTopicCreation: false (kafkajs), Metadata.AllowAutoTopicCreation (sarama). "
    "Producers of Java create topics always: auto.create.topics.enable=false of the brokers ends it for all. The topic "
    "that came back has the brokers' defaults (num.partitions, default.replication.factor), not those of the one that "
    "was deleted."
)
RULE = Rule(
    name="topic_created_again",
    title="A deleted topic is created again because a client requests it",
    severity="warning",
    meaning="Where brokers create topics by themselves, a Metadata request that names a topic is enough. A consumer, "
    "an exporter of metrics or a producer that still knows the name brings the topic back, empty and with the brokers' "
    "defaults. No leader moves, though Metadata says LEADER_NOT_AVAILABLE for a moment.",
    looks_at=f"A successful DeleteTopics, then within {limit.BACK_S} s a Metadata request that names the topic with "
    "allow_auto_topic_creation, then Metadata that names a leader of it, without CreateTopics in between.",
    advice=_ADVICE,
    sources=("KIP-361", "auto.create.topics.enable of the broker settings"),
    detectors=(
        Detector(
            reads={
                "deleted": Where(REQUESTS, api_name="DeleteTopics", status="ok"),
            },
            query=_QUERY,
            subject=fact("topic"),
            sentence=_sentence,
        ),
    ),
)
