"""Leaders of groups that do not send SyncGroup: the leader assigns the partitions, and the coordinator answers the
SyncGroup of the other members when it has the leader's. A leader that sends heartbeats and no SyncGroup holds its group
up until its process ends."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.api_keys import SYNC_GROUP
from kafkascope_spark.stories.groups.table import GroupMember, RebalanceRow
from kafkascope_spark.stories.incidents.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.failure_facts import SilentLeader
from kafkascope_spark.stories.incidents.unanswered_requests import UnansweredRequest


def give_silent_leaders(failures: Iterable[Failure], packets: Packets, clients: Mapping[str, AffectedClient]) -> None:
    """Sets the leader for which a group still waited when the capture ended, of each failure of members. clients: by
    client_instance_id."""
    waiting = [failure for failure in failures if failure.kind.of_members and any(map(_is_open, failure.rebalances))]
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
    joined_ns = None if leader is None else _joined_ns(leader)
    if leader is None or joined_ns is None or leader.synced_ns is not None:
        return None
    held = [request for request in requests if request.ts_ns >= joined_ns]
    if not held or any(request.conn_id == leader.conn_id for request in held):
        return None
    known = clients.get(leader.client_instance_id or "")
    client_ip = None if known is None else known.client_ip
    return SilentLeader(leader.client_id, client_ip, rebalance.generation, joined_ns, len(held))


def _joined_ns(member: GroupMember) -> int | None:
    """Returns when the response to the member's JoinGroup came."""
    if member.joined_ns is None or member.join_ms is None:
        return None
    return member.joined_ns + member.join_ms * 1_000_000
