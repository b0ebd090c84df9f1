"""The steps of a start: which request is which step, which phase a step belongs to, and which steps are attempts of the
same thing."""

from dataclasses import dataclass

from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_parsers import api_keys
from kafkascope_parsers.error_facts import INFORMING
from kafkascope_parsers.schema import api_name
from kafkascope_spark.stories.clients.identity.kinds import Kind
from kafkascope_spark.stories.clients.table import PRODUCING_KINDS, READING_KINDS
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.startups.table import BrokerWhy, Phase, StepOutcome

STEP_OF_API = {
    api_keys.API_VERSIONS: "api_versions",
    api_keys.SASL_HANDSHAKE: "sasl_handshake",
    api_keys.SASL_AUTHENTICATE: "sasl_authenticate",
    api_keys.METADATA: "metadata",
    api_keys.INIT_PRODUCER_ID: "init_producer_id",
    api_keys.JOIN_GROUP: "join_group",
    api_keys.SYNC_GROUP: "sync_group",
    api_keys.CONSUMER_GROUP_HEARTBEAT: "consumer_group_heartbeat",
    api_keys.SHARE_GROUP_HEARTBEAT: "share_group_heartbeat",
    api_keys.STREAMS_GROUP_HEARTBEAT: "streams_group_heartbeat",
    api_keys.OFFSET_FETCH: "offset_fetch",
    api_keys.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch",
    api_keys.LIST_OFFSETS: "list_offsets",
    api_keys.ADD_PARTITIONS_TO_TXN: "add_partitions_to_txn",
    api_keys.HEARTBEAT: "first_heartbeat",
    api_keys.OFFSET_COMMIT: "first_commit",
    api_keys.TXN_OFFSET_COMMIT: "first_commit",
}
_CLAIMED_STEPS = {
    api_keys.API_VERSIONS: "first_exchange",
    api_keys.FETCH: "first_fetch",
    api_keys.PRODUCE: "first_produce",
    api_keys.HEARTBEAT: "first_heartbeat",
}
"""Steps of clients whose requests are known only from the lengths of TLS records, by the guessed API: the first request
of a connection is usually ApiVersions."""
FIND_COORDINATOR_STEPS = {
    "group": "find_coordinator_group",
    "transaction": "find_coordinator_txn",
    "share": "find_coordinator_share",
}
PHASE_OF_STEP: dict[str, Phase] = {
    "init_producer_id": "transaction",
    "add_partitions_to_txn": "transaction",
    "join_group": "group",
    "sync_group": "group",
    "consumer_group_heartbeat": "group",
    "share_group_heartbeat": "group",
    "streams_group_heartbeat": "group",
    "offset_fetch": "group",
    "first_heartbeat": "group",
    "first_commit": "steady",
    "first_fetch": "steady",
    "first_records": "steady",
    "first_produce": "steady",
    "first_produce_ack": "steady",
    "admin_request": "steady",
    "metadata": "discovery",
    "dns": "discovery",
    "find_coordinator_group": "discovery",
    "find_coordinator_txn": "discovery",
    "find_coordinator_share": "discovery",
}
"""Phase of a step after the first Metadata response. Any other step is `direct`: it opens or uses a connection to a
broker that Metadata named."""
ONCE = frozenset({"first_heartbeat", "first_commit"})
"""Steps of which only the first belongs to the start."""
ONCE_A_CONNECTION = frozenset({"first_fetch", "first_records", "first_produce", "first_produce_ack"})
"""Steps of the data plane: the first one on each connection belongs to the start."""
SENDS = frozenset({"first_produce", "add_partitions_to_txn"})
"""Steps of a producer that has something to send."""
ASKS_OFFSETS = frozenset({"offset_fetch", "list_offsets", "offset_for_leader_epoch"})
"""Steps of a consumer that has a topic-partition to read: it asks from which offset on."""
OPENING = frozenset(
    {"tcp_connect", "tls_handshake", "first_exchange", "api_versions", "sasl_handshake", "sasl_authenticate"}
)
"""Steps that open a connection: a client takes them for every connection, and again after a failure."""
REPEATABLE = (
    OPENING
    | ONCE_A_CONNECTION
    | {"dns", "metadata", "list_offsets", "offset_for_leader_epoch", "add_partitions_to_txn", "admin_request"}
    | {"consumer_group_heartbeat", "share_group_heartbeat", "streams_group_heartbeat"}
)
"""Steps that a client takes once for each connection, broker, partition or heartbeat: taking one again is a new attempt
only after a failure."""
_OUTCOMES: dict[str, StepOutcome] = {"ok": "ok", "no_response_expected": "ok", "not_captured": "cut"}
"""The outcome of a step without an error, by the status of its request; of any other status: unanswered."""
_DONE = frozenset({"ok", "cut"})
"""Outcomes after which the client continues; a response that the capture lacks did reach the client."""
_INFORMING_STEPS = frozenset(
    (step, error) for key, step in STEP_OF_API.items() for api, error in INFORMING if api == api_name(key)
)
"""(step, error): the error response contains what the client needs, so that it continues at once."""
BROKER_WHY: dict[str, BrokerWhy] = {
    "join_group": "rebalance",
    "sync_group": "rebalance",
    "first_fetch": "long_poll",
    "first_records": "long_poll",
}
"""Why the broker takes time to respond, where it waits instead of working: JoinGroup waits
group.initial.rebalance.delay.ms or for the other members, SyncGroup for the leader's assignment, Fetch for records."""


@dataclass(slots=True)
class Step:
    """One step of a start: a connection attempt, a TLS handshake, a DNS look-up, or a request with its response."""

    name: str
    order_key: str
    conn_id: str
    node_id: int | None
    start_ns: int
    end_ns: int
    broker_us: int | None
    subject: str | None
    outcome: StepOutcome
    error_name: str | None
    request_ids: tuple[str, ...] = ()
    attempt: int = 1
    server: str | None = None
    """`address:port` of the server."""

    after_failure: bool = False
    """Whether the previous attempt failed."""

    @property
    def failed(self) -> bool:
        """Whether the client has to take the step again."""
        return self.outcome not in _DONE

    @property
    def is_informed(self) -> bool:
        """Whether its error response contains what the client needs."""
        return (self.name, self.error_name) in _INFORMING_STEPS

    @property
    def attempt_key(self) -> tuple[str, str]:
        """Key that attempts of the same step share: name, and server or subject."""
        scope = self.server if self.name in OPENING or self.name in ONCE_A_CONNECTION else self.subject
        return self.name, scope or self.server or self.conn_id

    @classmethod
    def of(cls, name: str, request: Request, server: str | None = None) -> "Step":
        """The step with that name made from a request. It ends with the last byte of the response."""
        end = request.answered_ns
        error = request.error_name if request.error_code and not serves(request) else None
        outcome: StepOutcome = "error" if error else _OUTCOMES.get(request.status, "unanswered")
        return cls(
            name=name,
            order_key=request.request_id,
            conn_id=request.conn_id,
            node_id=request.node_id,
            start_ns=request.ts_ns,
            end_ns=max(end if end is not None else request.request_last_ns, request.ts_ns),
            broker_us=request.broker_us,
            subject=request.coordinator_key or request.group_id or request.transactional_id or request.sasl_mechanism,
            outcome=outcome,
            error_name=error,
            request_ids=(request.request_id,),
            server=server,
        )


def tcp_connect(connection: Connection) -> Step:
    """The step that opens the connection: from its first SYN to the SYN-ACK, the refusal or the last SYN."""
    assert connection.syn_ns is not None
    up = connection.up_ns
    refused = connection.close_kind == "refused"
    end = up if up is not None else connection.close_ns if connection.close_ns is not None else connection.last_ns
    answered = up is not None and not refused
    return Step(
        name="tcp_connect",
        order_key=connection.conn_id,
        conn_id=connection.conn_id,
        node_id=connection.node_id,
        start_ns=connection.syn_ns,
        end_ns=max(end, connection.syn_ns),
        broker_us=None,
        subject=connection.server,
        outcome="ok" if answered else "error" if refused else "unanswered",
        error_name=None if answered else "CONNECTION_REFUSED" if refused else "CONNECTION_UNANSWERED",
        server=connection.server,
    )


def tls_handshake(connection: Connection) -> Step | None:
    """The TLS handshake of the connection, or None where there was none or the capture does not show it.

    It lasts from the SYN-ACK to the first request.
    """
    begin, end = connection.up_ns, connection.first_request_ns
    if not connection.tls or begin is None:
        return None
    done = end is not None and end >= begin
    return Step(
        name="tls_handshake",
        order_key=f"{connection.conn_id}-",
        conn_id=connection.conn_id,
        node_id=connection.node_id,
        start_ns=begin,
        end_ns=end if end is not None and done else max(connection.close_ns or connection.last_ns, begin),
        broker_us=None,
        subject=connection.server,
        outcome="ok" if done else "error" if connection.close_ns is not None else "unanswered",
        error_name=None if done else "TLS_HANDSHAKE_FAILED" if connection.close_ns is not None else None,
        server=connection.server,
    )


def produce_steps(request: Request, server: str | None) -> list[Step]:
    """The steps of a Produce: the request, and separately the broker's acknowledgement."""
    step = Step.of("first_produce", request, server)
    if not serves(request):
        return [step]
    step.broker_us = None
    ack = Step.of("first_produce_ack", request, server)
    step.end_ns = ack.start_ns = min(request.request_last_ns, ack.end_ns)
    ack.order_key += "+"
    return [step, ack] if request.response_ns is not None else [step]


def step_of(request: Request, kind: Kind) -> str | None:
    """The name of the step that the request is for a client of that kind; None for a request that is no step of a start
    (telemetry, LeaveGroup)."""
    key = request.api_key
    if kind.claimed:
        return _CLAIMED_STEPS.get(key)
    if key == api_keys.FIND_COORDINATOR:
        return FIND_COORDINATOR_STEPS.get(request.coordinator_type or "group", "find_coordinator_group")
    if key in _READS:
        return "first_records" if (request.n_records or 0) > 0 and serves(request) else "first_fetch"
    if key == api_keys.PRODUCE:
        return "first_produce"
    if key in STEP_OF_API:
        return STEP_OF_API[key]
    if kind.kind in ("admin", "broker", "unknown"):
        return None if key in api_keys.TELEMETRY_APIS else "admin_request"
    return None


_NOT_READY_APIS = api_keys.HANDSHAKE_APIS | api_keys.TELEMETRY_APIS
"""APIs whose responses make no client ready."""
_READS = (api_keys.FETCH, api_keys.SHARE_FETCH)


def is_reader(kind: Kind) -> bool:
    """Whether a client of that kind is ready with its first records."""
    return kind.kind in READING_KINDS


def is_producer(kind: Kind) -> bool:
    """Whether a client of that kind is ready with its first acknowledgement."""
    return kind.kind in PRODUCING_KINDS


def serves(request: Request) -> bool:
    """Whether the response serves the client for at least one topic-partition: it acknowledges or returns records, or
    it has no error."""
    if request.api_key in _READS and not request.n_records:
        return request.ok
    return request.ok or (request.partly_ok and request.api_key in (*_READS, api_keys.PRODUCE))


def makes_ready(request: Request, kind: Kind) -> bool:
    """Whether the response to the request makes a client of that kind ready.

    A consumer is ready with its first records, a producer with its first acknowledgement (of one topic-partition, if
    others failed), an admin client with its first response. Where only lengths are known, a consumer is ready with its
    first response to what seems to be a Fetch, a long poll, whether or not it has records.
    """
    if kind.claimed:
        return request.ok and request.api_key == (api_keys.FETCH if is_reader(kind) else api_keys.PRODUCE)
    if is_producer(kind):
        return request.api_key == api_keys.PRODUCE and serves(request)
    if is_reader(kind):
        return request.api_key in _READS and (request.n_records or 0) > 0 and serves(request)
    return kind.kind != "unknown" and request.api_key not in _NOT_READY_APIS and request.ok


def awaited_after_ready(kind: Kind) -> frozenset[str]:
    """Steps that belong to the start of a client of that kind although they come after it is ready."""
    if kind.claimed or not is_reader(kind) or kind.group_protocol in ("none", "share"):
        return frozenset()
    return ONCE if kind.group_protocol == "classic" else frozenset({"first_commit"})
