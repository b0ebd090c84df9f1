"""Leaders of groups that send SyncGroup late, or not at all: the leader assigns the partitions, and the coordinator
answers the SyncGroup of the other members when it has the leader's. A leader that sends heartbeats and no SyncGroup
holds its group up until its process ends."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.api_keys import SYNC_GROUP
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.failure_facts import SilentLeader
from kafkascope_spark.stories.incidents.packets.late_leaders import (
    LATE_NS,
    LateSync,
    by_generation,
    joined_ns,
    late_sync,
)
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient

_LATE_MS = LATE_NS // 1_000_000


def give_silent_leaders(
    failures: Iterable[Failure],
    rebalances: Iterable[RebalanceRow],
    packets: Packets,
    clients: Mapping[str, AffectedClient],
) -> None:
    """Sets the leader for which a group still waited when the capture ended, or waited longest, of each failure of
    members. rebalances: those of all groups; clients: by client_instance_id."""
    of_members = [failure for failure in failures if failure.kind.of_members]
    _give_late_leaders([failure for failure in of_members if failure.root is None], rebalances, packets)
    waiting = [failure for failure in of_members if any(map(_is_open, failure.rebalances))]
    if not waiting:
        return
    of_group: dict[str, list[UnansweredRequest]] = defaultdict(list)
    for request in packets.unanswered(FOREVER, {SYNC_GROUP}):
        if request.group_id is not None and not request.given_up:
            of_group[request.group_id].append(request)
    for failure in waiting:
        for row in filter(_is_open, failure.rebalances):
            failure.members.silent_leader = (
                _leader(row, of_group.get(row.group_id, ()), clients) or failure.members.silent_leader
            )


def _give_late_leaders(failures: Iterable[Failure], rebalances: Iterable[RebalanceRow], packets: Packets) -> None:
    """Sets the leader whose SyncGroup came latest, of each failure of members in which one came late."""
    groups = {failure: _groups(failure) for failure in failures}
    known = set[str]().union(*groups.values())
    of_group: dict[str, list[RebalanceRow]] = defaultdict(list)
    for row in rebalances:
        if row.group_id in known and _may_have_waited(row):
            of_group[row.group_id].append(row)
    requests = by_generation(packets.syncs(of_group.keys()))
    for failure, names in groups.items():
        rows = (row for name in names for row in of_group.get(name, ()))
        syncs = ((row, late_sync(row, requests.get((row.group_id, row.generation), ()))) for row in rows)
        late = [(row, sync) for row, sync in syncs if sync and failure.overlap_ns(sync.joined_ns, sync.sent_ns) >= 0]
        if late:
            failure.members.silent_leader = _late_leader(late)


def _groups(failure: Failure) -> set[str]:
    """Returns the groups of a failure: errors show it by the group, before rebalances are assigned to it."""
    return {row.group_id for row in failure.rebalances} | {row.resource for row in failure.recoveries}


def _may_have_waited(rebalance: RebalanceRow) -> bool:
    """Whether the members of a generation waited for seconds, or got no partitions."""
    return rebalance.leader is not None and (rebalance.duration_ms or _LATE_MS) >= _LATE_MS


def _late_leader(late: Sequence[tuple[RebalanceRow, LateSync]]) -> SilentLeader:
    """Returns the leader that took longest. late: generations with its SyncGroup; not empty."""
    row, sync = max(late, key=lambda each: each[1].took_ns)
    return SilentLeader(
        sync.leader.client_id,
        sync.client_ip,
        row.generation,
        sync.joined_ns,
        len(sync.waiting),
        sync.sent_ns,
        len(late),
        sync.leader.session_timeout_ms,
    )


def _is_open(rebalance: RebalanceRow) -> bool:
    """Whether no member of the generation has its assignment. Its outcome may be `stable` then: coordinators accept
    heartbeats while they wait for the leader."""
    none_synced = all(member.synced_ns is None for member in rebalance.members)
    return rebalance.leader is not None and rebalance.end_ns is None and none_synced


def _leader(
    rebalance: RebalanceRow, requests: Iterable[UnansweredRequest], clients: Mapping[str, AffectedClient]
) -> SilentLeader | None:
    """Returns the leader if its JoinGroup was answered, other members wait for the response to SyncGroup, and it sent
    none on its connection."""
    leader = next((member for member in rebalance.members if member.member_id == rebalance.leader), None)
    began_ns = None if leader is None else joined_ns(leader)
    if leader is None or began_ns is None or leader.synced_ns is not None:
        return None
    held = [request for request in requests if request.ts_ns >= began_ns]
    if not held or any(request.conn_id == leader.conn_id for request in held):
        return None
    known = clients.get(leader.client_instance_id or "")
    client_ip = None if known is None else known.client_ip
    return SilentLeader(leader.client_id, client_ip, rebalance.generation, began_ns, len(held))
