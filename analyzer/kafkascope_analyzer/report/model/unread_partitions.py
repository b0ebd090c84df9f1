"""Rebalances as the story table has them, and the topic-partitions that were unread for a while, in words: the same in
every form of the report.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from kafkascope_analyzer.report.formatting import clock, count, safe, span
from kafkascope_analyzer.report.plain import CLIPPED
from kafkascope_spark.stories.groups.table import (
    DepartedMember,
    GroupMember,
    ReassignedPartition,
    RebalanceRow,
)

Names = Mapping[str, str]
"""Member id -> client id, where it has one."""


@dataclass(slots=True)
class Member(GroupMember):
    """A member of a group."""

    assigned: Annotated[tuple[str, ...], CLIPPED]
    standby: Annotated[tuple[str, ...], CLIPPED]
    gained: Annotated[tuple[str, ...], CLIPPED]
    lost: Annotated[tuple[str, ...], CLIPPED]


@dataclass(slots=True)
class Rebalance(RebalanceRow):
    """A row of stories/rebalances."""

    members: tuple[Member, ...]
    partitions: Annotated[tuple[ReassignedPartition, ...], CLIPPED]
    departed: Annotated[tuple[DepartedMember, ...], CLIPPED]
    refused_commits: Annotated[tuple[str, ...], CLIPPED]
    fenced: Annotated[tuple[str, ...], CLIPPED]
    evidence: Annotated[tuple[str, ...], CLIPPED]
    unread_text: Annotated[str, "the partitions that were unread, in words; empty where none was"] = ""
    last_joiner_client_id: Annotated[str | None, "client id of the last to join"] = None

    @property
    def trigger_words(self) -> str:
        """The trigger of the rebalance, in words."""
        return self.trigger.replace("_", " ")

    @property
    def members_by_joining(self) -> list[Member]:
        """The members in the order in which they joined."""
        return sorted(self.members, key=lambda member: (member.joined_ns or 0, member.member_id))


def departed_name(member: DepartedMember) -> str:
    """Returns the client id of a member that left, else its member id."""
    return safe(member.client_id or member.member_id or "a member")


def with_unread(row: Rebalance, names: Names, capture_ns: int) -> Rebalance:
    """Returns the rebalance with its partitions, those that were unread longest first, and their summary in words."""
    others = tuple(entry for entry in row.partitions if entry.unread_ms is None)
    return replace(row, partitions=unread_of(row) + others, unread_text=unread_text(row, names, capture_ns))


def member_names(rebalances: Iterable[Rebalance]) -> Names:
    """Returns the names of all members of these rebalances, including members that left."""
    members = (member for row in rebalances for part in (row.members, row.departed) for member in part)
    return {member.member_id: member.client_id for member in members if member.member_id and member.client_id}


def unread_of(row: Rebalance) -> tuple[ReassignedPartition, ...]:
    """Returns the partitions of a rebalance that were unread, the longest first."""
    unread = [entry for entry in row.partitions if entry.unread_ms is not None]
    return tuple(sorted(unread, key=lambda entry: (-(entry.unread_ms or 0), entry.topic, entry.partition)))


def most_unread_text(unread_ms: int | None) -> str:
    """Returns `partitions unread for up to 5.45 s`; empty where none was."""
    return "" if unread_ms is None else f"partitions unread for up to {span(1000 * unread_ms)}"


def unread_text(row: Rebalance, names: Names, capture_ns: int) -> str:
    """Returns how many partitions of a rebalance were unread, and the one that was unread longest; empty where none
    was."""
    unread = unread_of(row)
    if not unread:
        return ""
    n = len({(entry.topic, entry.partition) for entry in unread})
    if n == 1:
        return partition_text(unread[0], names, capture_ns)
    longest = f"{_name(unread[0])}{_owners(unread[0], names)} the longest: {_how_long(unread[0], capture_ns)}"
    return f"{count(n, 'partition')} were unread, {longest}"


def partition_text(entry: ReassignedPartition, names: Names, capture_ns: int) -> str:
    """Returns `clicks-3 (reader-1 → reader-2) was unread for 5.45 s from 00:16.231 to 00:21.681`. For a partition
    without an unread time: that it has another owner."""
    what = f"{_name(entry)}{_owners(entry, names)}"
    if entry.unread_ms is None:
        return f"{what} has another owner"
    return f"{what} was unread {_how_long(entry, capture_ns)}"


def _name(entry: ReassignedPartition) -> str:
    return f"{safe(entry.topic)}-{entry.partition}"


def _how_long(entry: ReassignedPartition, capture_ns: int) -> str:
    begun, until = clock((entry.unread_from_ns or capture_ns) - capture_ns), entry.unread_to_ns
    ended = "until the capture ended" if until is None else f"to {clock(until - capture_ns)}"
    return f"for {span(1000 * (entry.unread_ms or 0))} from {begun} {ended}"


def _owners(entry: ReassignedPartition, names: Names) -> str:
    """Returns ` (reader-1 → reader-2)`; ` (reader-1)` where it kept its owner; an empty text where no owner
    is known."""
    before, after = entry.owner_before, entry.owner_after
    if before is None and after is None:
        return ""
    if before == after:
        return f" ({safe(names.get(after or '', after))})"
    who = ["nobody" if owner is None else safe(names.get(owner, owner)) for owner in (before, after)]
    return f" ({who[0]} → {who[1]})"
