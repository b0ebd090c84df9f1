"""The table `rebalances`: the generations of groups, with their causes, costs and assignments."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I32, TIME, StoryRow, declares
from kafkascope_parsers.group_protocols import PROTOCOLS

GROUP_PROTOCOLS = tuple(protocol.name for protocol in PROTOCOLS)
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
"""Causes of generations. partitions_revoked: the second round of a cooperative rebalance, which assigns the partitions
that the first one freed."""
OUTCOMES = ("stable", "superseded", "open", "taken_over", "unseen")
MODES = ("eager", "cooperative", "incremental")
DEPARTURES = ("left", "evicted", "replaced", "unknown")


@dataclass(slots=True)
class GroupMember:
    """A member of a group in a generation."""

    member_id: str
    client_instance_id: str | None
    joined_ns: int | None
    synced_ns: int | None
    client_id: str | None
    group_instance_id: str | None
    conn_id: str | None
    is_new: bool
    join_ms: int | None
    sync_ms: int | None
    session_timeout_ms: Annotated[int | None, I32]
    rebalance_timeout_ms: Annotated[int | None, I32]
    assigned: tuple[str, ...] | None
    standby: tuple[str, ...]
    gained: tuple[str, ...] | None
    lost: tuple[str, ...] | None


@dataclass(slots=True)
class ReassignedPartition:
    """A topic-partition that changed its owner or was unread around a rebalance."""

    topic: Annotated[str, "topic"]
    partition: Annotated[int, I32, "partition"]
    owner_before: Annotated[str | None, "member id of the previous owner; null for none, or where it is not known"]
    owner_after: Annotated[str | None, "member id of the next owner; null for none, or where it is not known"]
    unread_from_ns: Annotated[int | None, "since when a record waited that no member fetched"]
    unread_to_ns: Annotated[int | None, "when a waiting record was fetched; null where the capture ended before"]
    unread_ms: Annotated[int | None, "from unread_from_ns to unread_to_ns, milliseconds; null where no record waited"]


@dataclass(frozen=True, slots=True)
class DepartedMember:
    """A member of the previous generation that is not in this one."""

    member_id: str
    client_instance_id: str | None
    client_id: str | None
    group_instance_id: str | None
    how: Annotated[str, DEPARTURES]
    why: str | None
    last_seen_ns: int | None
    silent_ms: int | None
    session_timeout_ms: Annotated[int | None, I32]
    request_id: str | None

    @property
    def left(self) -> bool:
        """Whether it left by itself."""
        return self.how == "left"


@declares(
    "rebalances",
    "generation (classic) or group epoch (KIP-848, share, streams)",
    sorted_by=("start_ns", "group_id", "rebalance_id"),
    salted=("rebalance_id", "incident_id"),
)
@dataclass(slots=True)
class RebalanceRow(StoryRow):
    """A row of stories/rebalances."""

    rebalance_id: Annotated[str, "the generation: the same for the same capture"]
    group_id: Annotated[str, "group"]
    group_protocol: Annotated[str, GROUP_PROTOCOLS, "protocol"]
    protocol_type: Annotated[
        str | None, "what a classic group is for: consumer, connect, ...; null for other protocols"
    ]
    node_id: Annotated[int | None, I32, "coordinator"]
    generation: Annotated[int | None, I32, "generation or group epoch; null where the capture shows none"]
    trigger: Annotated[str, TRIGGERS, "cause"]
    trigger_why: Annotated[str, "evidence of the cause, in a sentence"]
    trigger_member: Annotated[str | None, "member id of the member that caused it"]
    start_ns: Annotated[int | None, TIME, "first sign of it: the join, leave or heartbeat that began it"]
    end_ns: Annotated[int | None, TIME, "when the last member had its assignment"]
    duration_ms: Annotated[int | None, "start to end, milliseconds"]
    outcome: Annotated[
        str,
        OUTCOMES,
        "how it ended: all members seen had their assignment; another one began before; open when the capture "
        "ended; a static member's place was taken over, with no new generation; its making is not in the capture",
    ]
    mode: Annotated[str | None, MODES, "whether members stop for the whole rebalance, or only for partitions that move"]
    assignor: Annotated[str | None, "assignor or protocol that was chosen, where the capture shows it"]
    leader: Annotated[str | None, "member that assigns (classic)"]
    n_members: Annotated[int, I32, "members"]
    members: Annotated[
        tuple[GroupMember, ...],
        "members: joined_ns (its join was sent; epoch reached), synced_ns (it had its assignment), join_ms and "
        "sync_ms (the coordinator's time for its join and sync), partitions assigned (tasks for streams, "
        "connectors and tasks for connect), gained and lost since the generation before",
    ]
    members_complete: Annotated[bool, "whether the capture shows all members (the leader's traffic), not some"]
    last_joiner: Annotated[str | None, "member that joined last, for which the others waited"]
    n_moved: Annotated[int, I32, "partitions that changed their owner"]
    unread_ms: Annotated[int | None, "longest unread_ms of a partition; null where none was unread"]
    partitions: Annotated[
        tuple[ReassignedPartition, ...],
        "topic-partitions that changed their owner, or that nobody in the group read meanwhile, by name: "
        "owner_before and owner_after (member ids; null for nobody, or where the capture does not show it), and "
        "the time in which accepted records waited and no Fetch of the group brought any: unread_from_ns, "
        "unread_to_ns (null: until the capture ended) and unread_ms; all null where nothing waited for longer "
        "than the group's usual pause, or where the capture does not show since when records were there (by their "
        "producer, a follower or another reader). It is the wait of a row of stalls of the kind consume, shorter "
        "ones included; one that lasts through several rebalances is in each of them",
    ]
    departed: Annotated[
        tuple[DepartedMember, ...],
        "members of the generation before that are in it no more: how (left: it said so; evicted: it was silent; "
        "replaced: another took its group.instance.id), and when its last request was seen",
    ]
    n_refused_commits: Annotated[int, I32, "offset commits refused because of it"]
    refused_commits: Annotated[tuple[str, ...], "the first of them, as request ids"]
    fenced: Annotated[
        tuple[str, ...], "request ids refused with FENCED_INSTANCE_ID or UNRELEASED_INSTANCE_ID meanwhile"
    ]
    lag_records: Annotated[
        int | None,
        "records between the last offsets that the generation committed and the ends of their partitions then, as "
        "Fetch responses gave them; null where the capture does not show both",
    ]
    n_lag_partitions: Annotated[int | None, I32, "partitions of which it shows both"]
    incident_id: Annotated[str | None, "incident that it belongs to; null where it belongs to none"]
    evidence: Annotated[tuple[str, ...], "request ids that prove trigger, generation and assignments, in order of time"]

    @property
    def lost(self) -> tuple[DepartedMember, ...]:
        """The members that the group removed: they had not left by themselves, and no new process of the same static
        member took their place at once."""
        return tuple(member for member in self.departed if not member.left and not self._is_taken_over(member))

    def _is_taken_over(self, member: DepartedMember) -> bool:
        return self.outcome == "taken_over" and member.how == "replaced"


REBALANCES = RebalanceRow.TABLE
