"""librdkafka, and confluent-kafka and kcat on it.

Source: rdkafka_broker.c and rdkafka_request.c of librdkafka 1.0, 1.9 and 2.16 for the profiles; CONFIGURATION.md (2.16)
for the settings; rdkafka_request.c (rd_kafka_err_action), rdkafka_fetcher.c, rdkafka_cgrp.c, rdkafka_idempotence.c,
rdkafka_txnmgr.c and rdkafka_offset.c (2.15) for the reactions.
"""

from kafkascope_parsers.tls.client_libraries import OPENSSL
from kafkascope_spark.stories.libraries.library import EVERY, NEVER, Library, Profile, Setting, Upgrade
from kafkascope_spark.stories.libraries.versions import only, up_to
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

_REACTIONS: dict[str, dict[str, Reaction]] = {
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

# fmt: off
_PROFILES = (
    Profile(greets=EVERY, greetings=frozenset({3}), first_id=1,
            versions=up_to(10, 16, 7, 13, 9, 9, 2, 5, 3, 1, 3, 4, 1, 1)),
    Profile(greets=EVERY, greetings=frozenset({3}), first_id=1,
            versions=up_to(7, 11, 2, 4, 7, 7, 2, 5, 3, 1, 3, 4, 1, 1)),
    Profile(greets=EVERY, greetings=frozenset({0}), first_id=1, releases=(),
            versions=only(7, 4, 0, 2, 1, 1, 0, 2, 0, 0, 0, None, 1, None)),
    Profile(greets=NEVER, first_id=1, releases=(),  # api.version.request=false
            versions=only(1, 1, 0, 0, 2, 1, 0, 0, 0, 0, 0, None, 0, None)),
)
# fmt: on
_SETTINGS = {
    "bootstrap": Setting("bootstrap.servers"),
    "session_timeout": Setting("session.timeout.ms", "45000"),
    "heartbeat_interval": Setting("heartbeat.interval.ms", "3000"),
    "poll_interval": Setting("max.poll.interval.ms", "300000"),
    "request_timeout": Setting("socket.timeout.ms", "60000"),
    "connect_timeout": Setting("socket.connection.setup.timeout.ms", "30000"),
    "delivery_timeout": Setting("message.timeout.ms", "300000"),
    "metadata_age": Setting("topic.metadata.refresh.interval.ms", "300000"),
    "retry_backoff": Setting("retry.backoff.ms", "100"),
    "resend_wait": Setting("retry.backoff.ms", "100"),
    "reconnect_backoff": Setting("reconnect.backoff.max.ms", "10000"),
    "max_idle": Setting("connections.max.idle.ms", "0: off"),
    "linger": Setting("linger.ms", "5"),
    "batch_size": Setting("batch.size", "1000000"),
    "request_size": Setting("message.max.bytes", "1000000"),
    "compression": Setting("compression.type", "none"),
    "in_flight": Setting("max.in.flight.requests.per.connection", "1000000; 5 with enable.idempotence"),
    "acks": Setting("acks=all", "all"),
    "transaction_timeout": Setting("transaction.timeout.ms", "60000"),
    "transactional_id": Setting("transactional.id"),
    "instance_id": Setting("group.instance.id"),
    "cooperative": Setting("partition.assignment.strategy=cooperative-sticky"),
    "group_protocol": Setting("group.protocol=consumer"),
    "commit_interval": Setting("auto.commit.interval.ms", "5000"),
    "fetch_wait": Setting("fetch.wait.max.ms", "500"),
    "fetch_min": Setting("fetch.min.bytes", "1"),
    "fetch_max": Setting("fetch.max.bytes"),
    "offset_reset": Setting("auto.offset.reset"),
    "security": Setting("security.protocol"),
    "mechanism": Setting("sasl.mechanism"),
    "credentials": Setting("sasl.username and sasl.password"),
    "truststore": Setting("ssl.ca.location"),
    "keystore": Setting("ssl.certificate.location and ssl.key.location"),
    "tls_suites": Setting("ssl.cipher.suites"),
    "name_check": Setting("ssl.endpoint.identification.algorithm"),
}

LIBRDKAFKA = Library(
    name="librdkafka",
    software_names=(
        "librdkafka",
        "confluent-kafka",
    ),
    tls_library=OPENSSL,
    profiles=_PROFILES,
    settings=_SETTINGS,
    commit_ms=5_000,
    # ApiVersions depends on api.version.request.
    optional_steps=frozenset({"api_versions"}),
    # FindCoordinator comes again by a timer (rd_kafka_cgrp_coord_query) until the coordinator's connection is up.
    repeated_steps=frozenset({"find_coordinator_group"}),
    reactions=_REACTIONS,
    upgrade=Upgrade("librdkafka", (1, 8, 2), "leave api.version.request at true, and broker.version.fallback out"),
)
