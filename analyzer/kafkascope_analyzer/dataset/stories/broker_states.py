"""`broker_states`: how each broker looked to each host that talked to it, as packets show it."""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column, Table, i32, i64, text, texts, time

STATES = ("serving", "slow", "lossy", "frozen", "down", "silent", "refusing", "unknown")
HOST_KINDS = ("client", "broker", "controller")
UNACKNOWLEDGED = ("host", "broker", "both")

BROKER_STATES = Table(
    "broker_states",
    "stretch of time in which a broker looked alike to one host",
    (
        i32("node_id", "node id of the broker; null where the capture does not show it"),
        text("server_ip", "address of the broker"),
        i32("server_port", "port of the broker"),
        text("host", "address of the host that talked to it"),
        text("host_kind", "what runs on that host", *HOST_KINDS),
        text(
            "state",
            "serving (it responds whenever it is asked), slow (at least ten times its usual latency and 500 ms), "
            "lossy (packets between the two were lost several times in a row, and arrived when they were sent again), "
            "frozen (its kernel acknowledges data and accepts connections, and no byte of the process comes), down "
            "(its connections ended together, or new ones are refused, and nobody is served), silent (nothing that the "
            "host waits for comes, no acknowledgment either; or the host acknowledges nothing of what the broker "
            "sends, though it talks to others), refusing (new connections of this host are refused, while others or "
            "older ones are served, or the broker works with other brokers), unknown (nobody waited for anything after "
            "a bad stretch)",
            *STATES,
        ),
        text(
            "unacknowledged",
            "of state silent, whose packets were captured and not acknowledged: host, broker (which acknowledged what "
            "the host sent meanwhile), both; null where the capture does not show that, and for other states",
            *UNACKNOWLEDGED,
        ),
        *time("from", "last packet of the state before; of down and refusing, the first FIN or RST"),
        *time("to", "first packet of the next state; null where none is seen before the end of the capture"),
        i64("n_waiting", "connections, and attempts to connect, that waited meanwhile"),
        Column("packets", pa.list_(pa.int64()), "packets that prove it, in order; at most 32"),
        texts("requests", "request ids that waited, in order of time; at most 32"),
    ),
)
