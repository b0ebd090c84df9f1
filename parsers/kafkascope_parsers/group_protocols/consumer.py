"""Consumer groups of KIP-848: the coordinator assigns, and heartbeats carry the whole protocol."""

from kafkascope_parsers.group_protocols.protocol import (
    EPOCH_REQUEST,
    EPOCH_RESPONSE,
    SUBSCRIPTION,
    GroupMessages,
    GroupProtocol,
)

_HEARTBEAT = GroupMessages(
    request={
        **EPOCH_REQUEST,
        **SUBSCRIPTION,
        "rebalance_timeout_ms": "rebalance_timeout_ms",
        "subscribed_regex": "subscribed_topic_regex",
        "protocol_name": "server_assignor",
    },
    response=EPOCH_RESPONSE,
    changes=("subscribed_topic_names", "subscribed_topic_regex", "topic_partitions"),
    assignment=("assignment",),
)
CONSUMER = GroupProtocol(
    "consumer",
    words="consumer protocol (KIP-848)",
    apis=("ConsumerGroupHeartbeat",),
    messages={"ConsumerGroupHeartbeat": _HEARTBEAT},
    members_assign=False,
    brokers_set_session_timeout=True,
)
