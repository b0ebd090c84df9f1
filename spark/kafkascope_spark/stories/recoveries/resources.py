"""The resource that an error is about, and the resources that a successful response proves: pairs of kind and name."""

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, Request
from kafkascope_parsers import api_keys
from kafkascope_parsers.error_facts import NORMAL_ERRORS, PERMISSION_DENIED, errors_about
from kafkascope_parsers.schema import keys_of_families

Resource = tuple[str, str]
AUTHENTICATION: Resource = ("authentication", "SASL")
"""The authentication of a client, which is the same at every broker. The first response that requires it proves it."""

PRODUCER_IDS = "producer id"
"""Resource of InitProducerId without a transactional id: a broker returns ids out of blocks that it gets from the
controller. That needs no coordinator, although a broker that waits for a block returns the same error as a
coordinator."""
_COORDINATOR_ERRORS = errors_about("coordinator")
_TRANSACTION_ERRORS = errors_about("transaction", "producer epoch", "producer id")
_GROUP_USERS = api_keys.GROUP_APIS | {api_keys.TXN_OFFSET_COMMIT}
PARTITION_APIS = keys_of_families({"records"})
"""APIs whose errors are about a topic-partition."""
_MEMBERSHIP_PROOFS = api_keys.GROUP_HEARTBEATS | {
    api_keys.SYNC_GROUP,
    api_keys.HEARTBEAT,
    api_keys.OFFSET_COMMIT,
    api_keys.TXN_OFFSET_COMMIT,
}
"""APIs whose success proves a group membership. JoinGroup is not one of them: it only begins a membership."""


def resource_of(failure: ErrorRun, request: Request) -> Resource | None:
    """The resource that the error is about; None for an error that begins no episode: the protocol's normal course, an
    ApiVersions request that is repeated in a lower version, and telemetry."""
    key = failure.api_key
    if failure.error_name in NORMAL_ERRORS or key == api_keys.API_VERSIONS or key in api_keys.TELEMETRY_APIS:
        return None
    if failure.error_name in _TRANSACTION_ERRORS and request.transactional_id:
        return "transaction", request.transactional_id
    if key in api_keys.SASL_APIS:
        return AUTHENTICATION
    if key == api_keys.FIND_COORDINATOR:
        name = failure.group_id or failure.transactional_id or request.coordinator_key or failure.resource
        return "coordinator", name or "unknown"
    if key in _GROUP_USERS:
        return _group_resource(failure, request)
    if key in api_keys.TXN_APIS:
        return _transaction_resource(failure, request)
    if key in PARTITION_APIS or key == api_keys.METADATA:
        return _partition_resource(failure, request)
    return None


def _group_resource(failure: ErrorRun, request: Request) -> Resource:
    group = failure.group_id or request.group_id or failure.resource or "unknown"
    return ("coordinator" if failure.error_name in _COORDINATOR_ERRORS else "group"), group


def _transaction_resource(failure: ErrorRun, request: Request) -> Resource:
    name = failure.transactional_id or request.transactional_id
    if failure.error_name in _COORDINATOR_ERRORS:
        return "coordinator", name or PRODUCER_IDS
    return "transaction", name or PRODUCER_IDS


def _partition_resource(failure: ErrorRun, request: Request) -> Resource | None:
    if failure.topic is None:
        return ("authentication", "cluster") if failure.error_name in PERMISSION_DENIED else None
    if failure.partition is None:
        return "partition", failure.topic
    return "partition", f"{failure.topic}-{failure.partition}"


def proven_by(request: Request) -> list[Resource]:
    """The resources, other than topic-partitions, that a successful response to the request proves."""
    key = request.api_key
    if key == api_keys.FIND_COORDINATOR and request.coordinator_key:
        return [("found", request.coordinator_key)]
    if key in api_keys.TXN_APIS:
        name = request.transactional_id or PRODUCER_IDS
        return [("coordinator", name), ("transaction", name)]
    proofs: list[Resource] = []
    if key in (api_keys.PRODUCE, api_keys.TXN_OFFSET_COMMIT) and request.transactional_id:
        proofs.append(("transaction", request.transactional_id))
    if key in _GROUP_USERS and request.group_id:
        proofs.append(("coordinator", request.group_id))
        if key in _MEMBERSHIP_PROOFS or key == api_keys.OFFSET_FETCH:
            proofs.append(("group", request.group_id))
    return proofs


def retry_key(resource: Resource, request: Request) -> object:
    """What the request assumes about the resource: the member id and epoch for a group, the broker for anything else.
    A retry with the same key as the request that failed changed nothing."""
    if resource[0] == "group":
        return request.member_id, request.generation_or_epoch
    return request.node_id if request.node_id is not None else request.conn_id
