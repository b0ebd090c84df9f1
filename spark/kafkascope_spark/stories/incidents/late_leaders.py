"""Leaders of groups that send SyncGroup late.

The leader assigns the partitions of all members, and the coordinator answers the SyncGroup of the others when it has
that of the leader. Until then nobody of the group reads. A leader that takes longer than its session timeout is
removed, and all members join again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers.api_keys import SYNC_GROUP
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


def sync_requests(dataset: Dataset | None, group_ids: Collection[str]) -> list[SyncRequest]:
    """Returns the SyncGroup requests of the groups; none without a dataset. Raises UsageError where a table cannot be
    read. Memory: these requests."""
    if dataset is None or not group_ids:
        return []
    chosen = one_of("group_id", sorted(group_ids)) & (ds.field("api_key") == SYNC_GROUP)
    return list(read(dataset, SyncRequest, chosen))


def joined_ns(member: GroupMember) -> int | None:
    """Returns when the response to the member's JoinGroup came."""
    if member.joined_ns is None or member.join_ms is None:
        return None
    return member.joined_ns + member.join_ms * 1_000_000


def late_sync(rebalance: RebalanceRow, requests: Iterable[SyncRequest]) -> LateSync | None:
    """Returns the leader's SyncGroup of a generation, if it came late and other members waited for it. requests: those
    of the group."""
    leader = next((member for member in rebalance.members if member.member_id == rebalance.leader), None)
    began_ns = None if leader is None else joined_ns(leader)
    if leader is None or began_ns is None:
        return None
    of_member: dict[str, SyncRequest] = {}
    for row in sorted(requests, key=lambda r: r.ts_ns):
        if row.member_id and row.generation_or_epoch == rebalance.generation and row.ts_ns >= began_ns:
            of_member.setdefault(row.member_id, row)
    own = of_member.pop(leader.member_id, None)
    if own is None or own.ts_ns - began_ns < LATE_NS:
        return None
    half_ns = (own.ts_ns - began_ns) // 2
    waiting = frozenset(name for name, row in of_member.items() if row.ts_ns - began_ns <= half_ns)
    return LateSync(leader, own.client_ip, began_ns, own.ts_ns, waiting) if waiting else None


def by_group(requests: Iterable[SyncRequest]) -> dict[str, list[SyncRequest]]:
    """Returns the requests by their group."""
    found: dict[str, list[SyncRequest]] = defaultdict(list)
    for row in requests:
        found[row.group_id].append(row)
    return found
