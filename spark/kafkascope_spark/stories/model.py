"""`Connection`: what events say about a TCP connection. Times are integer nanoseconds since the epoch."""

from dataclasses import dataclass, field
from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.connections import ClosedWindow, LoopStatistics, Silence

CLOSED_BY_CLIENT = frozenset({"fin_client", "rst_client"})
"""How a connection ended that the client itself closed."""


class TlsGivenUp(NamedTuple):
    """Which side gave TLS up, `client` or `server`, with which alert, and why: `connections.tls_failure`."""

    side: str
    alert: str
    reason: str

    @property
    def is_plain(self) -> bool:
        """Whether the handshake shows more than the alert says."""
        return self.reason != self.alert


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
    tls_ja4: str | None = None
    """The fingerprint of the client's TLS hello."""
    tls_given_up: "TlsGivenUp | None" = None
    """Which side gave TLS up, and why."""
    n_claimed: int | None = None
    """Requests, where they are known by the lengths of TLS records alone: what they ask for is claimed."""
    claimed_job: str | None = None
    claimed_first_bytes: int | None = None
    """Bytes of the first of these requests."""
    tls_claimed_library: str | None = None
    """TLS library that its hello looks like."""
    """What it seems to do then (CLAIMED_JOBS)."""
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
    """As JoinGroup says it."""
    heartbeat_interval_ms: int | None = None
    """As responses to ConsumerGroupHeartbeat and its like say it."""
    max_wait_ms: int | None = None
    """Longest wait that its Fetch requests allow."""
    has_left: bool = False
    """Whether a request left a group on it."""
    cadences: list[LoopStatistics] = field(default_factory=list)
    silences: list[Silence] = field(default_factory=list)
    """In order of time."""
    closed_windows: list[ClosedWindow] = field(default_factory=list)
    """When its client did not read, in order of time."""

    @property
    def is_encrypted(self) -> bool:
        """Whether it has requests of which what they ask for is claimed."""
        return bool(self.n_claimed)

    @property
    def ended_at_tls(self) -> bool:
        """Whether it is a TLS connection to a broker without any request: its handshake failed, or it was not used."""
        return self.n_claimed == 0

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
