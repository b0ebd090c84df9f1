"""`rebalances`: a group's generations, what made each, and what it cost its members."""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column, Table, i32, i64, text, time

TRIGGERS = (
    "member_joined",
    "member_left",
    "member_evicted",
    "subscription_changed",
    "coordinator_moved",
    "first",
    "unknown",
)

MEMBER = pa.struct(
    [
        ("member_id", pa.string()),
        ("client_instance_id", pa.string()),
        ("joined_ns", pa.int64()),
        ("synced_ns", pa.int64()),
        ("stopped_ms", pa.int64()),
    ]
)

REBALANCES = Table(
    "rebalances",
    "generation (classic) or group epoch (KIP-848, share, streams)",
    (
        text("rebalance_id", "the generation: the same for the same capture"),
        text("group_id", "group"),
        text("group_protocol", "protocol", "classic", "consumer", "share", "streams"),
        i32("node_id", "coordinator"),
        i32("generation", "generation or group epoch"),
        text("trigger", "what made it", *TRIGGERS),
        *time("start", "first sign of it: the join or heartbeat that began it"),
        *time("end", "when the last member had its assignment"),
        i64("duration_ms", "start to end, milliseconds"),
        i32("n_members", "members"),
        Column("members", pa.list_(MEMBER), "members, with when each had joined and had its assignment"),
        text("last_joiner", "member that joined last: who the others waited for"),
    ),
)
