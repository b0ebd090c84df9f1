"""The reaction to each error that is the same for all libraries and APIs: for all of Kafka's codes, and for failures
without a code.

Source: org.apache.kafka.common.protocol.Errors and the classes of its exceptions (RetriableException,
InvalidMetadataException, ApplicationRecoverableException and so on), and the reactions of Kafka's clients where they
agree.
"""

from kafkascope_spark.stories.recoveries.reaction import Reaction, ask, back_off, each, end, find_owner, go_on, surface

_LEADER = find_owner("Metadata (or the leader hint), then retry at the new leader", "metadata", "hint")
_METADATA = find_owner("Metadata, then retry", "metadata")
_COORDINATOR = find_owner("FindCoordinator, then go on at its answer", "find_coordinator")
_REPLICAS = back_off("back off, retry", not_ready=True)
_RETRY = back_off("back off, retry")
_REJOIN = ask("JoinGroup with the same member id, or a group heartbeat with epoch 0", "join_group")
_FULL_FETCH = go_on("full Fetch: a new fetch session")
_PERMISSION = surface("none: it is a matter of permission; surface it")
_CONFIGURATION = surface("none: it is a matter of configuration; surface it")
_REQUEST = surface("none: the request is wrong; surface it")
_ADMIN = surface("none: the answer to an administrator's call; surface it")
_CONTROLLER = surface("none for clients: between brokers and controllers")
_STREAMS = end("none: the streams member is at an end")
_RECONNECT = back_off("reconnect with back-off, Metadata elsewhere, retry", waits=True)

_MOVED = {
    "NOT_LEADER_OR_FOLLOWER": _LEADER,
    "FENCED_LEADER_EPOCH": _LEADER,
    "UNKNOWN_LEADER_EPOCH": back_off("back off, retry: the broker is behind", not_ready=True),
    "LEADER_NOT_AVAILABLE": Reaction(
        "back off, Metadata again: an election is in progress", frozenset({"metadata"}), is_not_ready=True, waits=True
    ),
    **each("UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID", _METADATA),
    **each("REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR LISTENER_NOT_FOUND NETWORK_EXCEPTION", _METADATA),
    "OFFSET_NOT_AVAILABLE": _METADATA,
    "BROKER_NOT_AVAILABLE": _METADATA,
    **each("PREFERRED_LEADER_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE ELECTION_NOT_NEEDED", _METADATA),
    "NOT_CONTROLLER": find_owner("Metadata (or DescribeCluster), then the controller", "metadata"),
    "REBOOTSTRAP_REQUIRED": find_owner(
        "close all, connect to the bootstrap servers, Metadata", "reconnect", "metadata"
    ),
    "NOT_COORDINATOR": _COORDINATOR,
    "COORDINATOR_NOT_AVAILABLE": Reaction(
        "back off, FindCoordinator, then go on at its answer", frozenset({"find_coordinator"}), is_not_ready=True
    ),
    "COORDINATOR_LOAD_IN_PROGRESS": back_off(
        "back off, retry at the same broker; not FindCoordinator",
        forbidden=("find_coordinator",),
        not_ready=True,
        waits=True,
    ),
    "NEW_LEADER_ELECTED": _METADATA,
}
_WAIT = {
    **each("NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND REQUEST_TIMED_OUT", _REPLICAS),
    "CORRUPT_MESSAGE": _RETRY,
    "UNSTABLE_OFFSET_COMMIT": back_off("back off, OffsetFetch again: a transaction is not done", not_ready=True),
    "THROTTLING_QUOTA_EXCEEDED": back_off("wait for the throttle time, retry", not_ready=True),
    "CONCURRENT_TRANSACTIONS": back_off(
        "back off, retry: the transaction before is still ending", not_ready=True, waits=True
    ),
    "REASSIGNMENT_IN_PROGRESS": _RETRY,
    "OFFSET_OUT_OF_RANGE": ask("ListOffsets (auto.offset.reset), then Fetch at its answer", "list_offsets"),
    "OFFSET_MOVED_TO_TIERED_STORAGE": ask("ListOffsets and OffsetForLeaderEpoch, then Fetch", "list_offsets"),
}
_MEMBERSHIP = {
    "ILLEGAL_GENERATION": _REJOIN,
    "UNKNOWN_MEMBER_ID": ask("JoinGroup with an empty member id, or a group heartbeat with epoch 0", "join_group"),
    "STALE_MEMBER_EPOCH": ask("retry with the epoch of the next group heartbeat", "heartbeat"),
    "FENCED_MEMBER_EPOCH": ask("group heartbeat with epoch 0", "join_group"),
    "FENCED_INSTANCE_ID": end("none: two members share one group.instance.id; it is fatal"),
    "UNRELEASED_INSTANCE_ID": end("none: another member holds the group.instance.id; it is fatal"),
    **each("INCONSISTENT_GROUP_PROTOCOL INVALID_SESSION_TIMEOUT UNSUPPORTED_ASSIGNOR", _CONFIGURATION),
    **each("GROUP_MAX_SIZE_REACHED INVALID_GROUP_ID INVALID_REGULAR_EXPRESSION", _CONFIGURATION),
    **each("INVALID_COMMIT_OFFSET_SIZE OFFSET_METADATA_TOO_LARGE", _REQUEST),
    **each("STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED", _STREAMS),
    "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED": _RETRY,
    "INVALID_RECORD_STATE": surface("none: the acknowledgement came too late; the records come again"),
    "FENCED_STATE_EPOCH": _CONTROLLER,
}
_TRANSACTIONS = {
    "OUT_OF_ORDER_SEQUENCE_NUMBER": ask("a new producer epoch (bump or InitProducerId), or abort", "init_producer_id"),
    "UNKNOWN_PRODUCER_ID": ask("a new producer epoch (bump or InitProducerId), or abort", "init_producer_id"),
    "INVALID_PRODUCER_EPOCH": ask("abort, then InitProducerId; or fatal", "init_producer_id", "end_txn"),
    "INVALID_PRODUCER_ID_MAPPING": ask("abort, then InitProducerId; or fatal", "init_producer_id", "end_txn"),
    "PRODUCER_FENCED": end("none: a newer producer took over; it is fatal"),
    "TRANSACTION_COORDINATOR_FENCED": _CONTROLLER,
    "INVALID_TXN_STATE": ask("EndTxn that aborts; or fatal", "end_txn"),
    "TRANSACTION_ABORTABLE": ask("EndTxn that aborts", "end_txn"),
    "INVALID_TRANSACTION_TIMEOUT": end("none: transaction.timeout.ms is above the broker's limit; it is fatal"),
    "TRANSACTIONAL_ID_NOT_FOUND": _ADMIN,
    "OPERATION_NOT_ATTEMPTED": ask("EndTxn that aborts: another partition of the request failed", "end_txn"),
}
_NORMAL = {
    "MEMBER_ID_REQUIRED": go_on("JoinGroup with the member id of the answer"),
    "REBALANCE_IN_PROGRESS": go_on("JoinGroup"),
    **each("FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH FETCH_SESSION_TOPIC_ID_ERROR", _FULL_FETCH),
    **each("SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH", go_on("ShareFetch with epoch 0: a new session")),
    "SHARE_SESSION_LIMIT_REACHED": go_on("ShareFetch with epoch 0, later"),
    "DUPLICATE_SEQUENCE_NUMBER": go_on("none: the batch is in the log already"),
    "UNKNOWN_SUBSCRIPTION_ID": go_on("GetTelemetrySubscriptions"),
    "TELEMETRY_TOO_LARGE": go_on("PushTelemetry after the interval"),
    "NONE": go_on("none"),
}
_SURFACED = {
    **each("TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED", _PERMISSION),
    **each("TRANSACTIONAL_ID_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED", _PERMISSION),
    **each("SASL_AUTHENTICATION_FAILED UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE", _CONFIGURATION),
    **each("SECURITY_DISABLED UNSUPPORTED_VERSION UNSUPPORTED_FOR_MESSAGE_FORMAT INVALID_CONFIG", _CONFIGURATION),
    **each("UNSUPPORTED_COMPRESSION_TYPE MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE", _CONFIGURATION),
    **each("INVALID_REQUIRED_ACKS INVALID_TOPIC_EXCEPTION INCONSISTENT_CLUSTER_ID", _CONFIGURATION),
    "MESSAGE_TOO_LARGE": surface("smaller batches; an error for a record that is too large alone"),
    "RECORD_LIST_TOO_LARGE": surface("smaller batches; an error for a record that is too large alone"),
    **each("INVALID_TIMESTAMP INVALID_RECORD INVALID_FETCH_SIZE INVALID_REQUEST UNKNOWN_SERVER_ERROR", _REQUEST),
    "POLICY_VIOLATION": _REQUEST,
}
_ADMINISTRATION = {
    **each("TOPIC_ALREADY_EXISTS INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT", _ADMIN),
    **each("TOPIC_DELETION_DISABLED NON_EMPTY_GROUP GROUP_ID_NOT_FOUND GROUP_SUBSCRIBED_TO_TOPIC", _ADMIN),
    **each("GROUP_DELETION_FAILED NO_REASSIGNMENT_IN_PROGRESS RESOURCE_NOT_FOUND DUPLICATE_RESOURCE", _ADMIN),
    **each("UNACCEPTABLE_CREDENTIAL LOG_DIR_NOT_FOUND INVALID_UPDATE_VERSION FEATURE_UPDATE_FAILED", _ADMIN),
    **each("DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH", _ADMIN),
    **each("DELEGATION_TOKEN_REQUEST_NOT_ALLOWED DELEGATION_TOKEN_EXPIRED INVALID_PRINCIPAL_TYPE", _ADMIN),
    **each("PRINCIPAL_DESERIALIZATION_FAILURE UNKNOWN_CONTROLLER_ID INVALID_VOTER_KEY DUPLICATE_VOTER", _ADMIN),
    **each("VOTER_NOT_FOUND CONTROLLER_ID_NOT_REGISTERED", _ADMIN),
}
_BETWEEN_BROKERS = {
    **each("STALE_CONTROLLER_EPOCH STALE_BROKER_EPOCH INCONSISTENT_VOTER_SET SNAPSHOT_NOT_FOUND", _CONTROLLER),
    **each("POSITION_OUT_OF_RANGE DUPLICATE_BROKER_REGISTRATION BROKER_ID_NOT_REGISTERED", _CONTROLLER),
    **each("INELIGIBLE_REPLICA INVALID_REGISTRATION", _CONTROLLER),
}

WITHOUT_CODE: dict[str, Reaction] = {
    **each("CONNECTION_REFUSED CONNECTION_UNANSWERED CONNECTION_RESET CONNECTION_CLOSED", _RECONNECT),
    "REQUEST_UNANSWERED": _RECONNECT,
    "RESPONSE_LATE": back_off("wait, and reconnect after request.timeout.ms", not_ready=True),
    "AUTHENTICATION_CLOSED": surface("none: the server hung up on the handshake (wrong protocol, TLS or credentials)"),
    "THROTTLED": back_off("be silent on the connection for the throttle time, then go on", not_ready=True),
}
"""Reactions to failures for which no broker sends a code. Source: NetworkClient.handleDisconnections,
handleTimedOutRequests, ClusterConnectionStates (reconnect.backoff.ms), KIP-219 (throttling)."""

ANY: dict[str, Reaction] = {
    **_MOVED,
    **_WAIT,
    **_MEMBERSHIP,
    **_TRANSACTIONS,
    **_NORMAL,
    **_SURFACED,
    **_ADMINISTRATION,
    **_BETWEEN_BROKERS,
    **WITHOUT_CODE,
}
