"""`Connection`: a TCP connection with all that events show about it. Times are integer nanoseconds since the epoch."""

from dataclasses import dataclass, field
from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.connections import ClosedWindow, LoopStatistics, Silence

REST_NS = 1_000_000_000
"""Longest time from the first byte that a client's kernel sends for a connection that its process has closed, until it
resets the connection: it does so when the server responds."""


class TlsGivenUp(NamedTuple):
    """The side that gave up TLS (`client` or `server`), its alert and the reason: `connections.tls_failure`."""

    side: str
    alert: str
    reason: str

    @property
    def is_plain(self) -> bool:
        """Whether the handshake shows a more precise reason than the alert."""
        return self.reason != self.alert


@dataclass(slots=True)
class Connection:
    """A TCP connection, with the facts about its client that its requests show."""

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
    """Shortest idle time of the connections that the same server closed within half a second of this one's end."""
    refused_after: int
    """Number of connections that the server refused within five seconds after this one's end."""
    tls_ja4: str | None = None
    """JA4 fingerprint of the client's TLS hello."""
    names_server: bool | None = None
    """Whether the client's TLS hello has a server name (SNI); None if the capture has no whole hello."""
    tls_given_up: "TlsGivenUp | None" = None
    """The side that gave up TLS, and the reason."""
    n_claimed: int | None = None
    """Number of requests, if they are known only from the lengths of TLS records, so that their APIs are guessed."""
    claimed_job: str | None = None
    """What the client of an encrypted connection seems to do (CLAIMED_JOBS)."""
    claimed_first_bytes: int | None = None
    """Bytes of the first of these requests."""
    tls_claimed_library: str | None = None
    """TLS library of the client, guessed from its hello."""
    advertised: str | None = None
    """`host:port` under which the server is advertised, None if unknown."""
    client_id: str | None = None
    first_request_ns: int | None = None
    last_request_ns: int | None = None
    last_answered_ns: int | None = None
    """Time of the last byte of its last response."""
    ids: list[tuple[int, int]] = field(default_factory=list)
    """(ts_ns, correlation id) of the first requests, then of one per second, later one per minute, in order of time,
    without SASL's reserved ids; of the responses if no request was seen."""
    has_reserved_ids: bool = False
    """Whether its SASL requests have correlation ids from FIRST_RESERVED_CORRELATION_ID on, as only those of the Java
    client do."""
    last_id: int | None = None
    """Highest correlation id, without SASL's reserved ones."""
    first_api: int | None = None
    """First API after ApiVersions and SASL."""
    produce_span: tuple[int, int] | None = None
    fetch_span: tuple[int, int] | None = None
    """Times of the first and last Fetch; produce_span: the same of Produce."""
    n_responses: int = 0
    server_bytes: int = 0
    served: bool = False
    """Whether the server responded to more than the handshake."""
    first_accepted_ns: int | None = None
    """Time at which a broker first accepted records on it."""
    producer_ids: set[int] = field(default_factory=set)
    """Producer ids that it requested, or with which it wrote records."""
    record_bytes: dict[int, int] = field(default_factory=dict)
    """API key -> bytes of the records that its requests moved."""
    apis: set[int] = field(default_factory=set)
    named_servers: set[str] = field(default_factory=set)
    """`host:port` of the brokers in its Metadata responses."""
    groups: dict[str, int] = field(default_factory=dict)
    """Group -> time of the first request that names it."""
    sought: dict[tuple[str, str], int] = field(default_factory=dict)
    """Type and key of the coordinators that it looked up -> time of the first request."""
    members: set[str] = field(default_factory=set)
    member_first_ns: int | None = None
    member_last_ns: int | None = None
    last_join_ns: int | None = None
    """Time of its last JoinGroup."""
    group_instances: set[str] = field(default_factory=set)
    transactional_ids: set[str] = field(default_factory=set)
    txn_v2: bool = False
    is_replica: bool = False
    versions: dict[int, int] = field(default_factory=dict)
    """API key -> version of its first request."""
    session_lifetime_ms: int | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    """Rebalance timeout in JoinGroup."""
    heartbeat_interval_ms: int | None = None
    """Heartbeat interval in responses to ConsumerGroupHeartbeat and similar APIs."""
    max_wait_ms: int | None = None
    """Longest wait that its Fetch requests allow."""
    has_left: bool = False
    """Whether a request on it left a group."""
    cadences: list[LoopStatistics] = field(default_factory=list)
    silences: list[Silence] = field(default_factory=list)
    """Silences of the connection, in order of time."""
    closed_windows: list[ClosedWindow] = field(default_factory=list)
    """Times in which its client did not read, in order of time."""

    @property
    def is_encrypted(self) -> bool:
        """Whether it has encrypted requests whose APIs are guessed."""
        return bool(self.n_claimed)

    @property
    def ended_at_tls(self) -> bool:
        """Whether it is a TLS connection to a broker without a request: its handshake failed, or it was not used."""
        return self.n_claimed == 0

    @property
    def port(self) -> str:
        """Port of the server; a listener has the same port on all brokers."""
        return self.server.rpartition(":")[2]

    @property
    def opened_in_capture(self) -> bool:
        """Whether the capture has the SYN or the SYN-ACK of the connection."""
        return self.syn_ns is not None or self.up_ns is not None

    @property
    def begin_ns(self) -> int:
        """Time of the first SYN, else of the first segment."""
        return self.syn_ns if self.syn_ns is not None else self.first_ns

    @property
    def left_in_buffer(self) -> tuple[int, int] | None:
        """The last payload of the client's process, and the time from which its kernel sent what was left in the send
        buffer of a connection that the process had closed: after a silence, until the kernel reset the connection. The
        process had gone on elsewhere, and got none of the responses. None where the connection did not end so."""
        last = self.silences[-1] if self.silences else None
        if last is None or last.last_ns is None or last.ended_by != "data" or self.close_kind != "rst_client":
            return None
        is_at_end = self.close_ns is not None and self.close_ns - last.last_ns < REST_NS
        return (last.first_ns, last.last_ns) if is_at_end else None

    @property
    def failed_to_open(self) -> bool:
        """Whether it was refused or its SYN was not answered."""
        return self.close_kind in ("refused", "unanswered")
