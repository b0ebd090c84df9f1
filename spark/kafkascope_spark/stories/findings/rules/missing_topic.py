"""`missing_topic`: a client keeps asking for a topic that does not exist."""

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, all_of, count, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.sql import SEEN, sorted_set
from kafkascope_spark.stories.findings.wording import client, duration, times
from kafkascope_spark.stories.incidents.texts.texts import INVALID_NAME
from kafkascope_spark.stories.tables import INCIDENTS, RECOVERIES

MOVED = ("stale_broker", "stale_client", "leader_move")
_NO_NAME = "INVALID_TOPIC_EXCEPTION"
UNKNOWN = ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", _NO_NAME)
_UNKNOWN_PARTITIONS = Where(RECOVERIES, resource_kind="partition", first_error_name=UNKNOWN).query(RECOVERIES.name)
_MOVES = Where(INCIDENTS, kind=MOVED).query(INCIDENTS.name)
# One finding per client and topic. Partitions that another broker led at that time are not missing.
_QUERY = f"""
select client_instance_id, client_id, client_ip, topic, {SEEN}, {sorted_set("api_name")} as apis,
    every(error_name = '{_NO_NAME}') as is_no_name
from unknown_topics left join (select conn_id, client_instance_id, kind from connection_clients) using (conn_id)
left anti join (
    select r.client_instance_id as of_client, r.resource as moved
    from ({_UNKNOWN_PARTITIONS}) r join ({_MOVES}) m on r.incident_id = m.incident_id
) on client_instance_id = of_client and concat(topic, '-', partition) = moved
where coalesce(kind, '') not in ('broker', 'admin')
group by client_instance_id, client_id, client_ip, topic
having count(distinct request_id) > {limit.STORM} and max(ts_ns) - min(ts_ns) >= {limit.TOPIC_MISSING_MS} * 1000000L"""


def _sentence(f: Facts) -> str:
    why = "which no topic can have as its name" if f.is_no_name else "when the brokers did not have it or the partition"
    return (
        f"{client(f.client_id, f.client_ip)} asked for topic {f.topic} {times(f.n)}, {why} "
        f"({', '.join(f.apis)}), in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)}"
    )


def _advice(f: Facts) -> str:
    return INVALID_NAME if f.is_no_name else RULE.advice


_UNKNOWN_TOPICS = Where(ERRORS, error_name=UNKNOWN, topic=NOT_NULL)
DETECTOR = Detector(
    reads={
        "unknown_topics": _UNKNOWN_TOPICS,
        "missing_topics": Groups(
            _UNKNOWN_TOPICS,
            per=("topic",),
            having=all_of(
                count() > limit.STORM, largest("ts_ns") - smallest("ts_ns") >= limit.TOPIC_MISSING_MS * 1_000_000
            ),
        ),
    },
    query=_QUERY,
    subject=fact("topic"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="missing_topic",
    title="A client keeps asking for a topic that does not exist",
    severity="warning",
    meaning="Clients take an unknown topic for one that is about to exist: they ask for its metadata again and again, "
    "and a producer holds the records back until their delivery timeout is over.",
    looks_at=f"{', '.join(UNKNOWN)} about one topic to one client, more than {limit.STORM} times over "
    f"{limit.TOPIC_MISSING_MS // 1000} s or longer; a topic that is being created is not known for less. "
    "A partition that another broker led meanwhile has moved, and is not missing.",
    advice="See the incident of the topic, if there is one: it says whether the topic was deleted, or lacks a "
    "partition only. Create the topic, or correct its name in the client's settings; stop the clients of a topic "
    "before it is deleted. auto.create.topics.enable of the brokers makes topics of any name that is asked for.",
    sources=("org.apache.kafka.common.errors.UnknownTopicOrPartitionException", "KIP-516"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"missing_topic", "missing_partition"})),
)
