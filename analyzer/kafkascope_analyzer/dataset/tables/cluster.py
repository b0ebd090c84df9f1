"""What responses say about the cluster and about host names."""

from kafkascope_analyzer.dataset.contract import Table, flag, i32, i64, text, texts, time
from kafkascope_analyzer.dataset.tables.columns import CAPTURE, CONN, COORDINATOR_TYPES, ENDPOINTS, PACKET, REQUEST

TOPOLOGY = Table(
    "topology",
    "fact learned about the cluster",
    (
        *time("", "when it was learned"),
        text("kind", "what it is", "broker", "leader", "coordinator", "controller", "cluster", "topic"),
        i32("node_id", "the node it names"),
        text("host", "advertised host"),
        i32("port", "advertised port"),
        text("rack", "rack"),
        text("topic", "topic"),
        text("topic_id", "topic id"),
        i32("partition", "partition"),
        i32("leader_epoch", "leader epoch; of a controller, its own"),
        text("coordinator_key", "group or transactional id"),
        text("coordinator_type", "what is coordinated", *COORDINATOR_TYPES),
        text("cluster_id", "cluster id"),
        flag("from_controller", "whether the controller said it in a request to a broker, which is never out of date"),
        REQUEST,
        CONN,
    ),
)

DNS = Table(
    "dns",
    "question to a name server, with its answer",
    (
        *time("", "the question (the answer, where the capture lacks the question)"),
        *ENDPOINTS,
        text("transport", "how it was carried", "udp", "tcp"),
        text("name", "name asked for: lower case, without the last dot, bytes that are not printable as \\DDD"),
        text("type", "type asked for, as in A or AAAA"),
        text("rcode", "the answer's code, as in NOERROR or NXDOMAIN; null where there is no answer"),
        texts("addresses", "addresses of the answer, in its order"),
        texts("aliases", "names that the answer says the name stands for (CNAME), in its order"),
        i64("answer_ns", "the answer, nanoseconds since the epoch"),
        i64("latency_us", "from question to answer, microseconds"),
        CAPTURE,
        PACKET,
    ),
)
