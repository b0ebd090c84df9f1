"""Constants that the state machines over groups share."""

from kafkascope_parsers.schema import api_keys, api_name

_KEYS = {api_name(key): key for key in api_keys()}
JOIN_GROUP, SYNC_GROUP, LEAVE_GROUP = _KEYS["JoinGroup"], _KEYS["SyncGroup"], _KEYS["LeaveGroup"]
HEARTBEAT, OFFSET_COMMIT, FIND_COORDINATOR = _KEYS["Heartbeat"], _KEYS["OffsetCommit"], _KEYS["FindCoordinator"]
CONSUMER_GROUP_HEARTBEAT = _KEYS["ConsumerGroupHeartbeat"]
SHARE_GROUP_HEARTBEAT = _KEYS["ShareGroupHeartbeat"]
STREAMS_GROUP_HEARTBEAT = _KEYS["StreamsGroupHeartbeat"]
COMMITS = (OFFSET_COMMIT, _KEYS["TxnOffsetCommit"])

REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
STALE_MEMBER = (UNKNOWN_MEMBER_ID, "ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH")
FENCED_INSTANCE = ("FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID")
