"""`oversize_request`: a batch was larger than the topic or the broker accepts."""

import shlex

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import SEEN
from kafkascope_spark.stories.findings.wording import SECURED, client, counted
from kafkascope_spark.stories.settings import setting, settings

TOO_LARGE = ("MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE")
# One finding per client, topic and error.
_QUERY = f"""
select client_instance_id, client_id, client_ip, topic, error_name, {SEEN}, min(record_bytes) as least_bytes,
    max(record_bytes) as most_bytes, max(n_records) as most_records
from (select request_id, conn_id, ts_ns, client_id, client_ip, topic, partition, error_name from refusals)
left join (select conn_id, client_instance_id, kind from connection_clients) using (conn_id)
left join (
    select request_id, topic, partition, record_bytes, n_records from partitions
    where api_key = {api_keys.PRODUCE} and direction = 'request'
) using (request_id, topic, partition)
where {NO_BROKER}
group by client_instance_id, client_id, client_ip, topic, error_name"""


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} was refused {counted(f.n, 'batch', 'batches')}{_size(f)} for "
        f"{f.topic or 'a topic'} ({f.error_name}), first at {f.begin(f.first_ns)}"
    )


def _size(f: Facts) -> str:
    if f.most_bytes is None:
        return ""
    least = "" if f.least_bytes == f.most_bytes else f"{f.least_bytes} to "
    return f" of {least}{f.most_bytes} bytes"


def _advice(f: Facts) -> str:
    above = "" if f.most_bytes is None else f" above {f.most_bytes} bytes"
    alone = "" if (f.most_records or 0) > 1 else "; one record alone is too large here"
    less = settings(("batch_size", "request_size"), f.libraries, defaults=True)
    smaller = f" ({less})" if less else ""
    return (
        f"{_more_room(f, above)}; or make the producer send less at once{smaller}{alone}; "
        f"{setting('compression', f.libraries)} makes batches smaller."
    )


def _more_room(f: Facts, above: str) -> str:
    topic = f.topic or "?"
    if f.error_name == "RECORD_LIST_TOO_LARGE":
        return (
            f"Raise segment.bytes of topic {topic} (log.segment.bytes of the brokers where the topic has none){above}"
            f"{_command(f, 'segment.bytes')}; max.message.bytes allows the batch already"
        )
    return (
        f"Raise max.message.bytes of topic {topic} (message.max.bytes of the brokers where the topic has none){above}"
        f"{_command(f, 'max.message.bytes')}"
    )


def _command(f: Facts, name: str) -> str:
    if f.topic is None or f.most_bytes is None:
        return ""
    bytes_needed = -(-f.most_bytes // 1024) * 1024 + BATCH_HEADER
    return (
        ": kafka-configs.sh --bootstrap-server BROKER:9092 --alter --entity-type topics --entity-name "
        f"{shlex.quote(f.topic)} --add-config {name}={bytes_needed} ({SECURED})"
    )


BATCH_HEADER = 61
"""Bytes of a record batch without its records."""


DETECTOR = Detector(
    reads={"refusals": Where(ERRORS, error_name=TOO_LARGE)},
    query=_QUERY,
    subject=fact("topic"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="oversize_request",
    title="A batch was larger than the topic accepts",
    severity="warning",
    meaning="The broker refused a batch because it is larger than max.message.bytes of its topic. The Java producer "
    "splits a batch of several records and tries again; one record that is too large fails for good, as does any "
    "batch of other clients. RECORD_LIST_TOO_LARGE means that it is larger than the segments of the log: "
    "max.message.bytes is above segment.bytes then.",
    looks_at="MESSAGE_TOO_LARGE and RECORD_LIST_TOO_LARGE, with the size of the batches that the request had for the "
    "partition.",
    advice="Raise max.message.bytes of the topic (message.max.bytes of the brokers), or segment.bytes at "
    "RECORD_LIST_TOO_LARGE, or lower "
    f"{settings(('batch_size', 'request_size'))} of the producer; {setting('compression')} makes batches smaller.",
    sources=("KIP-126", "org.apache.kafka.common.errors.RecordTooLargeException"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"records_refused"})),
)
