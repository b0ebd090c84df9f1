"""Leaders of groups that send SyncGroup late.

The leader assigns the partitions of all members, and the coordinator answers the SyncGroup of the others when it has
that of the leader. Until then nobody of the group reads. A leader that takes longer than its session timeout is
removed, and all members join again.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.groups.table import GroupMember, RebalanceRow

LATE_NS = 3_000_000_000
"""Assigning partitions takes milliseconds. A member may miss a heartbeat (heartbeat.interval.ms, 3 s by default)."""


@dataclass(frozen=True, slots=True)
class SyncRequest(Row):
    """A row of `requests` of SyncGroup."""

    TABLE: ClassVar[Table] = REQUESTS
    group_id: str
    member_id: str | None
    generation_or_epoch: int | None
    ts_ns: int
    client_ip: str


@dataclass(frozen=True, slots=True)
class LateSync:
    """The SyncGroup of a leader that came late. waiting: the members that had sent theirs before half of the wait was
    over."""

    leader: GroupMember
    client_ip: str
    joined_ns: int
    sent_ns: int
    waiting: frozenset[str]

    @property
    def took_ns(self) -> int:
        """From the response to the leader's JoinGroup to its SyncGroup."""
        return self.sent_ns - self.joined_ns


def joined_ns(member: GroupMember) -> int | None:
    """Returns when the response to the member's JoinGroup came."""
    if member.joined_ns is None or member.join_ms is None:
        return None
    return member.joined_ns + member.join_ms * 1_000_000


def late_sync(rebalance: RebalanceRow, requests: Sequence[SyncRequest]) -> LateSync | None:
    """Returns the leader's SyncGroup of a generation, if it came late and other members waited for it. requests: those
    of the generation, in order of time."""
    leader = next((member for member in rebalance.members if member.member_id == rebalance.leader), None)
    began_ns = None if leader is None else joined_ns(leader)
    if leader is None or began_ns is None:
        return None
    of_member: dict[str, SyncRequest] = {}
    for row in requests:
        if row.member_id and row.ts_ns >= began_ns:
            of_member.setdefault(row.member_id, row)
    own = of_member.pop(leader.member_id, None)
    if own is None or own.ts_ns - began_ns < LATE_NS:
        return None
    half_ns = (own.ts_ns - began_ns) // 2
    waiting = frozenset(name for name, row in of_member.items() if row.ts_ns - began_ns <= half_ns)
    return LateSync(leader, own.client_ip, began_ns, own.ts_ns, waiting) if waiting else None


def by_generation(requests: Iterable[SyncRequest]) -> dict[tuple[str, int | None], list[SyncRequest]]:
    """Returns the requests by group and generation, in order of time."""
    found: dict[tuple[str, int | None], list[SyncRequest]] = defaultdict(list)
    for row in sorted(requests, key=lambda each: each.ts_ns):
        found[row.group_id, row.generation_or_epoch].append(row)
    return found
