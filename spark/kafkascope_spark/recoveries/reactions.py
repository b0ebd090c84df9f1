"""Error → what the client should do next on the wire, as data.

Source: the clients' error handlers (Sender, TransactionManager, AbstractFetch, AbstractCoordinator,
AbstractHeartbeatRequestManager of Kafka; rd_kafka_err_action). `expected` names the steps of which one shows that
the client reacted; `forbidden` names a step that shows that it misunderstood.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reaction:
    """What to do about an error."""

    text: str
    expected: frozenset[str]
    fatal: bool = False
    forbidden: frozenset[str] = frozenset()


def _to(text: str, *expected: str, forbidden: tuple[str, ...] = ()) -> Reaction:
    return Reaction(text, frozenset(expected), forbidden=frozenset(forbidden))


def _fatal(text: str) -> Reaction:
    return Reaction(text, frozenset(), fatal=True)


_LEADER = _to("Metadata (or the leader hint), then retry at the new leader", "metadata", "retry")
_METADATA = _to("Metadata, then retry", "metadata", "retry")
_COORDINATOR = _to("FindCoordinator, then go on at its answer", "find_coordinator", "reconnect")
_BACK_OFF = _to("back off, retry", "retry")
_JOIN = _to("JoinGroup", "join_group", "heartbeat")
_FENCED_MEMBER = _to("group heartbeat with epoch 0", "heartbeat")
_NEW_EPOCH = _to("InitProducerId, or a fatal error", "init_producer_id")
_SURFACE = _fatal("none: it is a matter of configuration or permission")
_RECONNECT = _to("reconnect with back-off, Metadata elsewhere, retry", "reconnect", "metadata")

REACTIONS: dict[str, Reaction] = {
    "NOT_LEADER_OR_FOLLOWER": _LEADER,
    "FENCED_LEADER_EPOCH": _LEADER,
    "UNKNOWN_LEADER_EPOCH": _to("Metadata or back off, then retry", "metadata", "retry"),
    "LEADER_NOT_AVAILABLE": _to("back off, Metadata again", "metadata"),
    "UNKNOWN_TOPIC_OR_PARTITION": _METADATA,
    "UNKNOWN_TOPIC_ID": _METADATA,
    "INCONSISTENT_TOPIC_ID": _METADATA,
    "REPLICA_NOT_AVAILABLE": _METADATA,
    "OFFSET_NOT_AVAILABLE": _METADATA,
    "LISTENER_NOT_FOUND": _METADATA,
    "KAFKA_STORAGE_ERROR": _METADATA,
    "NOT_COORDINATOR": _COORDINATOR,
    "COORDINATOR_NOT_AVAILABLE": _COORDINATOR,
    "COORDINATOR_LOAD_IN_PROGRESS": _to("back off, retry at the same broker", "retry", forbidden=("find_coordinator",)),
    "CONCURRENT_TRANSACTIONS": _BACK_OFF,
    "ILLEGAL_GENERATION": _JOIN,
    "UNKNOWN_MEMBER_ID": _to(
        "JoinGroup with an empty member id, or a group heartbeat with epoch 0", "join_group", "heartbeat"
    ),
    "STALE_MEMBER_EPOCH": _to("retry with the epoch of the next group heartbeat", "heartbeat", "retry"),
    "FENCED_MEMBER_EPOCH": _FENCED_MEMBER,
    "UNRELEASED_INSTANCE_ID": _fatal("none: another member holds the group instance id"),
    "FENCED_INSTANCE_ID": _fatal("none: two members share one group instance id"),
    "PRODUCER_FENCED": _fatal("none: a newer producer took over"),
    "INVALID_PRODUCER_EPOCH": _NEW_EPOCH,
    "INVALID_TXN_STATE": _fatal("none: abort or close the producer"),
    "INVALID_PRODUCER_ID_MAPPING": _NEW_EPOCH,
    "OUT_OF_ORDER_SEQUENCE_NUMBER": _NEW_EPOCH,
    "UNKNOWN_PRODUCER_ID": _NEW_EPOCH,
    "TRANSACTION_ABORTABLE": _to("EndTxn that aborts", "retry"),
    "OFFSET_OUT_OF_RANGE": _to("ListOffsets (auto.offset.reset), then Fetch at its answer", "list_offsets", "retry"),
    "NOT_ENOUGH_REPLICAS": _BACK_OFF,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": _BACK_OFF,
    "REQUEST_TIMED_OUT": _BACK_OFF,
    "UNSTABLE_OFFSET_COMMIT": _BACK_OFF,
    "THROTTLING_QUOTA_EXCEEDED": _BACK_OFF,
    "CORRUPT_MESSAGE": _BACK_OFF,
    "NOT_CONTROLLER": _METADATA,
    "TOPIC_AUTHORIZATION_FAILED": _SURFACE,
    "GROUP_AUTHORIZATION_FAILED": _SURFACE,
    "CLUSTER_AUTHORIZATION_FAILED": _SURFACE,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _SURFACE,
    "SASL_AUTHENTICATION_FAILED": _SURFACE,
    "UNSUPPORTED_SASL_MECHANISM": _SURFACE,
    "ILLEGAL_SASL_STATE": _SURFACE,
    "UNSUPPORTED_VERSION": _SURFACE,
    "MESSAGE_TOO_LARGE": _fatal("none, or smaller batches"),
    "CONNECTION_REFUSED": _RECONNECT,
    "CONNECTION_UNANSWERED": _RECONNECT,
    "CONNECTION_RESET": _RECONNECT,
    "CONNECTION_CLOSED": _RECONNECT,
    "REQUEST_UNANSWERED": _RECONNECT,
}
"""The connection's errors, from CONNECTION_REFUSED on, are ours: no broker sends them."""

OTHER = _fatal("none known: surface it")

NO_EPISODE = frozenset(
    [
        "MEMBER_ID_REQUIRED",
        "REBALANCE_IN_PROGRESS",
        "FETCH_SESSION_ID_NOT_FOUND",
        "INVALID_FETCH_SESSION_EPOCH",
        "FETCH_SESSION_TOPIC_ID_ERROR",
        "SHARE_SESSION_NOT_FOUND",
        "INVALID_SHARE_SESSION_EPOCH",
        "SHARE_SESSION_LIMIT_REACHED",
        "DUPLICATE_SEQUENCE_NUMBER",
    ]
)
"""A first join, a rebalance, a lost fetch session, a batch that is in the log already: the protocol's normal course."""


def reaction_to(error_name: str) -> Reaction:
    """What a client should do about the error."""
    return REACTIONS.get(error_name, OTHER)
