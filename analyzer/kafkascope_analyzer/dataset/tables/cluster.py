"""Facts in responses about the cluster, and DNS look-ups."""

from kafkascope_analyzer.dataset.contract import CLUSTER, Table, flag, i32, i64, text, texts, time
from kafkascope_analyzer.dataset.tables.columns import CAPTURE, CONN, COORDINATOR_TYPES, ENDPOINTS, PACKET, REQUEST

CLUSTERS = Table(
    "clusters",
    "cluster",
    (
        CLUSTER,
        text("cluster_id", "cluster id; null where no message on its connections names one"),
        text(
            "known_by",
            "what joins its addresses: their cluster id; messages that name them together; nothing, as they are those "
            "that no message names and whose clients do not talk to one cluster alone",
            "cluster_id",
            "addresses",
            "nothing",
        ),
        texts("servers", "addresses and ports of its servers, sorted"),
        i64("n_clients", "addresses of clients"),
        i64("n_connections", "connections"),
        *time("first", "first segment of a connection"),
        *time("last", "last segment of a connection"),
    ),
)

TOPOLOGY = Table(
    "topology",
    "fact learned about the cluster",
    (
        CLUSTER,
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
