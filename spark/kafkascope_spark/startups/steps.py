"""Steps of a start, as data: which API is which step, in which phase it is, and what each kind of client is expected
to do."""

from kafkascope_spark import wire
from kafkascope_spark.identity.kinds import Kind
from kafkascope_spark.wire import Request

STEP_OF_API = {
    wire.API_VERSIONS: "api_versions",
    wire.SASL_HANDSHAKE: "sasl_handshake",
    wire.SASL_AUTHENTICATE: "sasl_authenticate",
    wire.METADATA: "metadata",
    wire.INIT_PRODUCER_ID: "init_producer_id",
    wire.JOIN_GROUP: "join_group",
    wire.SYNC_GROUP: "sync_group",
    wire.CONSUMER_GROUP_HEARTBEAT: "consumer_group_heartbeat",
    wire.SHARE_GROUP_HEARTBEAT: "share_group_heartbeat",
    wire.STREAMS_GROUP_HEARTBEAT: "streams_group_heartbeat",
    wire.OFFSET_FETCH: "offset_fetch",
    wire.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch",
    wire.LIST_OFFSETS: "list_offsets",
    wire.ADD_PARTITIONS_TO_TXN: "add_partitions_to_txn",
    wire.HEARTBEAT: "first_heartbeat",
    wire.OFFSET_COMMIT: "first_commit",
}
FIND_COORDINATOR_STEPS = {
    "group": "find_coordinator_group",
    "transaction": "find_coordinator_txn",
    "share": "find_coordinator_share",
}
PHASE_OF_STEP = {
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
    "find_coordinator_group": "discovery",
    "find_coordinator_txn": "discovery",
    "find_coordinator_share": "discovery",
}
"""Phase of a step once the first Metadata answer is in; a step not named here is direct: it opens or uses a
connection to a broker it was told of."""
ONCE = frozenset({"first_heartbeat", "first_commit"})
"""Steps that are taken once: later ones are no part of the start."""

_OPENING = {"tcp_connect", "tls_handshake", "api_versions", "sasl_handshake", "sasl_authenticate", "metadata", "dns"}
_CONSUMING = {"offset_fetch", "list_offsets", "offset_for_leader_epoch", "first_fetch", "first_records", "first_commit"}
_GROUP_STEPS: dict[str, set[str]] = {
    "classic": {"find_coordinator_group", "join_group", "sync_group", "offset_fetch"},
    "consumer": {"find_coordinator_group", "consumer_group_heartbeat", "offset_fetch"},
    "share": {"find_coordinator_group", "share_group_heartbeat"},
    "streams": {"find_coordinator_group", "streams_group_heartbeat", "offset_fetch"},
    "none": set(),
}


_UNTOLD_APIS = wire.HANDSHAKE_APIS | wire.TELEMETRY_APIS
"""APIs whose answers make nobody ready."""


def step_of(request: Request, kind: Kind) -> str | None:
    """The step that the request is for such a client; None for one that is no step of a start (telemetry, leaving)."""
    key = request.api_key
    if key == wire.FIND_COORDINATOR:
        return FIND_COORDINATOR_STEPS.get(request.coordinator_type or "group", "find_coordinator_group")
    if key in (wire.FETCH, wire.SHARE_FETCH):
        return "first_records" if (request.n_records or 0) > 0 and request.ok else "first_fetch"
    if key == wire.PRODUCE:
        return "first_produce"
    if key in STEP_OF_API:
        return STEP_OF_API[key]
    if kind.kind in ("admin", "broker", "unknown"):
        return None if key in wire.TELEMETRY_APIS else "admin_request"
    return None


def is_ready_answer(request: Request, kind: Kind) -> bool:
    """Whether the answer to the request makes such a client ready: records, an acknowledged produce, an answer to an
    administrator's question."""
    if kind.kind in ("producer", "transactional_producer"):
        return request.api_key == wire.PRODUCE and request.ok
    if kind.kind in ("consumer", "share_consumer", "streams", "connect"):
        return request.api_key in (wire.FETCH, wire.SHARE_FETCH) and (request.n_records or 0) > 0 and request.ok
    return kind.kind != "unknown" and request.api_key not in _UNTOLD_APIS and request.ok


def required_steps(kind: Kind) -> tuple[str, ...]:
    """Steps that such a client cannot do without, in order."""
    if kind.kind in ("consumer", "share_consumer", "streams", "connect"):
        group = tuple(s for s in PHASE_ORDER if s in _GROUP_STEPS[kind.group_protocol])
        return ("tcp_connect", "metadata", *group, "first_records")
    if kind.kind == "transactional_producer":
        return (
            "tcp_connect",
            "metadata",
            "find_coordinator_txn",
            "init_producer_id",
            "first_produce",
            "first_produce_ack",
        )
    if kind.kind == "producer":
        return ("tcp_connect", "metadata", "first_produce", "first_produce_ack")
    return ("tcp_connect",)


def usual_steps(kind: Kind) -> set[str]:
    """Steps that are no surprise for such a client: the required ones and those that depend on versions and
    settings."""
    usual = _OPENING | set(required_steps(kind))
    if kind.kind in ("consumer", "share_consumer", "streams", "connect"):
        usual |= (
            _CONSUMING | {"first_heartbeat"} | ({"find_coordinator_share"} if kind.kind == "share_consumer" else set())
        )
    elif kind.kind == "transactional_producer":
        usual |= {"add_partitions_to_txn"}
    elif kind.kind == "producer":
        usual |= {"init_producer_id"}
    else:
        usual |= {"admin_request", *FIND_COORDINATOR_STEPS.values(), "list_offsets", "offset_fetch"}
    return usual


PHASE_ORDER = (
    "find_coordinator_group",
    "join_group",
    "sync_group",
    "consumer_group_heartbeat",
    "share_group_heartbeat",
    "streams_group_heartbeat",
    "offset_fetch",
)
