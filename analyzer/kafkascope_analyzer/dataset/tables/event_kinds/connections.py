"""Events about a client's connections as a whole: each connection, its usage, facts learned from its messages; and the
names that the client looked up."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I32
from kafkascope_analyzer.dataset.tables.cluster import DNS
from kafkascope_analyzer.dataset.tables.connections import CONNECTIONS
from kafkascope_analyzer.dataset.tables.event_kinds.event import WHOLE, ClientEvent, event_kind
from kafkascope_analyzer.dataset.tables.requests import REQUESTS


@event_kind(
    "connection",
    "the connection: its endpoints, how it began and ended, and the client's own statements about itself",
    key_kind="client",
    section=WHOLE,
)
@dataclass(slots=True)
class ConnectionEvent(ClientEvent):
    """The connection itself."""

    client_port: Annotated[int, CONNECTIONS]
    server_ip: Annotated[str, CONNECTIONS]
    server_port: Annotated[int, CONNECTIONS]
    node_id: Annotated[int | None, CONNECTIONS]
    protocol: Annotated[str | None, CONNECTIONS]
    first_ns: Annotated[int | None, CONNECTIONS]
    last_ns: Annotated[int | None, CONNECTIONS]
    syn_ns: Annotated[int | None, CONNECTIONS]
    synack_ns: Annotated[int | None, CONNECTIONS]
    close_kind: Annotated[str | None, CONNECTIONS]
    close_ns: Annotated[int | None, CONNECTIONS]
    idle_before_close_ms: Annotated[int | None, CONNECTIONS]
    tls_version: Annotated[str | None, CONNECTIONS]
    tls_ja4: Annotated[str | None, CONNECTIONS]
    tls_sni: Annotated[str | None, CONNECTIONS]
    tls_claimed_library: Annotated[str | None, CONNECTIONS]
    tls_client_alert: Annotated[str | None, CONNECTIONS]
    tls_server_alert: Annotated[str | None, CONNECTIONS]
    tls_failure: Annotated[str | None, CONNECTIONS]
    claimed_requests: Annotated[int | None, CONNECTIONS]
    claimed_job: Annotated[str | None, CONNECTIONS]
    claimed_first_bytes: Annotated[int | None, CONNECTIONS]
    sasl_mechanism: Annotated[str | None, CONNECTIONS]
    principal: Annotated[str | None, CONNECTIONS]
    session_lifetime_ms: Annotated[int | None, CONNECTIONS]
    software_name: Annotated[str | None, CONNECTIONS]
    software_version: Annotated[str | None, CONNECTIONS]
    n_requests: Annotated[int | None, CONNECTIONS]
    n_responses: Annotated[int | None, CONNECTIONS]
    n_errors: Annotated[int | None, CONNECTIONS]
    server_bytes: Annotated[int | None, CONNECTIONS]
    advertised_host: Annotated[str | None, CONNECTIONS]
    advertised_port: Annotated[int | None, CONNECTIONS]
    zookeeper_session: Annotated[str | None, CONNECTIONS]
    zookeeper_timeout_ms: Annotated[int | None, CONNECTIONS]
    zookeeper_closed: Annotated[bool | None, CONNECTIONS]
    near_idle_ms: Annotated[
        int | None, "shortest idle time among the connections that the same server closed within half a second"
    ]
    refused_after: Annotated[int | None, "connections that the server refused in the five seconds after"]


@event_kind("usage", "totals over the requests of one kind on the connection", key_kind="client", section=WHOLE)
@dataclass(slots=True)
class Usage(ClientEvent):
    """Totals of requests of one kind on a connection. The columns that distinguish the kinds come first, then the sums,
    then values of the first request of the kind."""

    client_id: Annotated[str | None, REQUESTS]
    api_key: Annotated[int, REQUESTS]
    api_name: Annotated[str, REQUESTS]
    api_version: Annotated[int | None, REQUESTS]
    group_id: Annotated[str | None, REQUESTS]
    member_id: Annotated[str | None, REQUESTS]
    group_instance_id: Annotated[str | None, REQUESTS]
    transactional_id: Annotated[str | None, REQUESTS]
    coordinator_type: Annotated[str | None, REQUESTS]
    coordinator_key: Annotated[str | None, REQUESTS]
    software_name: Annotated[str | None, REQUESTS]
    software_version: Annotated[str | None, REQUESTS]
    status: Annotated[str, REQUESTS]
    is_replica: Annotated[bool, "whether a broker sent them for replication"]
    returned_records: Annotated[bool, "whether the responses contained records"]
    failed: Annotated[bool, "whether they failed"]
    has_records: Annotated[bool, "whether requests or responses had records"]
    is_unacknowledged: Annotated[bool, "Produce with acks 0"]
    n: Annotated[int, "how many"]
    first_number: Annotated[int, "number of the first request on the connection"]
    last_ns: Annotated[int, "first byte of the last request"]
    last_answered_ns: Annotated[int | None, "last byte of the last response"]
    max_wait_ms: Annotated[int | None, REQUESTS, "longest wait that a Fetch allowed"]
    last_correlation_id: Annotated[int | None, I32, "highest correlation id, without those reserved for SASL"]
    producer_id: Annotated[int | None, REQUESTS, "one of their producer ids"]
    total_records: Annotated[int, "records in requests and responses"]
    total_record_bytes: Annotated[int, "bytes of these record batches"]
    total_partitions: Annotated[int, "topic-partitions in them"]
    n_new_fetch_sessions: Annotated[int, "number of requests for a new fetch session (epoch 0)"]
    n_leaves: Annotated[
        int, "number of requests that left a group: LeaveGroup, or a group heartbeat with an epoch below 0"
    ]
    least_wait_ms: Annotated[int | None, I32, "shortest wait that a Fetch allowed"]
    least_min_bytes: Annotated[int | None, I32, "smallest min_bytes of a Fetch"]
    lowest_generation: Annotated[int | None, I32, "lowest generation or member epoch above 0"]
    highest_generation: Annotated[int | None, I32, "highest generation or member epoch above 0"]
    node_id: Annotated[int | None, REQUESTS]
    correlation_id: Annotated[int | None, REQUESTS, "correlation id of the first request"]
    ts_ns: Annotated[int, REQUESTS, "first byte of the first request"]
    request_last_ns: Annotated[int | None, REQUESTS, "last byte of the first request"]
    response_ns: Annotated[int | None, REQUESTS, "first byte of the response to the first request"]
    response_last_ns: Annotated[int | None, REQUESTS, "last byte of the response to the first request"]
    latency_us: Annotated[int | None, REQUESTS, "latency_us of the first request, as in `requests`"]
    broker_us: Annotated[int | None, REQUESTS, "broker_us of the first request, as in `requests`"]
    generation_or_epoch: Annotated[int | None, REQUESTS, "generation or member epoch of the first request"]
    n_records: Annotated[int | None, REQUESTS, "records in the first request or its response"]


@event_kind("samples", "times and correlation ids of some requests of the connection", key_kind="client", section=WHOLE)
@dataclass(slots=True)
class Samples(ClientEvent):
    """Times and correlation ids of some requests."""

    times: Annotated[tuple[int, ...], "times at which the requests were sent"]
    correlation_ids: Annotated[tuple[int, ...], I32, "correlation ids of the requests"]
    of_answers: Annotated[bool, "whether they come from responses whose requests the capture lacks"]


@event_kind(
    "learned",
    "what the connection's messages say about brokers, producer ids and group timeouts",
    key_kind="client",
    section=WHOLE,
)
@dataclass(slots=True)
class Learned(ClientEvent):
    """Facts in the messages of the connection."""

    servers: Annotated[tuple[str, ...] | None, "brokers in Metadata responses, as host:port"]
    producer_ids: Annotated[
        tuple[int, ...] | None, "producer ids that the client requested, or with which it wrote records"
    ]
    session_timeout_ms: Annotated[int | None, I32, "session timeout of JoinGroup"]
    rebalance_timeout_ms: Annotated[int | None, I32, "rebalance timeout of JoinGroup"]
    heartbeat_interval_ms: Annotated[int | None, I32, "interval that responses to heartbeats with an epoch set"]


@event_kind(
    "loop",
    "percentiles of the time between rounds of a loop on the connection, in milliseconds; for "
    "in_flight: of the number of requests",
    key_kind="client",
    section=WHOLE,
)
@dataclass(slots=True)
class LoopStatistics(ClientEvent):
    """Intervals of a loop on a connection, in ms (for in_flight: number of requests)."""

    cadence: Annotated[str, "name of the loop: heartbeat, fetch, commit, poll_gap or in_flight"]
    n: Annotated[int, "number of times between rounds"]
    p50: Annotated[int, "median"]
    p99: Annotated[int, "99th percentile"]
    max: Annotated[int, "longest"]


@event_kind(
    "silence",
    "an unusually long time in which the client sent no payload on the connection, although the server had responded "
    "to all its requests: a heartbeat of the client or of another one at its address was overdue, or the client is "
    "busy nearly all the time, and was quiet on all its connections",
    key_kind="client",
    section=WHOLE,
)
@dataclass(slots=True)
class Silence(ClientEvent):
    """An unusually long time in which the client sent no payload on a connection although it had all responses."""

    first_ns: Annotated[int, "last payload of the client before"]
    first_packet_no: Annotated[int, "packet at that time"]
    answered_ns: Annotated[int, "first payload of the server after which it waited for payload of the client"]
    last_ns: Annotated[int | None, "time of the packet that ended the silence; null where none did"]
    last_packet_no: Annotated[int | None, "packet at that time"]
    ended_by: Annotated[str, "kind of the packet that ended it; `open` where none did"]
    last_sent_ns: Annotated[int, "last packet of the client of any kind before the end"]
    acknowledged: Annotated[bool, "whether the client's kernel acknowledged the server's packets"]
    request_id: Annotated[str | None, "id of the last request before; null where it was not decoded"]
    api_key: Annotated[int | None, REQUESTS, "API of that request"]
    generation_or_epoch: Annotated[int | None, REQUESTS, "generation or member epoch of that request"]
    failed: Annotated[bool | None, "whether that request failed, or a quota throttled the client"]
    next_request_id: Annotated[str | None, "id of the first request after"]
    n_sent_before: Annotated[
        int, "records that the client produced on the connection before the silence, in a time of the same length"
    ]
    n_sent_after: Annotated[
        int, "records that it produced on the connection after the silence, in a quarter of that time"
    ]
    n_made_meanwhile: Annotated[
        int | None,
        "records that it produced on the connection and created in the silence, on the capture's clock, "
        "by the middle of each batch; null where the times in its batches are not create times",
    ]


@event_kind(
    "closed_window",
    "a second or longer in which the client did not read what the server sent on the connection: its receive window "
    "was closed",
    key_kind="client",
    section=WHOLE,
)
@dataclass(slots=True)
class ClosedWindow(ClientEvent):
    """A time in which the client did not read what the server sent on a connection."""

    sent_ns: Annotated[int | None, "last payload of that side before; null where none is known"]
    first_ns: Annotated[int, "the segment that closed the window"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    shown_ns: Annotated[int, "its last known segment with the closed window"]
    last_ns: Annotated[int | None, "the segment that opened it again; null where none did"]
    last_packet_no: Annotated[int | None, "packet at that time"]


@event_kind("lookup", "a DNS question and its answer; it belongs to no connection", key_kind="client", section=WHOLE)
@dataclass(slots=True)
class Lookup(ClientEvent):
    """A question to a name server, with its answer if there is one."""

    server_ip: Annotated[str, DNS]
    name: Annotated[str, DNS]
    answer_ns: Annotated[int | None, DNS]
    rcode: Annotated[str | None, DNS]
    addresses: Annotated[tuple[str, ...], DNS]

    @property
    def found(self) -> bool:
        """Whether the answer names an address."""
        return self.answer_ns is not None and bool(self.addresses)
