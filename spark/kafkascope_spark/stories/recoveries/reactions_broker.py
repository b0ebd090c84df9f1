"""The reactions of brokers and controllers to errors of other brokers, by API.

Source: AbstractFetcherThread, TransactionMarkerRequestCompletionHandler, NodeToControllerRequestThread,
KafkaRaftClient of Kafka's server.
"""

from kafkascope_spark.stories.recoveries.reaction import Reaction, ask, back_off, each, find_owner

_LATER = back_off("Fetch again after replica.fetch.backoff.ms, or when it learns of the new leader")
_TO_CONTROLLER = {"NOT_CONTROLLER": find_owner("reconnect to the new controller, the same again", "reconnect")}

BROKER: dict[str, dict[str, Reaction]] = {
    "Fetch": {
        "OFFSET_OUT_OF_RANGE": ask("ListOffsets, then Fetch at its answer", "list_offsets"),
        "OFFSET_MOVED_TO_TIERED_STORAGE": ask("ListOffsets, OffsetForLeaderEpoch, then Fetch", "list_offsets"),
        **each(
            "NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID "
            "UNKNOWN_LEADER_EPOCH",
            _LATER,
        ),
        "FENCED_LEADER_EPOCH": back_off("none until the controller announces the new leader"),
        "BROKER_NOT_AVAILABLE": back_off("the same again after back-off"),
    },
    "OffsetForLeaderEpoch": each("NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH", _LATER),
    "WriteTxnMarkers": each(
        "UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND "
        "REQUEST_TIMED_OUT KAFKA_STORAGE_ERROR",
        back_off("the markers again, at the leader of that time"),
    ),
    "Envelope": _TO_CONTROLLER,
    "AlterPartition": _TO_CONTROLLER,
    "BrokerHeartbeat": _TO_CONTROLLER,
    "BrokerRegistration": _TO_CONTROLLER,
    "AllocateProducerIds": _TO_CONTROLLER,
}
