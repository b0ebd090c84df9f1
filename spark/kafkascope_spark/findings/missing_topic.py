"""`missing_topic`: a client keeps asking for a topic that does not exist."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import client_errors, seen, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

UNKNOWN = ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INVALID_TOPIC_EXCEPTION")


def find(tables: Tables) -> DataFrame:
    """One finding per client and topic."""
    each = (
        client_errors(tables, *UNKNOWN)
        .where("topic is not null and coalesce(kind, '') != 'admin'")
        .groupBy("client_instance_id", "client_id", "client_ip", "topic")
        .agg(*seen(), fn.expr("array_join(array_sort(collect_set(api_name)), ', ') as apis"))
        .where(f"n > {limit.STORM} and last_ns - first_ns >= {limit.TOPIC_MISSING_MS} * 1000000L")
    )
    sentence = (
        f"concat({wording.called()}, ' asked for topic ', topic, ' ', {wording.times('n')}, ' when the brokers did not "
        f"have it or the partition (', apis, '), in ', {wording.lasting('(last_ns - first_ns)')}, ' from ', "
        f"{wording.clock('first_ns')})"
    )
    return told(each, "warning", sentence, subject="topic", client="client_instance_id")


RULE = Rule(
    name="missing_topic",
    title="A client keeps asking for a topic that does not exist",
    severity="warning",
    meaning="Clients take an unknown topic for one that is about to exist: they ask for its metadata again and again, "
    "and a producer holds the records back until delivery.timeout.ms or max.block.ms is over.",
    looks_at=f"{', '.join(UNKNOWN)} about one topic to one client, more than {limit.STORM} times over "
    f"{limit.TOPIC_MISSING_MS // 1000} s or longer; a topic that is being created is not known for less.",
    advice="Create the topic, or correct its name in the client's settings; stop the clients of a topic before it is "
    "deleted. auto.create.topics.enable of the brokers makes topics of any name that is asked for.",
    sources=("org.apache.kafka.common.errors.UnknownTopicOrPartitionException", "KIP-516"),
    find=find,
    signs=(Sign(ERRORS, "error_name", frozenset(UNKNOWN)),),
)
