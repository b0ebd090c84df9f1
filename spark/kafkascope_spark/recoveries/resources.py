"""What an error code is about, and what a success proves again: (kind, name) of resources."""

from kafkascope_spark import wire
from kafkascope_spark.recoveries.reactions import NO_EPISODE
from kafkascope_spark.wire import ErrorRun, Request

Resource = tuple[str, str]
AUTHENTICATION: Resource = ("authentication", "SASL")
"""A client object authenticates in one way everywhere: one resource, proven by the first answer that needs it."""

_COORDINATOR_ERRORS = frozenset({"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"})
_TRANSACTION_ERRORS = frozenset(
    {
        "CONCURRENT_TRANSACTIONS",
        "PRODUCER_FENCED",
        "INVALID_PRODUCER_EPOCH",
        "INVALID_PRODUCER_ID_MAPPING",
        "INVALID_TXN_STATE",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "TRANSACTION_ABORTABLE",
        "UNKNOWN_PRODUCER_ID",
    }
)
_GROUP_USERS = wire.GROUP_APIS | {wire.TXN_OFFSET_COMMIT}
_MEMBERSHIP_PROOFS = wire.GROUP_HEARTBEATS | {
    wire.SYNC_GROUP,
    wire.HEARTBEAT,
    wire.OFFSET_COMMIT,
    wire.TXN_OFFSET_COMMIT,
}
"""APIs whose success proves a membership; JoinGroup only begins one."""


def resource_of(failure: ErrorRun, request: Request) -> Resource | None:
    """What the error is about; None when it is no episode (see NO_EPISODE, and ApiVersions that falls back)."""
    key = failure.api_key
    if failure.error_name in NO_EPISODE or key == wire.API_VERSIONS or key in wire.TELEMETRY_APIS:
        return None
    if failure.error_name in _TRANSACTION_ERRORS and request.transactional_id:
        return "transaction", request.transactional_id
    if key in wire.SASL_APIS:
        return AUTHENTICATION
    if key == wire.FIND_COORDINATOR:
        name = failure.group_id or failure.transactional_id or request.coordinator_key or failure.resource
        return "coordinator", name or "unknown"
    if key in _GROUP_USERS:
        return _group_resource(failure, request)
    if key in wire.TXN_APIS:
        return _transaction_resource(failure, request)
    if key in wire.PARTITION_APIS or key == wire.METADATA:
        return _partition_resource(failure, request)
    return None


def _group_resource(failure: ErrorRun, request: Request) -> Resource:
    group = failure.group_id or request.group_id or failure.resource or "unknown"
    return ("coordinator" if failure.error_name in _COORDINATOR_ERRORS else "group"), group


def _transaction_resource(failure: ErrorRun, request: Request) -> Resource:
    name = failure.transactional_id or request.transactional_id
    if failure.error_name in _COORDINATOR_ERRORS:
        return "coordinator", name or "producer id"
    return "transaction", name or "producer id"


def _partition_resource(failure: ErrorRun, request: Request) -> Resource | None:
    if failure.topic is None:
        return ("authentication", "cluster") if "AUTHORIZATION" in failure.error_name else None
    if failure.partition is None:
        return "partition", failure.topic
    return "partition", f"{failure.topic}-{failure.partition}"


def proven_by(request: Request) -> list[Resource]:
    """The resources, other than topic-partitions, that a successful answer proves."""
    key = request.api_key
    if key == wire.FIND_COORDINATOR and request.coordinator_key:
        return [("found", request.coordinator_key)]
    if key in wire.TXN_APIS:
        name = request.transactional_id or "producer id"
        return [("coordinator", name), ("transaction", name)]
    proofs: list[Resource] = []
    if key in (wire.PRODUCE, wire.TXN_OFFSET_COMMIT) and request.transactional_id:
        proofs.append(("transaction", request.transactional_id))
    if key in _GROUP_USERS and request.group_id:
        proofs.append(("coordinator", request.group_id))
        if key in _MEMBERSHIP_PROOFS:
            proofs.append(("group", request.group_id))
    return proofs


def claim_of(resource: Resource, request: Request) -> object:
    """What the request believes in about the resource: a retry that still does has learned nothing."""
    if resource[0] == "group":
        return request.member_id, request.generation_or_epoch
    return request.node_id if request.node_id is not None else request.conn_id
