"""Streams groups (KIP-1071): the coordinator assigns tasks."""

from kafkascope_parsers.group_protocols.protocol import EPOCH_REQUEST, EPOCH_RESPONSE, GroupMessages, GroupProtocol

_HEARTBEAT = GroupMessages(
    request={**EPOCH_REQUEST, "rebalance_timeout_ms": "rebalance_timeout_ms"},
    response={**EPOCH_RESPONSE, "active_tasks": "active_tasks"},
    changes=("active_tasks",),
    assignment=("active_tasks", "standby_tasks", "warmup_tasks"),
)
STREAMS = GroupProtocol(
    "streams",
    words="streams protocol",
    apis=("StreamsGroupHeartbeat",),
    messages={"StreamsGroupHeartbeat": _HEARTBEAT},
    members_assign=False,
    brokers_set_session_timeout=True,
    has_tasks=True,
)
