"""Kinds of `events` that show what happened to a group. Their key is the group id."""

from collections.abc import Mapping

import pyarrow as pa

_STRINGS, _INTS = pa.list_(pa.string()), pa.list_(pa.int32())
_ASSIGNED_TOPICS = pa.list_(pa.struct([("topic", pa.string()), ("partitions", _INTS)]))
_TASKS = pa.list_(pa.struct([("subtopology_id", pa.string()), ("partitions", _INTS)]))

COMMIT_REFUSALS = (
    "REBALANCE_IN_PROGRESS",
    "UNKNOWN_MEMBER_ID",
    "ILLEGAL_GENERATION",
    "FENCED_MEMBER_EPOCH",
    "STALE_MEMBER_EPOCH",
    "FENCED_INSTANCE_ID",
    "UNRELEASED_INSTANCE_ID",
)
"""Errors by which a coordinator refuses a member's commit because the group has moved on."""
GROUP_REQUEST_BODY = pa.struct(
    [
        ("member_id", pa.string()),
        ("session_timeout_ms", pa.int32()),
        ("rebalance_timeout_ms", pa.int32()),
        ("protocol_type", pa.string()),
        ("protocol_name", pa.string()),
        ("reason", pa.string()),
        ("protocols", pa.list_(pa.struct([("name", pa.string()), ("metadata", pa.binary())]))),
        ("assignments", pa.list_(pa.struct([("member_id", pa.string()), ("assignment", pa.binary())]))),
        (
            "leaving_members",
            pa.list_(
                pa.struct([("member_id", pa.string()), ("group_instance_id", pa.string()), ("reason", pa.string())])
            ),
        ),
        ("member_epoch", pa.int32()),
        ("subscribed_topics", _STRINGS),
        ("subscribed_regex", pa.string()),
    ]
)
"""Fields of a request of a group, whichever its API: Kafka's own names, null where the API lacks the field."""
GROUP_RESPONSE_BODY = pa.struct(
    [
        ("member_id", pa.string()),
        ("generation_id", pa.int32()),
        ("protocol_type", pa.string()),
        ("protocol_name", pa.string()),
        ("leader", pa.string()),
        ("members", pa.list_(pa.struct([("member_id", pa.string()), ("group_instance_id", pa.string())]))),
        ("assignment", pa.binary()),
        ("member_epoch", pa.int32()),
        ("heartbeat_interval_ms", pa.int32()),
        ("has_assignment", pa.bool_()),
        ("assigned_topics", _ASSIGNED_TOPICS),
        ("active_tasks", _TASKS),
        ("standby_tasks", _TASKS),
    ]
)
"""Fields of the response. has_assignment: whether a heartbeat's response carries an assignment, be it an empty one;
assigned_topics: its topics, by id where the capture does not show the name; standby_tasks: with warm-up tasks."""

GROUP_KINDS: dict[str, pa.StructType] = {
    "group_request": pa.struct(
        [
            ("request_id", pa.string()),
            ("client_id", pa.string()),
            ("node_id", pa.int32()),
            ("api_key", pa.int16()),
            ("response_ns", pa.int64()),
            ("status", pa.string()),
            ("error_name", pa.string()),
            ("member_id", pa.string()),
            ("group_instance_id", pa.string()),
            ("generation_or_epoch", pa.int32()),
            ("close_ns", pa.int64()),
            ("close_kind", pa.string()),
            ("request", GROUP_REQUEST_BODY),
            ("response", GROUP_RESPONSE_BODY),
        ]
    ),
    "group_member": pa.struct(
        [
            ("request_id", pa.string()),
            ("client_id", pa.string()),
            ("node_id", pa.int32()),
            ("api_key", pa.int16()),
            ("member_id", pa.string()),
            ("group_instance_id", pa.string()),
            ("generation_or_epoch", pa.int32()),
            ("last_ns", pa.int64()),
            ("n", pa.int64()),
        ]
    ),
    "group_lag": pa.struct(
        [
            ("generation_or_epoch", pa.int32()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("committed_offset", pa.int64()),
            ("high_watermark", pa.int64()),
        ]
    ),
}
"""Kinds of events of groups, each with its struct.

group_request: a request that forms or changes a group (JoinGroup, SyncGroup, LeaveGroup, heartbeats that carry the
whole protocol where they change something), that the group's coordinator refused (Heartbeat, commits), or that looked
for the coordinator; with the bodies of request and response, and the end of its connection. response_ns: the response's
last byte. group_member: requests without an error by which a member kept its place, rolled up to one row for each
member, generation, API and connection: the first of them, when the last was sent (last_ns), how many (n). group_lag
(section 0): the last offset that a generation committed for a topic-partition, at ts_ns, and the highest high watermark
that responses to Fetch on any connection had reported by the end of that second.
"""
GROUP_SECTIONS: Mapping[str, int] = {"group_request": 1, "group_member": 1, "group_lag": 0}
"""Section of the events of each kind."""
