"""`written_twice`: a producer sends records again that the broker had already written, and the broker cannot recognize
them."""

from kafkascope_analyzer.dataset.tables import ERRORS, PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.conditions import above
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted, listed

_WRITTEN_ERRORS = ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT")
_SAME = "client_ip, topic, partition, n_records, first_timestamp_ms, max_timestamp_ms, record_bytes"
# One finding per client and topic. Batches with the same number of records, bytes and create times are the same
# records. A broker that recognizes a batch responds with the offset that it has. The first response has no offset; its
# batch follows the last accepted one, so a second copy lies that many records further, if nobody else writes there.
_QUERY = f"""
with sent as (
    select b.request_id, b.conn_id, b.ts_ns, c.client_ip, b.topic, b.partition, b.n_records, b.first_timestamp_ms,
        b.max_timestamp_ms, b.record_bytes, a.error_name, if(a.error_code = 0, a.partition_offset, null) as base_offset,
        c.client_instance_id, c.client_id, c.software_name,
        size(collect_set(c.client_instance_id) over (partition by b.topic, b.partition)) as n_writers
    from batches b join owned_connections c on b.conn_id = c.conn_id
        join answers a on a.request_id = b.request_id and a.topic = b.topic and a.partition = b.partition
    where {NO_BROKER} and b.first_timestamp_ms is not null
), ordered as (
    select *, max(base_offset + n_records) over (
        partition by topic, partition order by ts_ns, request_id rows between unbounded preceding and 1 preceding
    ) as next_offset
    from sent
), appended as (
    select * from ordered where error_name in {literals(_WRITTEN_ERRORS)}
), again as (
    select f.*, s.request_id as again_id, s.ts_ns as again_ns, s.base_offset as again_offset,
        row_number() over (partition by f.request_id, f.topic, f.partition order by s.ts_ns, s.request_id) as place
    from appended f join sent s using ({_SAME})
    where s.ts_ns > f.ts_ns and s.base_offset is not null
)
select client_instance_id, client_id, client_ip, software_name, topic,
    array_sort(collect_set(error_name)) as errors,
    count(*) as n, sum(n_records) as n_records, min(ts_ns) as first_ns, max(again_ns) as last_ns,
    {first_ids("again_id", "again_ns")} as evidence, collect_set(conn_id) as conn_ids
from again
where place = 1 and n_writers = 1 and again_offset - next_offset >= n_records
group by client_instance_id, client_id, client_ip, software_name, topic"""


def _sentence(f: Facts) -> str:
    return (
        f"{counted(f.n_records, 'record')} of {f.topic} from {client(f.client_id, f.client_ip)} "
        f"{'is' if f.n_records == 1 else 'are'} in the log again: {counted(f.n, 'batch', 'batches')} got "
        f"{listed(f.errors)}, which says that the leader had written it, first at {f.begin(f.first_ns)}, and the "
        "producer sent the same records again, which brokers wrote at other offsets"
    )


_ADVICE = (
    "Make the producer idempotent (enable.idempotence=true of Java and librdkafka): brokers then recognize a batch "
    "that is sent again, as long as it has the epoch and the sequence of the first time. Where it is, update the "
    "library: after such an error, and after OUT_OF_ORDER_SEQUENCE_NUMBER for the batches behind, it must not begin a "
    "new epoch. Let consumers of the topic drop what they have seen. What led to it: too few in-sync replicas, "
    "followers that are slow, or a request timeout that is shorter than the answers take."
)


RULE = Rule(
    name="written_twice",
    title="Records are written twice",
    severity="error",
    meaning="NOT_ENOUGH_REPLICAS_AFTER_APPEND and REQUEST_TIMED_OUT do not say that nothing was written: the leader "
    "has the records, and only its followers were too few or too slow. A producer that sends them again with another "
    "epoch, another sequence or none has them written a second time.",
    looks_at="Produce requests with the same number of records, bytes and create times for one topic-partition from "
    f"one address: one that got {' or '.join(_WRITTEN_ERRORS)}, and a later one that was accepted behind the place "
    "that the first one has, where nobody else in the capture writes to the partition. A broker that recognizes the "
    "batch answers with the offset of the first. A writer that is not in the capture looks the same, and so does a "
    "program that writes equal records in the same millisecond.",
    advice=_ADVICE,
    sources=(
        "KIP-98",
        "KIP-360",
        "org.apache.kafka.common.errors.NotEnoughReplicasAfterAppendException",
        "org.apache.kafka.clients.producer.internals.TransactionManager",
    ),
    detectors=(
        Detector(
            reads={
                "appended_errors": Where(ERRORS, error_name=_WRITTEN_ERRORS, api_key=api_keys.PRODUCE),
                "batches": Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="request", n_records=above(0)),
                "answers": Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="response"),
            },
            query=_QUERY,
            subject=fact("topic"),
            sentence=_sentence,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | {"replication", "too_few_replicas"}, any_broker=True),
)
