"""The Java client of Apache Kafka (kafka-clients), and what runs on it: Connect, Streams, MirrorMaker.

Source: the clients' NetworkClient and SaslClientAuthenticator for the profiles, ProducerConfig, ConsumerConfig and
CommonClientConfigs (4.3) for the settings; Sender, TransactionManager, AbstractFetch, FetchCollector,
OffsetFetcherUtils, AbstractCoordinator, ConsumerCoordinator, AbstractHeartbeatRequestManager, CommitRequestManager,
ShareConsumeRequestManager and KafkaAdminClient of org.apache.kafka.clients for the reactions, which are those that are
more exact than reactions_any.
"""

from kafkascope_parsers.tls.client_libraries import JVM
from kafkascope_spark.stories.libraries.library import EVERY, Library, Profile, Setting, Upgrade
from kafkascope_spark.stories.libraries.versions import RELEASES
from kafkascope_spark.stories.recoveries.reaction import Reaction, ask, back_off, each, end, find_owner, surface

_COORDINATOR = "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE"
_FIND_GROUP = "FindCoordinator of the group, then the same again"
_NOT_READY = "COORDINATOR_LOAD_IN_PROGRESS"
_RAISED = "OFFSET_METADATA_TOO_LARGE INVALID_COMMIT_OFFSET_SIZE TOPIC_AUTHORIZATION_FAILED"
_FENCED_PRODUCER = "PRODUCER_FENCED INVALID_PRODUCER_EPOCH"


def _coordinator(text: str) -> Reaction:
    return find_owner(text, "find_coordinator")


def _loading(text: str) -> Reaction:
    return back_off(text, forbidden=("find_coordinator",), not_ready=True, waits=True)


_PRODUCE: dict[str, Reaction] = {
    **each(
        "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH",
        find_owner(
            "Produce at once to the leader of the hint (KIP-951), else Metadata, then Produce", "metadata", "hint"
        ),
    ),
    "MESSAGE_TOO_LARGE": back_off("two or more smaller batches; a single record fails"),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": back_off("Produce with the next producer epoch from sequence 0"),
    "UNKNOWN_PRODUCER_ID": back_off("Produce with the next producer epoch from sequence 0"),
    "INVALID_PRODUCER_EPOCH": back_off("the batch fails; Produce with the next producer epoch"),
    **each(
        "PRODUCER_FENCED CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED "
        "INVALID_PRODUCER_ID_MAPPING UNSUPPORTED_VERSION",
        end("none: fatal for the producer"),
    ),
    **each("INVALID_TXN_STATE TRANSACTION_ABORTABLE", surface("none: the batch fails")),
}
_ABORT = ask("EndTxn that aborts (transactions v1: then InitProducerId)", "end_txn", "init_producer_id")
_PRODUCE_IN_TRANSACTION = {
    **each("OUT_OF_ORDER_SEQUENCE_NUMBER UNKNOWN_PRODUCER_ID", _ABORT),
    **each("INVALID_PRODUCER_EPOCH INVALID_TXN_STATE TRANSACTION_ABORTABLE", _ABORT),
}
_TXN = {
    **each(_COORDINATOR, _coordinator("FindCoordinator of the transactional id, then the same again")),
    _NOT_READY: _loading("back off, the same again; not FindCoordinator"),
    **each(
        f"{_FENCED_PRODUCER} INVALID_TXN_STATE INVALID_PRODUCER_ID_MAPPING TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        end("none: fatal for the producer"),
    ),
    **each("UNKNOWN_PRODUCER_ID TRANSACTION_ABORTABLE", _ABORT),
}
_INIT_PRODUCER_ID = {
    **each(_COORDINATOR, _coordinator("FindCoordinator of the transactional id, then InitProducerId again")),
    **each(_FENCED_PRODUCER, end("none: a newer producer took over; it is fatal")),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": surface("none: it is a matter of permission; surface it"),
}
_ADD_PARTITIONS = {
    **_TXN,
    **each("TOPIC_AUTHORIZATION_FAILED OPERATION_NOT_ATTEMPTED UNKNOWN_TOPIC_OR_PARTITION", _ABORT),
    "CONCURRENT_TRANSACTIONS": back_off("the same again, 20 ms later the first time", not_ready=True, waits=True),
}
_TXN_OFFSETS = {
    **each(f"{_COORDINATOR} REQUEST_TIMED_OUT", _coordinator(_FIND_GROUP)),
    **each(
        "GROUP_AUTHORIZATION_FAILED FENCED_INSTANCE_ID TRANSACTION_ABORTABLE UNKNOWN_MEMBER_ID ILLEGAL_GENERATION "
        "GROUP_ID_NOT_FOUND STALE_MEMBER_EPOCH",
        _ABORT,
    ),
    **each(f"{_FENCED_PRODUCER} UNSUPPORTED_FOR_MESSAGE_FORMAT", end("none: fatal for the producer")),
}
_FETCH = {
    **each(
        "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH",
        find_owner(
            "Fetch at the leader of the hint (KIP-951), and Metadata", "metadata", "hint", "offset_for_leader_epoch"
        ),
    ),
    **each(
        "REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR OFFSET_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID "
        "INCONSISTENT_TOPIC_ID",
        find_owner("Metadata, then Fetch", "metadata"),
    ),
    "OFFSET_OUT_OF_RANGE": ask(
        "ListOffsets at the leader, then Fetch at its answer (a reader of a follower: Fetch at the leader; "
        "auto.offset.reset=none: none)",
        "list_offsets",
        "offset_for_leader_epoch",
    ),
    **each("UNKNOWN_LEADER_EPOCH UNKNOWN_SERVER_ERROR", back_off("Fetch again")),
    "CORRUPT_MESSAGE": surface("an error for the application; Fetch of the same offset when it polls again"),
}
_OFFSETS = {
    **each(
        "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE "
        "REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR OFFSET_NOT_AVAILABLE UNKNOWN_LEADER_EPOCH",
        find_owner("Metadata, then the same again after back-off", "metadata"),
    ),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": back_off("none: there is no such offset"),
}
_JOIN_GROUP = {
    _NOT_READY: _loading("back off, JoinGroup again; not FindCoordinator"),
    **each(_COORDINATOR, _coordinator("disconnect, FindCoordinator, JoinGroup")),
    "UNKNOWN_MEMBER_ID": ask("JoinGroup with an empty member id at once", "join_group"),
    **each(
        "INCONSISTENT_GROUP_PROTOCOL INVALID_GROUP_ID INVALID_SESSION_TIMEOUT GROUP_MAX_SIZE_REACHED "
        "GROUP_AUTHORIZATION_FAILED UNSUPPORTED_VERSION",
        surface("none: fatal, an error for the application"),
    ),
}
_SYNC_GROUP = {
    _NOT_READY: ask("an error from poll; JoinGroup at the next poll", "join_group"),
    **each(_COORDINATOR, _coordinator("disconnect, FindCoordinator, JoinGroup")),
    "ILLEGAL_GENERATION": ask("JoinGroup with the same member id at once", "join_group"),
    "UNKNOWN_MEMBER_ID": ask("JoinGroup with an empty member id", "join_group"),
}
_HEARTBEAT = {
    _NOT_READY: _loading("Heartbeat again after back-off; not FindCoordinator"),
    **each(_COORDINATOR, _coordinator("disconnect, FindCoordinator, then Heartbeat")),
    "ILLEGAL_GENERATION": ask("JoinGroup with the same member id", "join_group"),
    "UNKNOWN_MEMBER_ID": ask("JoinGroup with an empty member id", "join_group"),
}
_OFFSET_COMMIT = {
    _NOT_READY: _loading("commitSync: OffsetCommit again after back-off; commitAsync: none"),
    **each(f"{_COORDINATOR} REQUEST_TIMED_OUT", _coordinator("FindCoordinator, then OffsetCommit again")),
    "ILLEGAL_GENERATION": ask("the commit fails; JoinGroup with the same member id", "join_group"),
    "UNKNOWN_MEMBER_ID": ask("the commit fails; JoinGroup with an empty member id", "join_group"),
    "STALE_MEMBER_EPOCH": ask("OffsetCommit again with the epoch of the next heartbeat, or it fails", "heartbeat"),
    **each("UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID", back_off("OffsetCommit again after back-off")),
    **each(_RAISED, surface("an error for the application")),
}
_OFFSET_FETCH = {
    _NOT_READY: _loading("back off, OffsetFetch again; not FindCoordinator"),
    **each(_COORDINATOR, _coordinator("FindCoordinator, then OffsetFetch again")),
    "STALE_MEMBER_EPOCH": ask("OffsetFetch again with the epoch of the next heartbeat", "heartbeat"),
    **each("UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID", back_off("OffsetFetch again after back-off")),
}
_GROUP_HEARTBEAT = {
    **each(_COORDINATOR, _coordinator("FindCoordinator, heartbeat as soon as it is found")),
    _NOT_READY: _loading("heartbeat after back-off; not FindCoordinator"),
    **each(
        "FENCED_MEMBER_EPOCH UNKNOWN_MEMBER_ID",
        ask("drop all partitions, heartbeat with epoch 0 and the same member id", "join_group"),
    ),
    "TOPIC_AUTHORIZATION_FAILED": surface("heartbeats go on; an error for the application"),
    **each(
        "GROUP_AUTHORIZATION_FAILED INVALID_REQUEST GROUP_MAX_SIZE_REACHED UNSUPPORTED_ASSIGNOR "
        "INVALID_REGULAR_EXPRESSION GROUP_ID_NOT_FOUND UNSUPPORTED_VERSION UNRELEASED_INSTANCE_ID FENCED_INSTANCE_ID "
        "STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED",
        end("none: fatal, no more heartbeats"),
    ),
}
_FIND_COORDINATOR = {
    **each(
        f"{_COORDINATOR} {_NOT_READY} REQUEST_TIMED_OUT",
        Reaction("back off, Metadata, FindCoordinator again", is_not_ready=True, waits=True),
    ),
    **each(
        "GROUP_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        surface("none: it is a matter of permission; surface it"),
    ),
}
_METADATA = {
    **each(
        "LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID LISTENER_NOT_FOUND KAFKA_STORAGE_ERROR",
        Reaction("Metadata again after back-off", frozenset({"metadata"}), is_not_ready=True, waits=True),
    ),
    "REBOOTSTRAP_REQUIRED": find_owner("close all connections, Metadata from the bootstrap servers", "reconnect"),
}
_ADMIN = {
    "NOT_CONTROLLER": find_owner("Metadata, then the same at the controller", "metadata"),
    "THROTTLING_QUOTA_EXCEEDED": back_off("the same again after the throttle time", not_ready=True),
}

_REACTIONS: dict[str, dict[str, Reaction]] = {
    "Produce": _PRODUCE,
    "Produce/transactional": _PRODUCE_IN_TRANSACTION,
    "Fetch": _FETCH,
    "ShareFetch": {
        **each(
            "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH",
            find_owner("the leader of the hint, or Metadata", "metadata", "hint"),
        )
    },
    "ShareAcknowledge": {**each("REQUEST_TIMED_OUT", back_off("ShareAcknowledge again until its time is up"))},
    "ListOffsets": _OFFSETS,
    "OffsetForLeaderEpoch": _OFFSETS,
    "Metadata": _METADATA,
    "FindCoordinator": _FIND_COORDINATOR,
    "JoinGroup": _JOIN_GROUP,
    "SyncGroup": _SYNC_GROUP,
    "Heartbeat": _HEARTBEAT,
    "OffsetCommit": _OFFSET_COMMIT,
    "OffsetFetch": _OFFSET_FETCH,
    "ConsumerGroupHeartbeat": _GROUP_HEARTBEAT,
    "ShareGroupHeartbeat": _GROUP_HEARTBEAT,
    "StreamsGroupHeartbeat": _GROUP_HEARTBEAT,
    "InitProducerId": _INIT_PRODUCER_ID,
    "AddPartitionsToTxn": _ADD_PARTITIONS,
    "AddOffsetsToTxn": {**_TXN, "GROUP_AUTHORIZATION_FAILED": _ABORT},
    "TxnOffsetCommit": _TXN_OFFSETS,
    "EndTxn": _TXN,
    **dict.fromkeys(("CreateTopics", "DeleteTopics", "CreatePartitions"), _ADMIN),
}

# fmt: off
_PROFILES = (
    Profile(greets=EVERY, greetings=frozenset({0}), first_id=None, sasl_greeting=0, releases=RELEASES[:3]),
    Profile(greets=EVERY, greetings=frozenset({1}), first_id=None, sasl_greeting=0, releases=RELEASES[:6]),
    Profile(greets=EVERY, greetings=frozenset({2}), first_id=None, sasl_greeting=0, releases=RELEASES[:10]),
    Profile(greets=EVERY, greetings=frozenset({3, 4}), first_id=None, sasl_greeting=0, releases=RELEASES),
)
# fmt: on
_SETTINGS = {
    "bootstrap": Setting("bootstrap.servers"),
    "session_timeout": Setting("session.timeout.ms", "45000"),
    "heartbeat_interval": Setting("heartbeat.interval.ms", "3000"),
    "poll_interval": Setting("max.poll.interval.ms", "300000"),
    "poll_records": Setting("max.poll.records", "500"),
    "request_timeout": Setting("request.timeout.ms", "30000"),
    "connect_timeout": Setting("socket.connection.setup.timeout.ms", "10000"),
    "delivery_timeout": Setting("delivery.timeout.ms", "120000"),
    "metadata_age": Setting("metadata.max.age.ms", "300000"),
    "retry_backoff": Setting("retry.backoff.ms", "100"),
    "resend_wait": Setting("retry.backoff.ms", "100"),
    "reconnect_backoff": Setting("reconnect.backoff.max.ms", "1000"),
    "max_idle": Setting("connections.max.idle.ms", "540000"),
    "linger": Setting("linger.ms", "5; 0 before Kafka 4.0"),
    "batch_size": Setting("batch.size", "16384"),
    "request_size": Setting("max.request.size", "1048576"),
    "compression": Setting("compression.type", "none"),
    "in_flight": Setting("max.in.flight.requests.per.connection", "5"),
    "acks": Setting("acks=all", "all"),
    "transaction_timeout": Setting("transaction.timeout.ms", "60000"),
    "transactional_id": Setting("transactional.id"),
    "instance_id": Setting("group.instance.id"),
    "cooperative": Setting(
        "partition.assignment.strategy with org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    ),
    "group_protocol": Setting("group.protocol=consumer"),
    "commit_interval": Setting("auto.commit.interval.ms", "5000"),
    "fetch_wait": Setting("fetch.max.wait.ms", "500"),
    "fetch_min": Setting("fetch.min.bytes", "1"),
    "fetch_max": Setting("fetch.max.bytes"),
    "offset_reset": Setting("auto.offset.reset"),
    "security": Setting("security.protocol"),
    "mechanism": Setting("sasl.mechanism"),
    "credentials": Setting("sasl.jaas.config"),
    "truststore": Setting("ssl.truststore.location"),
    "keystore": Setting("ssl.keystore.location"),
    "tls_versions": Setting("ssl.enabled.protocols"),
    "tls_suites": Setting("ssl.cipher.suites"),
    "name_check": Setting("ssl.endpoint.identification.algorithm"),
}

JAVA = Library(
    name="java",
    software_names=("apache-kafka-java",),
    tls_library=JVM,
    profiles=_PROFILES,
    settings=_SETTINGS,
    title="Java",
    counts_over_connections=True,
    commit_ms=5_000,
    reactions=_REACTIONS,
    upgrade=Upgrade("kafka-clients (Java)", (2, 1)),
)
