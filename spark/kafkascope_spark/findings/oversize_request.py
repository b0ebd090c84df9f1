"""`oversize_request`: a batch was larger than the topic or the broker takes."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import ERRORS, PARTITIONS
from kafkascope_spark import wire
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import client_errors, seen, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

TOO_LARGE = ("MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE")


def find(tables: Tables) -> DataFrame:
    """One finding per client and topic."""
    sent = tables[PARTITIONS].where(f"api_key = {wire.PRODUCE} and direction = 'request'")
    sizes = sent.select("request_id", "topic", "partition", "record_bytes", "n_records")
    each = (
        client_errors(tables, *TOO_LARGE)
        .join(sizes, on=["request_id", "topic", "partition"], how="left")
        .groupBy("client_instance_id", "client_id", "client_ip", "topic", "error_name")
        .agg(
            *seen(),
            fn.expr("min(record_bytes) as least_bytes"),
            fn.expr("max(record_bytes) as most_bytes"),
            fn.expr("max(n_records) as most_records"),
        )
    )
    size = (
        "case when most_bytes is null then '' when least_bytes = most_bytes then concat(' of ', most_bytes, ' bytes') "
        "else concat(' of ', least_bytes, ' to ', most_bytes, ' bytes') end"
    )
    sentence = (
        f"concat({wording.called()}, ' was refused ', {wording.counted('n', 'batch', 'batches')}, {size}, ' for ', "
        f"coalesce(topic, 'a topic'), ' (', error_name, '), first at ', {wording.clock('first_ns')})"
    )
    advice = (
        "concat('Raise max.message.bytes of topic ', coalesce(topic, '?'), ' (message.max.bytes of the brokers where "
        "the topic has none)', coalesce(concat(' above ', most_bytes, ' bytes'), ''), "
        "', or make the producer send less at once: batch.size, max.request.size', "
        "if(most_records > 1, '', '; one record alone is too large here'), '; compression.type makes batches smaller.')"
    )
    return told(each, "warning", sentence, subject="topic", client="client_instance_id", advice=advice)


RULE = Rule(
    name="oversize_request",
    title="A batch was larger than the topic takes",
    severity="warning",
    meaning="The broker refused a batch because it is larger than max.message.bytes of its topic. The Java producer "
    "splits a batch of several records and tries again; one record that is too large fails for good, as does any "
    "batch of other clients.",
    looks_at="MESSAGE_TOO_LARGE and RECORD_LIST_TOO_LARGE, with the size of the batches that the request had for the "
    "partition.",
    advice="Raise max.message.bytes of the topic (message.max.bytes of the brokers), or lower batch.size and "
    "max.request.size of the producer; compression.type makes batches smaller.",
    sources=("KIP-126", "org.apache.kafka.common.errors.RecordTooLargeException"),
    find=find,
    signs=(Sign(ERRORS, "error_name", frozenset(TOO_LARGE)),),
)
