"""What the state machines are fed: connections, requests and partition facts of one client address, as small typed
objects. Times are integer nanoseconds since the epoch.
"""

from dataclasses import dataclass, field

CLOSED_BY_CLIENT = frozenset({"fin_client", "rst_client"})
"""How a connection ended that the client itself closed."""


@dataclass(frozen=True, slots=True)
class LoopStatistics:
    """A loop on a connection: number of gaps, percentiles and the longest, in ms (for in_flight: requests)."""

    conn_id: str | None
    cadence: str
    n: int
    p50: int
    p99: int
    longest: int


@dataclass(frozen=True, slots=True)
class Silence:
    """An unusually long time in which the client sent no payload on a connection although it had all responses.

    first_*: its payload before; last_*, ended_by: what ended the silence (None and `open` where nothing did);
    last_sent_ns: its last packet of any kind before that; acknowledged: its kernel acknowledged what the server sent;
    request_id, api_key, generation_or_epoch, failed: the last request before, None where it was not decoded;
    next_request_id: the first request after.
    """

    first_ns: int
    first_packet_no: int
    last_ns: int | None
    last_packet_no: int | None
    ended_by: str
    last_sent_ns: int
    acknowledged: bool
    request_id: str | None
    api_key: int | None
    generation_or_epoch: int | None
    failed: bool | None
    next_request_id: str | None
    conn_id: str = ""


@dataclass(slots=True)
class Connection:
    """A TCP connection, with what its requests show about its client."""

    conn_id: str
    client_port: int
    server: str
    """`address:port` of the server."""
    node_id: int | None
    protocol: str
    first_ns: int
    last_ns: int
    syn_ns: int | None
    up_ns: int | None
    close_kind: str
    close_ns: int | None
    idle_ms: int | None
    tls: bool
    sasl_mechanism: str | None
    principal: str | None
    software_name: str | None
    software_version: str | None
    n_requests: int
    n_errors: int
    near_idle_ms: int | None
    """Shortest idle time among what the same server closed within half a second of this one's end."""
    refused_after: int
    """Connections that the server refused within five seconds after."""
    advertised: str | None = None
    """`host:port` under which the server is advertised, where that is known."""
    client_id: str | None = None
    first_request_ns: int | None = None
    last_request_ns: int | None = None
    last_answered_ns: int | None = None
    """Last byte of its last response."""
    ids: list[tuple[int, int]] = field(default_factory=list)
    """(ts_ns, correlation id) of the first requests and of one a second after, in time order, without SASL's
    reserved ones; of the answers where no request was seen."""
    has_reserved_ids: bool = False
    """Whether it numbered its SASL requests from FIRST_RESERVED_CORRELATION_ID on: only the Java client does."""
    last_id: int | None = None
    """Highest correlation id, without SASL's reserved ones."""
    first_api: int | None = None
    """First API after API versions and SASL."""
    produce_span: tuple[int, int] | None = None
    fetch_span: tuple[int, int] | None = None
    """First and last request of Produce, and of Fetch."""
    n_responses: int = 0
    server_bytes: int = 0
    served: bool = False
    """Whether the server answered more than the handshake."""
    first_accepted_ns: int | None = None
    """When a broker first accepted records on it."""
    producer_ids: set[int] = field(default_factory=set)
    """Producer ids that it asked for, or wrote records with."""
    record_bytes: dict[int, int] = field(default_factory=dict)
    """API key -> bytes of the records that its requests moved."""
    apis: set[int] = field(default_factory=set)
    named_servers: set[str] = field(default_factory=set)
    """`host:port` of the brokers that Metadata named on it."""
    groups: dict[str, int] = field(default_factory=dict)
    """Group -> time of the first request that names it."""
    sought: dict[tuple[str, str], int] = field(default_factory=dict)
    """Type and key of the coordinators that it asked for -> time of the first request."""
    members: set[str] = field(default_factory=set)
    member_first_ns: int | None = None
    member_last_ns: int | None = None
    last_join_ns: int | None = None
    """Its last JoinGroup."""
    group_instances: set[str] = field(default_factory=set)
    transactional_ids: set[str] = field(default_factory=set)
    txn_v2: bool = False
    is_replica: bool = False
    versions: dict[int, int] = field(default_factory=dict)
    """API key -> version of its first request."""
    session_lifetime_ms: int | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    """Of JoinGroup."""
    heartbeat_interval_ms: int | None = None
    """Of the answers to ConsumerGroupHeartbeat and its like."""
    max_wait_ms: int | None = None
    """Longest wait that its Fetch requests allow."""
    cadences: list[LoopStatistics] = field(default_factory=list)
    silences: list[Silence] = field(default_factory=list)
    """In order of time."""

    @property
    def port(self) -> str:
        """Port of the server: a listener has the same one on all brokers."""
        return self.server.rpartition(":")[2]

    @property
    def opened_in_capture(self) -> bool:
        """Whether the capture shows how it was opened, from either side."""
        return self.syn_ns is not None or self.up_ns is not None

    @property
    def begin_ns(self) -> int:
        """First SYN, or first segment."""
        return self.syn_ns if self.syn_ns is not None else self.first_ns

    @property
    def failed_to_open(self) -> bool:
        """Refused, or its SYN unanswered."""
        return self.close_kind in ("refused", "unanswered")


@dataclass(slots=True)
class Request:
    """A request with its answer, if there is one."""

    request_id: str
    conn_id: str
    node_id: int | None
    api_key: int
    api_name: str
    api_version: int
    correlation_id: int
    ts_ns: int
    request_last_ns: int
    response_ns: int | None
    latency_us: int | None
    broker_us: int | None
    error_code: int
    error_name: str | None
    status: str
    group_id: str | None
    member_id: str | None
    group_instance_id: str | None
    generation_or_epoch: int | None
    transactional_id: str | None
    max_wait_ms: int | None
    coordinator_type: str | None
    coordinator_key: str | None
    sasl_mechanism: str | None
    n_records: int | None
    response_last_ns: int | None = None
    throttle_ms: int | None = None
    in_flight: int | None = None
    """Requests of the connection that waited for an answer when it was sent, itself included."""
    n_errors: int | None = None
    n_partitions: int | None = None

    @property
    def answered_ns(self) -> int | None:
        """Last byte of the answer (the first where the last is not known); None without an answer."""
        if self.response_ns is None or self.response_last_ns is None:
            return self.response_ns
        return max(self.response_ns, self.response_last_ns)

    @property
    def ok(self) -> bool:
        """Answered without an error, or needing no answer."""
        return not self.error_code and self.status in ("ok", "no_response_expected")

    @property
    def partly_ok(self) -> bool:
        """Answered, with errors for some of its topic-partitions and none for others."""
        return self.status == "ok" and 0 < (self.n_errors or 0) < (self.n_partitions or 0)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question to a name server, with its answer if there is one."""

    name: str
    ts_ns: int
    answer_ns: int | None
    rcode: str | None
    addresses: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether the answer names an address."""
        return self.answer_ns is not None and bool(self.addresses)


@dataclass(slots=True)
class ErrorRun:
    """A non-zero error code in the answers of n requests of a connection in a row; mostly of one."""

    request_id: str
    """The first of the requests."""
    api_key: int
    error_name: str
    topic: str | None = None
    partition: int | None = None
    group_id: str | None = None
    transactional_id: str | None = None
    resource: str | None = None
    n: int = 1
    conn_id: str = ""
    last_request_id: str = ""
    ts_ns: int = 0
    """First byte of the first answer."""
    last_ns: int = 0
    """First byte of the last answer."""
    last_sent_ns: int = 0
    """First byte of the last request."""
    waited_us: int | None = None
    """Time between each request and its answer, added up."""
    leader_id: int | None = None
    """Leader that all the answers name (KIP-951)."""
    request: Request | None = None
    """The first of the requests, where there are several; one by itself is an event of its own."""


@dataclass(slots=True)
class PartitionAccess:
    """A topic-partition that a request names, or that an answer names without an error."""

    request_id: str
    conn_id: str
    ts_ns: int
    api_key: int
    answered: bool
    topic: str
    partition: int | None
    leader_id: int | None = None
    """Leader that Metadata names, or the hint of an error (KIP-951)."""
    hints: bool = False
    """Whether it is such an error."""
    unanswered: bool = False
    """Whether it is of a request that was never answered, and whose connection ended."""
