"""Facts in responses about the cluster, and DNS look-ups."""

from kafkascope_analyzer.dataset.contract import CLUSTER, Table, flag, i32, i64, text, texts, time
from kafkascope_analyzer.dataset.tables.columns import CAPTURE, CONN, COORDINATOR_TYPES, ENDPOINTS, PACKET, REQUEST

CLUSTERS = Table(
    "clusters",
    "cluster",
    (
        CLUSTER,
        text("cluster_id", "cluster id; null where no message on its connections has one"),
        text(
            "known_by",
            "why its addresses belong together: they have its cluster id; messages name them together; "
            "nothing: no message names them, and their clients do not talk to only one cluster",
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
        *time("", "when the fact was seen"),
        text("kind", "kind of the fact", "broker", "leader", "coordinator", "controller", "cluster", "topic"),
        i32("node_id", "node id in the fact"),
        text("host", "advertised host"),
        i32("port", "advertised port"),
        text("rack", "rack"),
        text("topic", "topic"),
        text("topic_id", "topic id"),
        i32("partition", "partition"),
        i32("leader_epoch", "leader epoch; of a controller, its own"),
        text("coordinator_key", "group or transactional id"),
        text("coordinator_type", "what the coordinator is for", *COORDINATOR_TYPES),
        text("cluster_id", "cluster id"),
        flag("from_controller", "whether it is in a request of the controller to a broker, which is never out of date"),
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
        text("transport", "transport protocol", "udp", "tcp"),
        text("name", "requested name: lower case, without the trailing dot, unprintable bytes as \\DDD"),
        text("type", "requested record type, such as A or AAAA"),
        text("rcode", "response code, such as NOERROR or NXDOMAIN; null without an answer"),
        texts("addresses", "addresses in the answer, in its order"),
        texts("aliases", "names to which the name is an alias (CNAME), in the order of the answer"),
        i64("answer_ns", "the answer, nanoseconds since the epoch"),
        i64("latency_us", "from question to answer, microseconds"),
        CAPTURE,
        PACKET,
    ),
)
