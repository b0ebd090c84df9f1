"""Share groups (KIP-932): several members read a partition at a time."""

from kafkascope_parsers.group_protocols.protocol import (
    EPOCH_REQUEST,
    EPOCH_RESPONSE,
    SUBSCRIPTION,
    GroupMessages,
    GroupProtocol,
)

_HEARTBEAT = GroupMessages(
    request={**EPOCH_REQUEST, **SUBSCRIPTION},
    response=EPOCH_RESPONSE,
    changes=("subscribed_topic_names",),
    assignment=("assignment",),
)
SHARE = GroupProtocol(
    "share",
    words="share group",
    apis=("ShareGroupHeartbeat",),
    messages={"ShareGroupHeartbeat": _HEARTBEAT},
    members_assign=False,
    brokers_set_session_timeout=True,
    shares_partitions=True,
)
