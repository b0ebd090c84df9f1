"""`not_enough_replicas`: writes were refused because too few replicas are in sync."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import client_errors, seen, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

TOO_FEW = ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")


def find(tables: Tables) -> DataFrame:
    """One finding per topic."""
    each = (
        client_errors(tables, *TOO_FEW)
        .groupBy("topic")
        .agg(
            *seen(),
            fn.expr("collect_set(client_instance_id) as clients"),
            fn.expr(f"array_sort(collect_set({wording.called()})) as names"),
            fn.expr("count(distinct partition) as n_partitions"),
        )
    )
    sentence = (
        "concat('Writes to topic ', coalesce(topic, '?'), ' were refused ', "
        f"{wording.times('n')}, if(n = 1, ' at ', concat(' within ', {wording.lasting('(last_ns - first_ns)')}, "
        f"' from ')), {wording.clock('first_ns')}, ': too few replicas of ', "
        f"{wording.counted('n_partitions', 'partition')}, ' in sync; producers: ', {wording.listed('names')})"
    )
    return told(each, "warning", sentence, subject="topic", client="if(size(clients) = 1, clients[0], null)")


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
    find=find,
    signs=(Sign(ERRORS, "error_name", frozenset(TOO_FEW)),),
)
