"""Facts about every error code that stories and reports use, in one table: Kafka's codes, and failures without a code,
which have names of this program.

The table ERROR_CODES is the only place with such facts. Other modules use `errors_about("coordinator")` for a subject,
and the sets below the table for the other facts. Number and retriability of a code are read from `schema`. The correct
reaction of a client to an error depends on its library and the API: see `recoveries.reactions` of the stories.

Sources: org.apache.kafka.common.protocol.Errors and the exception classes that it names; KIP-394 (MEMBER_ID_REQUIRED),
KIP-511 (UNSUPPORTED_VERSION of ApiVersions), KIP-227 and KIP-932 (fetch and share sessions), KIP-360 and KIP-588
(producer epochs), KIP-345 and KIP-848 (group instance ids, member epochs), KIP-714 (telemetry).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from kafkascope_parsers.schema import error_codes, error_name, is_retriable

Subject = Literal[
    "leader",
    "topic",
    "log",
    "records",
    "coordinator",
    "group",
    "membership",
    "static membership",
    "committed offsets",
    "transaction",
    "producer epoch",
    "producer id",
    "producer sequence",
    "authentication",
    "delegation token",
    "fetch session",
    "share session",
    "telemetry",
    "connection",
    "quota",
    "cluster",
    "administration",
    "request",
]
"""What an error can be about. `leader`: who leads a topic-partition; `log`: its offsets, replicas and storage;
`cluster`: brokers and controllers among themselves, and the cluster as a whole; `administration`: the call of an
administrator; `request`: the request itself, or a setting that it carries."""
SUBJECTS: tuple[Subject, ...] = get_args(Subject)


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """The facts about one error code, or about one failure without a code."""

    name: str
    """Kafka's name, such as NOT_COORDINATOR, or a name of this program for a failure without a code."""

    subject: Subject
    """What the error is about."""

    normal: Literal["never", "briefly", "always"] = "never"
    """Whether the error is a normal part of the protocol. `always`: in all cases; `briefly`: for less than BRIEF_NS,
    and a failure if it lasts longer."""

    waits_for: str | None = None
    """What the broker waits for before it accepts the request, in words."""

    informs_at: str | None = None
    """API whose response with this error contains what the client needs (its member id, the versions that the broker
    supports), so that the client continues at once."""

    fatal: bool = False
    """Whether a retry never helps: configuration, permissions or another client have to change first."""

    denies_permission: bool = False
    """Whether Kafka's exception is an AuthorizationException: an ACL is missing."""

    refresh: Literal["Metadata", "FindCoordinator"] | None = None
    """API by which the client finds the right broker: Metadata for Kafka's InvalidMetadataException,
    FindCoordinator for the other RefreshRetriableExceptions."""

    at_node: bool = False
    """Whether episodes that begin with this error at the same node have the same cause: the node was lost, or handed
    over what it led or coordinated."""

    follows_broker_loss: Literal["no", "any client", "same client"] = "no"
    """Whether a lost or moved broker causes the error at other brokers: for any client, or only for clients that the
    loss itself affected."""

    is_silence: bool = False
    """Whether the client waits before it notices the error: it is affected from the unanswered request or SYN on."""

    ends_connection: bool = False
    """Whether it means that the server ended an established connection."""

    removes_member: bool = False
    """Whether it means that the coordinator has removed the member from its group."""

    @property
    def code(self) -> int | None:
        """Kafka's number, or None for a failure without a code."""
        return _numbers().get(self.name)

    @property
    def retriable(self) -> bool:
        """Whether Kafka's exception for the code is a RetriableException; False for a failure without a code."""
        return self.code is not None and is_retriable(self.code)


@cache
def _numbers() -> dict[str, int]:
    return {error_name(code): code for code in error_codes()}


_LEADER = (
    ErrorCode("NOT_LEADER_OR_FOLLOWER", "leader", refresh="Metadata", at_node=True),
    ErrorCode("FENCED_LEADER_EPOCH", "leader", refresh="Metadata", at_node=True),
    ErrorCode("UNKNOWN_LEADER_EPOCH", "leader", follows_broker_loss="any client"),
    ErrorCode("LEADER_NOT_AVAILABLE", "leader", refresh="Metadata", follows_broker_loss="any client"),
    ErrorCode("LISTENER_NOT_FOUND", "leader", refresh="Metadata"),
    ErrorCode("PREFERRED_LEADER_NOT_AVAILABLE", "leader", refresh="Metadata"),
    ErrorCode("ELIGIBLE_LEADERS_NOT_AVAILABLE", "leader", refresh="Metadata"),
    ErrorCode("ELECTION_NOT_NEEDED", "leader", refresh="Metadata"),
    ErrorCode("NEW_LEADER_ELECTED", "leader"),
)
_TOPIC = (
    ErrorCode("UNKNOWN_TOPIC_OR_PARTITION", "topic", refresh="Metadata"),
    ErrorCode("UNKNOWN_TOPIC_ID", "topic", refresh="Metadata"),
    ErrorCode("INCONSISTENT_TOPIC_ID", "topic", refresh="Metadata"),
    ErrorCode("INVALID_TOPIC_EXCEPTION", "topic", fatal=True),
    ErrorCode("TOPIC_AUTHORIZATION_FAILED", "topic", fatal=True, denies_permission=True),
)
_LOG = (
    ErrorCode("NOT_ENOUGH_REPLICAS", "log", follows_broker_loss="any client"),
    ErrorCode("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "log", follows_broker_loss="any client"),
    ErrorCode("REQUEST_TIMED_OUT", "log", follows_broker_loss="any client"),
    ErrorCode("REPLICA_NOT_AVAILABLE", "log", refresh="Metadata"),
    ErrorCode("KAFKA_STORAGE_ERROR", "log", refresh="Metadata"),
    ErrorCode("OFFSET_OUT_OF_RANGE", "log"),
    ErrorCode("OFFSET_NOT_AVAILABLE", "log"),
    ErrorCode("OFFSET_MOVED_TO_TIERED_STORAGE", "log"),
)
_RECORDS = (
    ErrorCode("CORRUPT_MESSAGE", "records"),
    ErrorCode("MESSAGE_TOO_LARGE", "records", fatal=True),
    ErrorCode("RECORD_LIST_TOO_LARGE", "records", fatal=True),
    ErrorCode("INVALID_TIMESTAMP", "records"),
    ErrorCode("INVALID_RECORD", "records"),
    ErrorCode("INVALID_RECORD_STATE", "records"),
    ErrorCode("UNSUPPORTED_FOR_MESSAGE_FORMAT", "records"),
    ErrorCode("UNSUPPORTED_COMPRESSION_TYPE", "records"),
)
_COORDINATOR = (
    ErrorCode("NOT_COORDINATOR", "coordinator", refresh="FindCoordinator", at_node=True),
    ErrorCode("COORDINATOR_NOT_AVAILABLE", "coordinator", refresh="FindCoordinator", follows_broker_loss="any client"),
    ErrorCode("COORDINATOR_LOAD_IN_PROGRESS", "coordinator", follows_broker_loss="any client"),
)
_GROUP = (
    ErrorCode("GROUP_AUTHORIZATION_FAILED", "group", fatal=True, denies_permission=True),
    ErrorCode("INVALID_GROUP_ID", "group", fatal=True),
    ErrorCode("INCONSISTENT_GROUP_PROTOCOL", "group", fatal=True),
    ErrorCode("INVALID_SESSION_TIMEOUT", "group", fatal=True),
    ErrorCode("GROUP_MAX_SIZE_REACHED", "group", fatal=True),
    ErrorCode("UNSUPPORTED_ASSIGNOR", "group", fatal=True),
    ErrorCode("INVALID_REGULAR_EXPRESSION", "group", fatal=True),
    ErrorCode("STREAMS_INVALID_TOPOLOGY", "group", fatal=True),
    ErrorCode("STREAMS_INVALID_TOPOLOGY_EPOCH", "group", fatal=True),
    ErrorCode("STREAMS_TOPOLOGY_FENCED", "group", fatal=True),
    ErrorCode("STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", "group"),
)
_MEMBERSHIP = (
    ErrorCode("MEMBER_ID_REQUIRED", "membership", normal="always", informs_at="JoinGroup"),
    ErrorCode("REBALANCE_IN_PROGRESS", "membership", normal="always"),
    ErrorCode("UNKNOWN_MEMBER_ID", "membership", follows_broker_loss="same client", removes_member=True),
    ErrorCode("FENCED_MEMBER_EPOCH", "membership", follows_broker_loss="same client", removes_member=True),
    ErrorCode("ILLEGAL_GENERATION", "membership", follows_broker_loss="same client"),
    ErrorCode("STALE_MEMBER_EPOCH", "membership"),
    ErrorCode("FENCED_INSTANCE_ID", "static membership", fatal=True),
    ErrorCode("UNRELEASED_INSTANCE_ID", "static membership", fatal=True),
    ErrorCode("UNSTABLE_OFFSET_COMMIT", "committed offsets"),
    ErrorCode("INVALID_COMMIT_OFFSET_SIZE", "committed offsets"),
    ErrorCode("OFFSET_METADATA_TOO_LARGE", "committed offsets"),
)
_PRODUCER = (
    ErrorCode(
        "CONCURRENT_TRANSACTIONS",
        "transaction",
        normal="briefly",
        waits_for="the end of the transaction before",
        follows_broker_loss="any client",
    ),
    ErrorCode("INVALID_TXN_STATE", "transaction"),
    ErrorCode("TRANSACTION_ABORTABLE", "transaction"),
    ErrorCode("INVALID_TRANSACTION_TIMEOUT", "transaction", fatal=True),
    ErrorCode("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "transaction", fatal=True, denies_permission=True),
    ErrorCode("PRODUCER_FENCED", "producer epoch", fatal=True),
    ErrorCode("INVALID_PRODUCER_EPOCH", "producer epoch"),
    ErrorCode("INVALID_PRODUCER_ID_MAPPING", "producer id"),
    ErrorCode("UNKNOWN_PRODUCER_ID", "producer id"),
    ErrorCode("OUT_OF_ORDER_SEQUENCE_NUMBER", "producer sequence"),
    ErrorCode("DUPLICATE_SEQUENCE_NUMBER", "producer sequence", normal="always"),
)
_SECURITY = (
    ErrorCode("SASL_AUTHENTICATION_FAILED", "authentication", fatal=True),
    ErrorCode("UNSUPPORTED_SASL_MECHANISM", "authentication", fatal=True),
    ErrorCode("ILLEGAL_SASL_STATE", "authentication", fatal=True),
    ErrorCode("DELEGATION_TOKEN_AUTHORIZATION_FAILED", "delegation token", denies_permission=True),
    ErrorCode("DELEGATION_TOKEN_AUTH_DISABLED", "delegation token"),
    ErrorCode("DELEGATION_TOKEN_NOT_FOUND", "delegation token"),
    ErrorCode("DELEGATION_TOKEN_OWNER_MISMATCH", "delegation token"),
    ErrorCode("DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", "delegation token"),
    ErrorCode("DELEGATION_TOKEN_EXPIRED", "delegation token"),
)
_SESSIONS = (
    ErrorCode("FETCH_SESSION_ID_NOT_FOUND", "fetch session", normal="always"),
    ErrorCode("INVALID_FETCH_SESSION_EPOCH", "fetch session", normal="always"),
    ErrorCode("FETCH_SESSION_TOPIC_ID_ERROR", "fetch session", normal="always"),
    ErrorCode("SHARE_SESSION_NOT_FOUND", "share session", normal="always"),
    ErrorCode("INVALID_SHARE_SESSION_EPOCH", "share session", normal="always"),
    ErrorCode("SHARE_SESSION_LIMIT_REACHED", "share session", normal="always"),
    ErrorCode("UNKNOWN_SUBSCRIPTION_ID", "telemetry", normal="always"),
    ErrorCode("TELEMETRY_TOO_LARGE", "telemetry", normal="always"),
)
_CLUSTER = (
    ErrorCode("NOT_CONTROLLER", "cluster"),
    ErrorCode("BROKER_NOT_AVAILABLE", "cluster"),
    ErrorCode("REBOOTSTRAP_REQUIRED", "cluster"),
    ErrorCode("INCONSISTENT_CLUSTER_ID", "cluster"),
    ErrorCode("CLUSTER_AUTHORIZATION_FAILED", "cluster", fatal=True, denies_permission=True),
    ErrorCode("STALE_CONTROLLER_EPOCH", "cluster"),
    ErrorCode("STALE_BROKER_EPOCH", "cluster"),
    ErrorCode("FENCED_STATE_EPOCH", "cluster"),
    ErrorCode("TRANSACTION_COORDINATOR_FENCED", "cluster"),
    ErrorCode("INELIGIBLE_REPLICA", "cluster"),
    ErrorCode("INVALID_REGISTRATION", "cluster"),
    ErrorCode("DUPLICATE_BROKER_REGISTRATION", "cluster"),
    ErrorCode("BROKER_ID_NOT_REGISTERED", "cluster"),
    ErrorCode("CONTROLLER_ID_NOT_REGISTERED", "cluster"),
    ErrorCode("SNAPSHOT_NOT_FOUND", "cluster"),
    ErrorCode("POSITION_OUT_OF_RANGE", "cluster"),
    ErrorCode("INCONSISTENT_VOTER_SET", "cluster"),
    ErrorCode("INVALID_VOTER_KEY", "cluster"),
    ErrorCode("DUPLICATE_VOTER", "cluster"),
    ErrorCode("VOTER_NOT_FOUND", "cluster"),
)
_ADMINISTRATION = (
    ErrorCode("TOPIC_ALREADY_EXISTS", "administration"),
    ErrorCode("TOPIC_DELETION_DISABLED", "administration"),
    ErrorCode("INVALID_PARTITIONS", "administration"),
    ErrorCode("INVALID_REPLICATION_FACTOR", "administration"),
    ErrorCode("INVALID_REPLICA_ASSIGNMENT", "administration"),
    ErrorCode("REASSIGNMENT_IN_PROGRESS", "administration"),
    ErrorCode("NO_REASSIGNMENT_IN_PROGRESS", "administration"),
    ErrorCode("GROUP_ID_NOT_FOUND", "administration"),
    ErrorCode("NON_EMPTY_GROUP", "administration"),
    ErrorCode("GROUP_SUBSCRIBED_TO_TOPIC", "administration"),
    ErrorCode("GROUP_DELETION_FAILED", "administration"),
    ErrorCode("TRANSACTIONAL_ID_NOT_FOUND", "administration"),
    ErrorCode("RESOURCE_NOT_FOUND", "administration"),
    ErrorCode("DUPLICATE_RESOURCE", "administration"),
    ErrorCode("UNACCEPTABLE_CREDENTIAL", "administration"),
    ErrorCode("LOG_DIR_NOT_FOUND", "administration"),
    ErrorCode("INVALID_CONFIG", "administration"),
    ErrorCode("INVALID_UPDATE_VERSION", "administration"),
    ErrorCode("FEATURE_UPDATE_FAILED", "administration"),
    ErrorCode("SECURITY_DISABLED", "administration"),
    ErrorCode("INVALID_PRINCIPAL_TYPE", "administration"),
    ErrorCode("PRINCIPAL_DESERIALIZATION_FAILURE", "administration"),
    ErrorCode("MISMATCHED_ENDPOINT_TYPE", "administration"),
    ErrorCode("UNSUPPORTED_ENDPOINT_TYPE", "administration"),
    ErrorCode("UNKNOWN_CONTROLLER_ID", "administration"),
)
_REQUEST = (
    ErrorCode("NONE", "request", normal="always"),
    ErrorCode("UNKNOWN_SERVER_ERROR", "request"),
    ErrorCode("INVALID_REQUEST", "request"),
    ErrorCode("UNSUPPORTED_VERSION", "request", informs_at="ApiVersions", fatal=True),
    ErrorCode("INVALID_REQUIRED_ACKS", "request", fatal=True),
    ErrorCode("INVALID_FETCH_SIZE", "request"),
    ErrorCode("POLICY_VIOLATION", "request"),
    ErrorCode("OPERATION_NOT_ATTEMPTED", "request"),
    ErrorCode("THROTTLING_QUOTA_EXCEEDED", "quota"),
    ErrorCode("NETWORK_EXCEPTION", "connection", refresh="Metadata"),
)
_WITHOUT_CODE = (
    ErrorCode("CONNECTION_REFUSED", "connection", at_node=True),
    ErrorCode("CONNECTION_UNANSWERED", "connection", at_node=True, is_silence=True),
    ErrorCode("CONNECTION_RESET", "connection", at_node=True, ends_connection=True),
    ErrorCode("CONNECTION_CLOSED", "connection", at_node=True, ends_connection=True),
    ErrorCode("REQUEST_UNANSWERED", "connection", at_node=True, is_silence=True),
    ErrorCode("RESPONSE_LATE", "connection", at_node=True, is_silence=True),
    ErrorCode("AUTHENTICATION_CLOSED", "authentication", fatal=True),
    ErrorCode("THROTTLED", "quota"),
)
ERROR_CODES: tuple[ErrorCode, ...] = (
    *(*_LEADER, *_TOPIC, *_LOG, *_RECORDS, *_COORDINATOR, *_GROUP, *_MEMBERSHIP, *_PRODUCER, *_SECURITY),
    *(*_SESSIONS, *_CLUSTER, *_ADMINISTRATION, *_REQUEST, *_WITHOUT_CODE),
)
"""One row for each error code."""


def errors_about(*subjects: Subject) -> frozenset[str]:
    """Returns the names of the errors about any of the subjects, including those without a code."""
    return frozenset(e.name for e in ERROR_CODES if e.subject in subjects)


def _names(chosen: Callable[[ErrorCode], bool]) -> frozenset[str]:
    return frozenset(e.name for e in ERROR_CODES if chosen(e))


NORMAL_ERRORS = _names(lambda e: e.normal == "always")
"""Errors that are always normal: a first join, a rebalance, a lost fetch session, a batch that is already in the log.
They begin no episode and fail no start."""
BRIEFLY_NORMAL = _names(lambda e: e.normal == "briefly")
"""Errors that are normal for less than BRIEF_NS: CONCURRENT_TRANSACTIONS while the markers of the previous transaction
are written. Then they begin no episode and no wait."""
BRIEF_NS = 1_000_000_000
"""The coordinator has the markers written within some tens of milliseconds, and clients ask again after 20 ms (Kafka's,
for the first partition), 100 ms (retry.backoff.ms) or 500 ms (librdkafka): what takes longer than all of that together
is not the usual end of a transaction."""
WAITS_FOR = {e.name: e.waits_for for e in ERROR_CODES if e.waits_for is not None}
"""Error -> what brokers wait for while they return it, in words."""
FATAL = _names(lambda e: e.fatal)
"""Errors for which a retry never helps."""
PERMISSION_DENIED = _names(lambda e: e.denies_permission)
"""Errors of a missing ACL."""
AT_NODE = _names(lambda e: e.at_node)
"""Errors whose episodes at one node have the same cause."""
LED_ELSEWHERE = _names(lambda e: e.at_node and e.code is not None)
"""Errors of a node that no longer leads or coordinates the requested resource."""
SILENT = _names(lambda e: e.is_silence)
"""Errors that affect the client before it notices them."""
FOLLOWS = _names(lambda e: e.follows_broker_loss == "any client")
"""Errors that a lost or moved broker causes at other brokers."""
FOLLOWS_FOR_THE_SAME = _names(lambda e: e.follows_broker_loss == "same client")
"""Errors that a lost or moved broker causes at other brokers only for clients that were connected to it."""
SERVER_CLOSED = _names(lambda e: e.ends_connection)
"""The server ended an established connection."""
REFUSED_CREDENTIALS = _names(lambda e: e.subject == "authentication" and e.code is not None)
"""Error codes by which a broker refuses SASL credentials or the SASL mechanism."""
COORDINATOR_MOVED = _names(lambda e: e.refresh == "FindCoordinator")
"""The broker is not the coordinator (any longer): FindCoordinator returns the new one."""
STALE_MEMBER = _names(lambda e: e.subject == "membership" and e.normal == "never")
"""The member, generation or epoch of the request is not (any longer) the group's."""
FENCED_INSTANCE = errors_about("static membership")
"""Another member holds the group.instance.id."""
MEMBER_REMOVED = _names(lambda e: e.removes_member)
"""The coordinator has removed the member from its group."""
COMMIT_REFUSED = errors_about("membership", "static membership") - _names(lambda e: e.informs_at is not None)
"""Errors by which a coordinator refuses a member's commit because the group has moved on."""
EPOCH_OVER = errors_about("producer epoch")
"""A newer epoch of the producer is in force: another producer has taken over the id, or the coordinator has aborted
the transaction."""
INFORMING = frozenset((e.informs_at, e.name) for e in ERROR_CODES if e.informs_at is not None)
"""(API, error): the response with the error contains what the client needs."""
