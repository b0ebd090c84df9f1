"""`not_enough_replicas`: writes were refused because too few replicas are in sync."""

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import SEEN
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, times

TOO_FEW = ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")
# One finding per topic.
_QUERY = f"""
select topic, {SEEN}, if(count(distinct client_instance_id) = 1, min(client_instance_id), null) as client_instance_id,
    array_sort(collect_set(struct(client_id, client_ip))) as clients, count(distinct partition) as n_partitions
from refusals left join (select conn_id, client_instance_id, kind from connection_clients) using (conn_id)
where {NO_BROKER}
group by topic"""


def _sentence(f: Facts) -> str:
    names = sorted({client(each["client_id"], each["client_ip"]) for each in f.clients if each["client_ip"]})
    when = "at" if f.n == 1 else f"within {duration(f.last_ns - f.first_ns)} from"
    return (
        f"Writes to topic {f.topic or '?'} were refused {times(f.n)} {when} {f.begin(f.first_ns)}: too few replicas of "
        f"{counted(f.n_partitions, 'partition')} in sync; producers: {listed(names)}"
    )


DETECTOR = Detector(
    reads={"refusals": Where(ERRORS, error_name=TOO_FEW)},
    query=_QUERY,
    subject=fact("topic"),
    sentence=_sentence,
)
RULE = Rule(
    name="not_enough_replicas",
    title="Writes refused: too few replicas in sync",
    severity="warning",
    meaning="A producer with acks=all was refused because fewer replicas than min.insync.replicas were in sync. "
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND means that the leader had already written the batch.",
    looks_at="NOT_ENOUGH_REPLICAS and NOT_ENOUGH_REPLICAS_AFTER_APPEND in answers to Produce.",
    advice="Bring the missing brokers or followers back. A topic whose min.insync.replicas equals its replication "
    "factor takes no writes while one broker restarts: lower min.insync.replicas by one, or add a replica.",
    sources=("org.apache.kafka.common.errors.NotEnoughReplicasException", "min.insync.replicas of the topic settings"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | {"replication"}, any_broker=True),
)
