"""`rebalances`: a group's generations, what made each, what it cost its members, and who got what."""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import STRINGS, Column, Table, flag, i32, i64, text, texts, time

GROUP_PROTOCOLS = ("classic", "consumer", "share", "streams")
TRIGGERS = (
    "member_joined",
    "member_left",
    "member_evicted",
    "subscription_changed",
    "partitions_revoked",
    "coordinator_moved",
    "first",
    "unknown",
)
"""partitions_revoked: the second round of a cooperative rebalance, which hands out what the first one freed."""
OUTCOMES = ("stable", "superseded", "open", "taken_over", "unseen")
MODES = ("eager", "cooperative", "incremental")
DEPARTURES = ("left", "evicted", "replaced", "unknown")

MEMBER = pa.struct(
    [
        ("member_id", pa.string()),
        ("client_instance_id", pa.string()),
        ("joined_ns", pa.int64()),
        ("synced_ns", pa.int64()),
        ("client_id", pa.string()),
        ("group_instance_id", pa.string()),
        ("conn_id", pa.string()),
        ("is_new", pa.bool_()),
        ("join_ms", pa.int64()),
        ("sync_ms", pa.int64()),
        ("session_timeout_ms", pa.int32()),
        ("rebalance_timeout_ms", pa.int32()),
        ("assigned", STRINGS),
        ("standby", STRINGS),
        ("gained", STRINGS),
        ("lost", STRINGS),
    ]
)
PARTITION = pa.struct(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("owner_before", pa.string()),
        ("owner_after", pa.string()),
        ("unread_from_ns", pa.int64()),
        ("unread_to_ns", pa.int64()),
        ("unread_ms", pa.int64()),
    ]
)
DEPARTED = pa.struct(
    [
        ("member_id", pa.string()),
        ("client_instance_id", pa.string()),
        ("client_id", pa.string()),
        ("group_instance_id", pa.string()),
        ("how", pa.string()),
        ("why", pa.string()),
        ("last_seen_ns", pa.int64()),
        ("silent_ms", pa.int64()),
        ("session_timeout_ms", pa.int32()),
        ("request_id", pa.string()),
    ]
)

REBALANCES = Table(
    "rebalances",
    "generation (classic) or group epoch (KIP-848, share, streams)",
    (
        text("rebalance_id", "the generation: the same for the same capture"),
        text("group_id", "group"),
        text("group_protocol", "protocol", *GROUP_PROTOCOLS),
        text("protocol_type", "what a classic group is for: consumer, connect, ...; null for other protocols"),
        i32("node_id", "coordinator"),
        i32("generation", "generation or group epoch; null where it never came to one in the capture"),
        text("trigger", "what made it", *TRIGGERS),
        text("trigger_why", "what shows that, in a sentence"),
        text("trigger_member", "member id of the member that made it"),
        *time("start", "first sign of it: the join, leave or heartbeat that began it"),
        *time("end", "when the last member had its assignment"),
        i64("duration_ms", "start to end, milliseconds"),
        text(
            "outcome",
            "how it ended: all members seen had their assignment; another one began before; open when the capture "
            "ended; a static member's place was taken over, with no new generation; its making is not in the capture",
            *OUTCOMES,
        ),
        text("mode", "whether members stop for all of it, or for the partitions that move", *MODES),
        text("assignor", "assignor or protocol that was chosen, where the capture shows it"),
        text("leader", "member that assigns (classic)"),
        i32("n_members", "members"),
        Column(
            "members",
            pa.list_(MEMBER),
            "members: joined_ns (its join was sent; epoch reached), synced_ns (it had its assignment), join_ms and "
            "sync_ms (the coordinator's time for its join and sync), partitions assigned (tasks for streams, "
            "connectors and tasks for connect), gained and lost since the generation before",
        ),
        flag("members_complete", "whether the capture shows all members (the leader's traffic), not some"),
        text("last_joiner", "member that joined last: who the others waited for"),
        i32("n_moved", "partitions that changed their owner"),
        i64("unread_ms", "longest unread_ms of a partition; null where none was unread"),
        Column(
            "partitions",
            pa.list_(PARTITION),
            "topic-partitions that changed their owner, or that nobody in the group read meanwhile, by name: "
            "owner_before and owner_after (member ids; null for nobody, or where the capture does not show it), and "
            "the time in which accepted records waited and no Fetch of the group brought any: unread_from_ns, "
            "unread_to_ns (null: until the capture ended) and unread_ms; all null where nothing waited for longer "
            "than the group's usual pause, or where the capture does not show since when records were there (by their "
            "producer, a follower or another reader). It is the wait of a row of stalls of the kind consume, shorter "
            "ones included; one that lasts through several rebalances is in each of them",
        ),
        Column(
            "departed",
            pa.list_(DEPARTED),
            "members of the generation before that are in it no more: how (left: it said so; evicted: it was silent; "
            "replaced: another took its group.instance.id), and when its last request was seen",
        ),
        i32("n_refused_commits", "offset commits refused because of it"),
        texts("refused_commits", "the first of them, as request ids"),
        texts("fenced", "request ids refused with FENCED_INSTANCE_ID or UNRELEASED_INSTANCE_ID meanwhile"),
        i64(
            "lag_records",
            "records between the last offsets that the generation committed and the ends of their partitions then, as "
            "Fetch responses gave them; null where the capture does not show both",
        ),
        i32("n_lag_partitions", "partitions of which it shows both"),
        text("incident_id", "incident that it belongs to; null where it belongs to none"),
        texts("evidence", "request ids that prove trigger, generation and assignments, in order of time"),
    ),
)
