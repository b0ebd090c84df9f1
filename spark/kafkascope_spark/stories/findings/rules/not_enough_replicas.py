"""`not_enough_replicas`: writes were refused because too few replicas are in sync."""

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import SEEN
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, times

TOO_FEW = ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")
# A leader returns the same code if it could not ask the transaction coordinator whether the partition belongs to the
# transaction (KIP-890); the error message then names the error that it got.
_UNDERLYING = "nullif(regexp_extract(message, 'Underlying error: ([A-Z_]+)', 1), '')"
# One finding per topic.
_QUERY = f"""
select topic, {SEEN}, if(count(distinct client_instance_id) = 1, min(client_instance_id), null) as client_instance_id,
    array_sort(collect_set(struct(client_id, client_ip))) as clients, count(distinct partition) as n_partitions,
    array_sort(collect_set({_UNDERLYING})) as underlying, count_if({_UNDERLYING} is null) as n_without
from refusals left join (select conn_id, client_instance_id, kind from connection_clients) using (conn_id)
where {NO_BROKER}
group by topic"""


def _sentence(f: Facts) -> str:
    names = sorted({client(each["client_id"], each["client_ip"]) for each in f.clients if each["client_ip"]})
    when = "at" if f.n == 1 else f"within {duration(f.last_ns - f.first_ns)} from"
    why = f"too few replicas of {counted(f.n_partitions, 'partition')} in sync"
    if _could_not_verify(f):
        why = (
            f"leaders could not verify with the transaction's coordinator that {counted(f.n_partitions, 'partition')} "
        )
        why += f"belong to the transaction ({listed(f.underlying)})"
    return (
        f"Writes to topic {f.topic or '?'} were refused {times(f.n)} {when} {f.begin(f.first_ns)}: {why}; "
        f"producers: {listed(names)}"
    )


def _could_not_verify(f: Facts) -> bool:
    """Whether each error message names another error as the cause."""
    return bool(f.n_without == 0)


def _advice(f: Facts) -> str:
    if not _could_not_verify(f):
        return _ADVICE
    return (
        "The replicas are not the cause. Look at the broker that coordinates the transaction, and at the way to it "
        f"from the leaders of the partitions, for that time: {listed(f.underlying)} is what they met. Producers try "
        "again."
    )


_ADVICE = (
    "Bring the missing brokers or followers back. A topic whose min.insync.replicas equals its replication "
    "factor takes no writes while one broker restarts: add a replica. With min.insync.replicas lower by one it would "
    "take them too, but a record that was acknowledged is then lost where the fewer replicas that have it fail."
)


DETECTOR = Detector(
    reads={"refusals": Where(ERRORS, error_name=TOO_FEW)},
    query=_QUERY,
    subject=fact("topic"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="not_enough_replicas",
    title="Writes refused: too few replicas in sync",
    severity="warning",
    meaning="A producer with acks=all was refused because fewer replicas than min.insync.replicas were in sync. "
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND means that the leader had already written the batch.",
    looks_at="NOT_ENOUGH_REPLICAS and NOT_ENOUGH_REPLICAS_AFTER_APPEND in answers to Produce.",
    advice=_ADVICE,
    sources=("org.apache.kafka.common.errors.NotEnoughReplicasException", "min.insync.replicas of the topic settings"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | {"replication", "too_few_replicas"}, any_broker=True),
)
