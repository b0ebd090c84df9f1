"""What librdkafka (and confluent-kafka, kcat on it) does about an error, by API.

Source: rdkafka_request.c (rd_kafka_err_action), rdkafka_fetcher.c, rdkafka_cgrp.c, rdkafka_idempotence.c,
rdkafka_txnmgr.c, rdkafka_offset.c of librdkafka 2.15.
"""

from kafkascope_spark.stories.recoveries.reaction import Reaction, ask, back_off, each, end, find_owner, surface

_COORDINATOR = "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE"
_LEADER_GONE = find_owner("fast Metadata queries (100 ms), then the same from its queue", "metadata", "hint")
_DELEGATE = find_owner("back to the leader with Metadata; Fetch 500 ms later", "metadata", "hint")
_ABORT = ask("EndTxn that aborts, with a new epoch", "end_txn", "init_producer_id")


def _coordinator(text: str) -> Reaction:
    return find_owner(text, "find_coordinator")


_LOADING = back_off("back off, the same again; not FindCoordinator", forbidden=("find_coordinator",), not_ready=True)
_MEMBER = {
    **each(_COORDINATOR, _coordinator("FindCoordinator, then go on at its answer")),
    "UNKNOWN_MEMBER_ID": ask("revoke all, JoinGroup with an empty member id", "join_group"),
    "ILLEGAL_GENERATION": ask("revoke all, JoinGroup", "join_group"),
    "FENCED_INSTANCE_ID": end("none: fatal"),
}
_TXN = {
    **each(_COORDINATOR, _coordinator("FindCoordinator, then the same again")),
    **each(
        "COORDINATOR_LOAD_IN_PROGRESS CONCURRENT_TRANSACTIONS", back_off("back off, the same again", not_ready=True)
    ),
    **each(
        "INVALID_PRODUCER_EPOCH PRODUCER_FENCED INVALID_TXN_STATE CLUSTER_AUTHORIZATION_FAILED "
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        end("none: fatal"),
    ),
    **each("UNKNOWN_PRODUCER_ID INVALID_PRODUCER_ID_MAPPING", _ABORT),
}

LIBRDKAFKA: dict[str, dict[str, Reaction]] = {
    "Produce": {
        **each(
            "NOT_LEADER_OR_FOLLOWER LEADER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE BROKER_NOT_AVAILABLE "
            "UNKNOWN_TOPIC_OR_PARTITION",
            _LEADER_GONE,
        ),
        "KAFKA_STORAGE_ERROR": _LEADER_GONE,
        "OUT_OF_ORDER_SEQUENCE_NUMBER": ask(
            "new epoch and retry; fatal for the first batch in line", "init_producer_id"
        ),
        "UNKNOWN_PRODUCER_ID": ask("new epoch and retry, or fatal", "init_producer_id"),
        "INVALID_PRODUCER_EPOCH": surface("the batch fails"),
    },
    "Produce/transactional": {
        "INVALID_PRODUCER_EPOCH": end("none: fatal (fenced)"),
        "UNKNOWN_PRODUCER_ID": _ABORT,
    },
    "Fetch": {
        **each(
            "OFFSET_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER "
            "BROKER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR UNKNOWN_LEADER_EPOCH FENCED_LEADER_EPOCH "
            "UNKNOWN_TOPIC_ID",
            _DELEGATE,
        ),
        "OFFSET_OUT_OF_RANGE": ask("ListOffsets (auto.offset.reset), then Fetch at its answer", "list_offsets"),
    },
    "ListOffsets": {
        **each("NOT_LEADER_OR_FOLLOWER REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR OFFSET_NOT_AVAILABLE", _LEADER_GONE),
        **each("LEADER_NOT_AVAILABLE FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH", _LEADER_GONE),
        "UNKNOWN_TOPIC_OR_PARTITION": surface("an error for the application"),
    },
    "OffsetForLeaderEpoch": each(
        "FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH UNKNOWN_TOPIC_OR_PARTITION OFFSET_NOT_AVAILABLE "
        "KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER REPLICA_NOT_AVAILABLE",
        find_owner("Metadata, and the same again every 500 ms", "metadata"),
    ),
    "FindCoordinator": {
        **each(_COORDINATOR, back_off("FindCoordinator again after the query interval", not_ready=True)),
    },
    "JoinGroup": {
        **_MEMBER,
        "UNKNOWN_MEMBER_ID": ask("JoinGroup with an empty member id", "join_group"),
        "COORDINATOR_LOAD_IN_PROGRESS": _LOADING,
    },
    "SyncGroup": {
        **_MEMBER,
        "COORDINATOR_LOAD_IN_PROGRESS": ask("JoinGroup", "join_group"),
    },
    "Heartbeat": {**_MEMBER, "COORDINATOR_LOAD_IN_PROGRESS": _LOADING},
    "OffsetCommit": {
        **_MEMBER,
        "REQUEST_TIMED_OUT": _coordinator("FindCoordinator, then OffsetCommit again"),
        "COORDINATOR_LOAD_IN_PROGRESS": _LOADING,
        "UNKNOWN_TOPIC_OR_PARTITION": back_off("OffsetCommit again"),
        "STALE_MEMBER_EPOCH": ask("OffsetCommit again with the epoch of the next heartbeat", "heartbeat"),
    },
    "OffsetFetch": {**each(_COORDINATOR, _coordinator("FindCoordinator, OffsetFetch again"))},
    "ConsumerGroupHeartbeat": {
        **each(_COORDINATOR, _coordinator("FindCoordinator, then a full heartbeat")),
        "COORDINATOR_LOAD_IN_PROGRESS": _LOADING,
        **each("UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH", ask("heartbeat with epoch 0", "join_group")),
        **each(
            "INVALID_REQUEST GROUP_MAX_SIZE_REACHED UNSUPPORTED_ASSIGNOR UNSUPPORTED_VERSION UNRELEASED_INSTANCE_ID "
            "GROUP_AUTHORIZATION_FAILED GROUP_ID_NOT_FOUND",
            end("none: fatal, no more heartbeats"),
        ),
    },
    "InitProducerId": {
        **each(_COORDINATOR, _coordinator("FindCoordinator, then InitProducerId again")),
        **each(
            "INVALID_TRANSACTION_TIMEOUT TRANSACTIONAL_ID_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
            "INVALID_PRODUCER_EPOCH PRODUCER_FENCED",
            end("none: fatal"),
        ),
        **each("COORDINATOR_LOAD_IN_PROGRESS CONCURRENT_TRANSACTIONS", back_off("again after 500 ms", not_ready=True)),
    },
    "AddPartitionsToTxn": {
        **_TXN,
        **each("TOPIC_AUTHORIZATION_FAILED OPERATION_NOT_ATTEMPTED", _ABORT),
        "UNKNOWN_TOPIC_OR_PARTITION": back_off("back off, the same again"),
    },
    "AddOffsetsToTxn": {**_TXN, "GROUP_AUTHORIZATION_FAILED": _ABORT},
    "TxnOffsetCommit": {
        **_TXN,
        **each(f"{_COORDINATOR} REQUEST_TIMED_OUT", _coordinator("FindCoordinator of the group, then the same again")),
        **each(
            "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED ILLEGAL_GENERATION UNKNOWN_MEMBER_ID "
            "FENCED_INSTANCE_ID",
            _ABORT,
        ),
    },
    "EndTxn": _TXN,
}
