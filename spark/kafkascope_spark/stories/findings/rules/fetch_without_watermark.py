"""`fetch_without_watermark`: a server answers Fetch without an error, without records and without a high watermark."""

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import column, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration, node

_BLANK = Where(
    PARTITIONS,
    column("n_records") < 1,
    api_key=api_keys.FETCH,
    direction="response",
    error_code=0,
    high_watermark=None,
    preferred_read_replica=None,
)
# One finding per client and server, with the topic-partition of most such responses. A response with a preferred
# replica has no high watermark either: it is left out. `written`: batches that brokers accepted there meanwhile.
_QUERY = f"""
with blank as (
    select b.request_id, b.conn_id, b.ts_ns, b.topic, b.partition
    from without_watermark b left semi join often using (conn_id, topic, partition)
), each as (
    select o.client_instance_id, o.client_id, o.client_ip, o.server, max(o.node_id) as node_id, b.topic, b.partition,
        count(*) as n, min(b.ts_ns) as first_ns, max(b.ts_ns) as last_ns, {first_ids("b.request_id", "b.ts_ns")} as ids,
        collect_set(b.conn_id) as conn_ids
    from blank b join owned_connections o on o.conn_id = b.conn_id
    where {NO_BROKER}
    group by o.client_instance_id, o.client_id, o.client_ip, o.server, b.topic, b.partition
    having count(*) >= {limit.ASKED_AGAIN} and max(b.ts_ns) - min(b.ts_ns) >= {limit.SAME_OFFSET_MS}000000L
), written as (
    select e.client_instance_id, e.server, e.topic, e.partition, count(*) as n_written
    from each e join partitions p on p.topic = e.topic and p.partition = e.partition
        and p.ts_ns between e.first_ns and e.last_ns
    where p.api_key = {api_keys.PRODUCE} and p.direction = 'response' and p.error_code = 0
    group by e.client_instance_id, e.server, e.topic, e.partition
)
select client_instance_id, client_id, client_ip, server, max(node_id) as node_id, cast(sum(n) as bigint) as n,
    min(first_ns) as first_ns, max(last_ns) as last_ns, count(*) as n_partitions,
    cast(sum(coalesce(n_written, 0)) as bigint) as n_written,
    min_by(concat(topic, '-', partition), struct(-n, topic, partition)) as place,
    slice(array_sort(flatten(collect_list(ids))), 1, 100) as evidence,
    array_sort(array_distinct(flatten(collect_list(conn_ids)))) as conn_ids
from each left join written using (client_instance_id, server, topic, partition)
group by client_instance_id, client_id, client_ip, server"""


def _sentence(f: Facts) -> str:
    more = f" and {counted(f.n_partitions - 1, 'more partition')}" if f.n_partitions > 1 else ""
    written = (
        f", while brokers accepted {counted(f.n_written, 'batch', 'batches')} there, which the consumer did not get"
        if f.n_written
        else ""
    )
    return (
        f"{node(f.node_id, f.server)} answered {f.n} Fetch of {client(f.client_id, f.client_ip)} for {f.place}{more} "
        f"without an error, without records and with the high watermark -1, for {duration(f.last_ns - f.first_ns)} "
        f"from {f.begin(f.first_ns)} on{written}"
    )


RULE = Rule(
    name="fetch_without_watermark",
    title="A server answers Fetch without records, and does not know the end of the log",
    severity="error",
    meaning="The high watermark tells a consumer how far it may read. A server that answers -1 without an error says "
    "that it does not know: the consumer takes the log for read to its end, asks again, and gets nothing. No lag and "
    "no error code show that.",
    looks_at="Fetch responses without an error, without records and with a high watermark below 0: "
    f"{limit.ASKED_AGAIN} or more for one client and topic-partition, over {limit.SAME_OFFSET_MS // 1000} s or longer. "
    "Responses that name a preferred replica are left out, and so are brokers that fetch.",
    advice="The consumer is not the cause: it asks for the right offset, and gets no error to act on. Look at what "
    "answers there (a gateway, a proxy, or a server that is not Apache Kafka, which answers an error where it cannot "
    "read): its log says why it cannot read that topic-partition. Restart or update it, or report it there. The "
    "position of the consumer is not lost: no offset has to be set.",
    sources=("KIP-392", "org.apache.kafka.common.requests.FetchResponse"),
    detectors=(
        Detector(
            reads={
                "without_watermark": _BLANK,
                "often": Groups(_BLANK, per=("conn_id", "topic", "partition"), having=count() >= limit.ASKED_AGAIN),
            },
            query=_QUERY,
            subject=lambda f: str(f.place),
            sentence=_sentence,
        ),
    ),
)
