"""`produce_without_offset`: a server accepts records and does not say at which offsets."""

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import below, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, node

_ACCEPTED = Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="response", error_code=0)
_BLANK = _ACCEPTED.and_where(partition_offset=below(0))
# One finding per client and server that returned no offset at all. A broker returns none for a batch of an idempotent
# producer that it has already and that is no longer among the last ones that it keeps: single ones prove nothing.
_QUERY = f"""
with accepted as (
    select p.request_id, p.ts_ns, p.topic, p.partition, p.partition_offset, p.conn_id
    from partitions p left semi join often using (conn_id, topic, partition)
    where {_ACCEPTED}
)
select o.client_instance_id, o.client_id, o.client_ip, o.server, max(o.node_id) as node_id, count(*) as n,
    min(a.ts_ns) as first_ns, max(a.ts_ns) as last_ns, {first_ids("a.request_id", "a.ts_ns")} as evidence,
    array_sort(collect_set(concat(a.topic, '-', a.partition))) as places, {sorted_set("a.conn_id")} as conn_ids
from accepted a join owned_connections o on o.conn_id = a.conn_id
where {NO_BROKER}
group by o.client_instance_id, o.client_id, o.client_ip, o.server
having max(coalesce(a.partition_offset, -1)) < 0"""


def _sentence(f: Facts) -> str:
    more = f" and {counted(len(f.places) - 1, 'more partition')}" if len(f.places) > 1 else ""
    batches = counted(f.n, "batch", "batches")
    return (
        f"{node(f.node_id, f.server)} accepted {batches} of {client(f.client_id, f.client_ip)} "
        f"for {f.places[0]}{more} from {f.begin(f.first_ns)} on without an error, and returned the offset -1 for each: "
        "the records are not lost, but the producer does not learn where they are"
    )


RULE = Rule(
    name="produce_without_offset",
    title="A server accepts records, and does not return their offsets",
    severity="warning",
    meaning="The response to Produce names the offset of the first record of each batch. A server that returns -1 "
    "without an error has written the records, but an application that stores offsets, or waits until a consumer has "
    "come that far, goes wrong with it.",
    looks_at=f"Responses to Produce without an error whose offset is below 0: {limit.ASKED_AGAIN} or more for one "
    "topic-partition, and no other of that server for the client.",
    advice="Nothing has to be changed in the producer. Look at what answers there: a gateway, a proxy, or a server "
    "that is not Apache Kafka; update it, or report it there. Until then do not use offsets that the producer returns.",
    sources=("org.apache.kafka.common.requests.ProduceResponse",),
    detectors=(
        Detector(
            reads={
                "without_offset": _BLANK,
                "often": Groups(_BLANK, per=("conn_id", "topic", "partition"), having=count() >= limit.ASKED_AGAIN),
            },
            query=_QUERY,
            subject=lambda f: str(f.places[0]),
            sentence=_sentence,
        ),
    ),
)
