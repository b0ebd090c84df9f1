"""`responses_out_of_order`: a server does not answer the requests of a connection in their order."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import SEEN
from kafkascope_spark.stories.findings.wording import counted, node

# One finding per server, with each late response and the last response before it to a later request.
_QUERY = f"""
with pairs as (
    select l.request_id, l.conn_id, l.ts_ns, l.server_ip, l.server_port, l.node_id, l.correlation_id,
        l.response_packet_no, l.capture_id, max_by(
            struct(o.correlation_id, o.response_packet_no), struct(o.response_ns, o.response_packet_no, o.request_id)
        ) as earlier
    from late l join requests o on o.conn_id = l.conn_id and o.request_id <> l.request_id
        and o.request_packet_no >= l.request_packet_no and o.response_packet_no <= l.response_packet_no
        and not o.out_of_order
    group by l.request_id, l.conn_id, l.ts_ns, l.server_ip, l.server_port, l.node_id, l.correlation_id,
        l.response_packet_no, l.capture_id
)
select concat(server_ip, ':', server_port) as server, max(node_id) as node_id, {SEEN},
    count(distinct conn_id) as n_connections, cast(null as string) as client_instance_id,
    min_by(
        struct(correlation_id, response_packet_no as packet_no, earlier.correlation_id as earlier_id,
            earlier.response_packet_no as earlier_packet_no),
        struct(ts_ns, request_id)
    ) as example
from pairs group by server_ip, server_port"""


def _sentence(f: Facts) -> str:
    example = f.example
    return (
        f"{node(f.node_id, f.server)} answered {counted(f.n, 'request')} on {counted(f.n_connections, 'connection')} "
        f"only after later requests of the same connection, first those sent at {f.begin(f.first_ns)}: packet "
        f"{example['earlier_packet_no']} answers correlation id {example['earlier_id']}, and packet "
        f"{example['packet_no']} after it correlation id {example['correlation_id']}, which was sent before"
    )


DETECTOR = Detector(
    reads={"late": Where(REQUESTS, out_of_order=True)},
    query=_QUERY,
    subject=fact("server"),
    sentence=_sentence,
)
RULE = Rule(
    name="responses_out_of_order",
    title="A server answers requests out of order",
    severity="warning",
    meaning="Kafka answers the requests of a connection in the order in which they were sent, and clients rely on it. "
    "What answers here breaks Kafka's protocol: a proxy or gateway that handles the requests of a connection at the "
    'same time, or a server that is not Apache Kafka. The Java client fails such a connection ("Correlation id for '
    'response does not match request"), and loses what was in flight on it.',
    looks_at="Responses whose correlation id is that of a request which an earlier response of the connection had "
    "passed over (requests.out_of_order), where no bytes of the server are missing in between.",
    advice="Look at the proxy or the server that this address belongs to: it has to send the responses of a connection "
    "in the order of its requests. Until then a client with one request in flight a connection "
    "(max.in.flight.requests.per.connection=1) avoids it.",
    sources=(
        "Kafka protocol guide, Network",
        "org.apache.kafka.common.requests.CorrelationIdMismatchException",
    ),
    detectors=(DETECTOR,),
)
