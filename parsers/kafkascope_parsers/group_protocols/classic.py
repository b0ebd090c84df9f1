"""Classic groups: members join, one of them assigns, all of them get their assignment together."""

from kafkascope_parsers.group_protocols.protocol import GroupMessages, GroupProtocol, same_names

CLASSIC = GroupProtocol(
    "classic",
    words="classic protocol",
    apis=("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    messages={
        "JoinGroup": GroupMessages(
            request=same_names(
                "member_id", "session_timeout_ms", "rebalance_timeout_ms", "protocol_type", "protocols", "reason"
            ),
            response=same_names("member_id", "generation_id", "protocol_type", "protocol_name", "leader", "members"),
        ),
        "SyncGroup": GroupMessages(
            request=same_names("member_id", "protocol_type", "protocol_name", "assignments"),
            response=same_names("protocol_type", "protocol_name", "assignment"),
        ),
        "LeaveGroup": GroupMessages(request={"member_id": "member_id", "leaving_members": "members"}),
    },
    members_assign=True,
    brokers_set_session_timeout=False,
)
