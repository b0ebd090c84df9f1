"""`events`: what happened on each connection, in order, as far as a story needs it. The only input of the state
machines on Spark.

Ingest reduces each connection to its events: facts about it as a whole (section 0), and what happened at a moment
(section 1). A row belongs to one kind and has that kind's struct; the structs of the other kinds are null.
"""

from collections.abc import Mapping

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column, Table, i32, i64, required, text, time
from kafkascope_analyzer.dataset.tables.columns import CLUSTER, CONN
from kafkascope_analyzer.dataset.tables.connections import CONNECTIONS
from kafkascope_analyzer.dataset.tables.event_kind_docs import KIND_DOCS
from kafkascope_analyzer.dataset.tables.flow_events import FLOW_KINDS
from kafkascope_analyzer.dataset.tables.group_events import GROUP_KINDS
from kafkascope_analyzer.dataset.tables.requests import REQUESTS
from kafkascope_analyzer.dataset.tables.server_events import SERVER_KINDS
from kafkascope_analyzer.dataset.tables.service_events import SERVICE_KINDS
from kafkascope_analyzer.dataset.tables.transaction_events import TRANSACTION_KINDS

KEY_KINDS = ("client", "group", "transaction", "partition", "server", "flow")
WHOLE, MOMENT = 0, 1
"""Sections: facts about a connection as a whole come before what happened at a moment."""

_CONNECTION = (
    "client_port",
    "server_ip",
    "server_port",
    "node_id",
    "protocol",
    "first_ns",
    "last_ns",
    "syn_ns",
    "synack_ns",
    "close_kind",
    "close_ns",
    "idle_before_close_ms",
    "tls_version",
    "sasl_mechanism",
    "principal",
    "session_lifetime_ms",
    "software_name",
    "software_version",
    "n_requests",
    "n_responses",
    "n_errors",
    "server_bytes",
    "advertised_host",
    "advertised_port",
    "zookeeper_session",
    "zookeeper_timeout_ms",
    "zookeeper_closed",
)
USAGE_KEYS = (
    "client_id",
    "api_key",
    "api_name",
    "api_version",
    "group_id",
    "member_id",
    "group_instance_id",
    "transactional_id",
    "coordinator_type",
    "coordinator_key",
    "software_name",
    "software_version",
    "status",
)
"""Columns of `requests` that distinguish kinds of requests of a connection."""
USAGE_FIRST = (
    "node_id",
    "correlation_id",
    "ts_ns",
    "request_last_ns",
    "response_ns",
    "response_last_ns",
    "latency_us",
    "broker_us",
    "generation_or_epoch",
    "n_records",
)
"""Columns of `requests` that a row of `usage` has of the first request of its kind."""
_REQUEST = (
    "request_id",
    "node_id",
    "client_id",
    "api_key",
    "api_name",
    "api_version",
    "correlation_id",
    "ts_ns",
    "request_last_ns",
    "response_ns",
    "response_last_ns",
    "latency_us",
    "broker_us",
    "error_code",
    "error_name",
    "status",
    "group_id",
    "member_id",
    "group_instance_id",
    "generation_or_epoch",
    "transactional_id",
    "max_wait_ms",
    "coordinator_type",
    "coordinator_key",
    "sasl_mechanism",
    "n_records",
    "throttle_ms",
    "in_flight",
    "n_errors",
    "n_partitions",
)


def _of(table: Table, names: tuple[str, ...]) -> list[pa.Field]:
    """Fields of a struct that are columns of a table."""
    return [pa.field(name, table.column(name).type) for name in names]


CLIENT_KINDS: dict[str, pa.StructType] = {
    "connection": pa.struct(
        [*_of(CONNECTIONS, _CONNECTION), ("near_idle_ms", pa.int64()), ("refused_after", pa.int64())]
    ),
    "usage": pa.struct(
        [
            *_of(REQUESTS, USAGE_KEYS),
            ("is_replica", pa.bool_()),
            ("returned_records", pa.bool_()),
            ("failed", pa.bool_()),
            ("has_records", pa.bool_()),
            ("is_unacknowledged", pa.bool_()),
            ("n", pa.int64()),
            ("first_number", pa.int64()),
            ("last_ns", pa.int64()),
            ("last_answered_ns", pa.int64()),
            ("max_wait_ms", pa.int32()),
            ("last_correlation_id", pa.int32()),
            ("producer_id", pa.int64()),
            ("total_records", pa.int64()),
            ("total_record_bytes", pa.int64()),
            ("total_partitions", pa.int64()),
            ("n_new_fetch_sessions", pa.int64()),
            ("least_wait_ms", pa.int32()),
            ("least_min_bytes", pa.int32()),
            ("lowest_generation", pa.int32()),
            ("highest_generation", pa.int32()),
            *_of(REQUESTS, USAGE_FIRST),
        ]
    ),
    "samples": pa.struct(
        [
            ("times", pa.list_(pa.int64())),
            ("correlation_ids", pa.list_(pa.int32())),
            ("of_answers", pa.bool_()),
        ]
    ),
    "learned": pa.struct(
        [
            ("servers", pa.list_(pa.string())),
            ("producer_ids", pa.list_(pa.int64())),
            ("session_timeout_ms", pa.int32()),
            ("rebalance_timeout_ms", pa.int32()),
            ("heartbeat_interval_ms", pa.int32()),
        ]
    ),
    "loop": pa.struct(
        [
            ("cadence", pa.string()),
            ("n", pa.int64()),
            ("p50", pa.int64()),
            ("p99", pa.int64()),
            ("max", pa.int64()),
        ]
    ),
    "silence": pa.struct(
        [
            ("first_ns", pa.int64()),
            ("first_packet_no", pa.int64()),
            ("last_ns", pa.int64()),
            ("last_packet_no", pa.int64()),
            ("ended_by", pa.string()),
            ("last_sent_ns", pa.int64()),
            ("acknowledged", pa.bool_()),
            ("request_id", pa.string()),
            ("api_key", pa.int16()),
            ("generation_or_epoch", pa.int32()),
            ("failed", pa.bool_()),
            ("next_request_id", pa.string()),
        ]
    ),
    "lookup": pa.struct(
        [
            ("name", pa.string()),
            ("answer_ns", pa.int64()),
            ("rcode", pa.string()),
            ("addresses", pa.list_(pa.string())),
        ]
    ),
    "request": pa.struct(_of(REQUESTS, _REQUEST)),
    "error_run": pa.struct(
        [
            ("request_id", pa.string()),
            ("last_request_id", pa.string()),
            ("api_key", pa.int16()),
            ("error_name", pa.string()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("group_id", pa.string()),
            ("transactional_id", pa.string()),
            ("resource", pa.string()),
            ("n", pa.int64()),
            ("last_ns", pa.int64()),
            ("last_sent_ns", pa.int64()),
            ("waited_us", pa.int64()),
            ("leader_id", pa.int32()),
        ]
    ),
    "partition": pa.struct(
        [
            ("request_id", pa.string()),
            ("api_key", pa.int16()),
            ("answered", pa.bool_()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("leader_id", pa.int32()),
            ("hints", pa.bool_()),
            ("unanswered", pa.bool_()),
        ]
    ),
}
"""Kinds of events of a client's connections, each with its struct.

connection: the connection, with the shortest idle time among what the same server closed within half a second
(near_idle_ms) and the connections that it refused in the five seconds after (refused_after). usage: requests of one
kind on it; how often, the first of them, when the last was sent, the last byte of their responses (last_answered_ns);
has_records: with records in request or response;
is_unacknowledged: Produce with acks 0; n_new_fetch_sessions: how many asked for a new fetch session (epoch 0);
max_wait_ms and least_wait_ms, least_min_bytes: the largest and least values of Fetch; lowest_generation and
highest_generation: of the generations and member epochs above 0. samples: times and correlation ids of some requests
(of_answers: of responses whose requests the capture lacks). learned: what its messages say. loop: percentiles of the
time between rounds of a loop, in milliseconds (in_flight: requests). silence: the client sent no payload for unusually
long, although the server had responded to all its requests (first_*, last_*: its payload before, and what ended it;
last_sent_ns: its last packet of any kind; acknowledged: its kernel acknowledged what the server sent; request_id to
failed: the request before, and next_request_id the one after). lookup: a question to a name server; it has no
connection. request: one that decides a story by itself, or the first success on its connection after a failure of the
same call. error_run: an error code in the answers of one request (n is 1), or of n requests in a row that failed alike,
between the first and the last of them, which have rows of their own (request_id and last_request_id at its ends;
last_ns: first byte of the last answer; last_sent_ns: of the last request; waited_us: from the first byte of a request
to that of its answer, added up; leader_id: what all answers name, KIP-951); of more than one, `request` has the first
of them, and none of them has a row of kind request or partition. partition: a topic-partition that a request or answer
names without error after an error on it, the first of each message on each connection; hints: the answer has an error
that names the leader (KIP-951); unanswered: the request was never answered, as its connection ended.
"""

KINDS: Mapping[str, pa.StructType] = {
    **CLIENT_KINDS,
    **GROUP_KINDS,
    **TRANSACTION_KINDS,
    **SERVICE_KINDS,
    **SERVER_KINDS,
    **FLOW_KINDS,
}
RANKS: Mapping[str, int] = {kind: rank for rank, kind in enumerate(KINDS)}
"""Order of what has the same time: requests, then errors, then partitions, as the state machines need it."""

EVENT_KEYS: tuple[Column, ...] = (
    CLUSTER,
    *required(text("key_kind", "what the key is", *KEY_KINDS)),
    *required(
        text(
            "key",
            "address of the client or server, group, transactional id or topic-partition whose story it belongs to",
        )
    ),
    text("client_ip", "address of the client of the connection"),
    *required(Column("section", pa.int8(), "0 for a fact about the connection as a whole, 1 for a moment")),
    *required(*time("", "when it happened; of a whole connection, its first packet")),
    *required(Column("rank", pa.int8(), "order of what has the same time")),
    *required(i64("packet_no", "packet that shows it, 0 where there is none of its own")),
    *required(CONN),
    *required(i32("seq", "order of the connection's rows that have the same time, rank and packet")),
    *required(text("kind", "which of the structs the row has", *KINDS)),
)
EVENTS = Table(
    "events",
    "fact about a connection, or something that happened on it, that decides a story",
    (*EVENT_KEYS, *(Column(name, struct, KIND_DOCS[name]) for name, struct in KINDS.items())),
)
OF_ONE_CLUSTER = pa.schema([field for field in EVENTS.schema if field.name != CLUSTER.name])
"""The columns of rows of `events` that are all of one cluster."""
ORDER_IN_FILE = ("key_kind", "key", "section", "ts_ns", "rank", "packet_no", "conn_id", "seq")
"""The order of events in a file, which is of one cluster."""
EVENT_ORDER = (CLUSTER.name, *ORDER_IN_FILE)
"""The order in which the state machines read events."""
