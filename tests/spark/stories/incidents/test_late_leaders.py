"""Leaders of groups whose SyncGroup comes late, on rows made by hand."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.api_keys import SYNC_GROUP
from kafkascope_spark.stories.groups.table import GroupMember, RebalanceRow
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.failure_facts import SilentLeader
from kafkascope_spark.stories.incidents.groups.silent_leaders import give_silent_leaders
from kafkascope_spark.stories.incidents.kinds.client import CLIENT
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.packets.late_leaders import LateSync, SyncRequest, by_generation, late_sync
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest

from .conftest import row_of

S = 1_000_000_000


def member(name: str) -> GroupMember:
    """A member whose JoinGroup was sent at 1 s and answered at 4 s."""
    values: dict[str, Any] = dict.fromkeys(GroupMember.__dataclass_fields__)
    values |= {"member_id": name, "client_id": name, "joined_ns": S, "join_ms": 3_000, "is_new": True, "standby": ()}
    return GroupMember(**values)


def rebalance(*names: str) -> RebalanceRow:
    """Generation 5 of a group, which the first member leads."""
    values: dict[str, Any] = dict.fromkeys(RebalanceRow.__dataclass_fields__)
    values |= {"group_id": "g", "generation": 5, "leader": names[0], "members": tuple(map(member, names))}
    return RebalanceRow(**values)


def sync(name: str, at_s: float, generation: int = 5) -> SyncRequest:
    return SyncRequest("g", name, generation, int(at_s * S), "10.0.1.4")


def late(generation: RebalanceRow, requests: list[SyncRequest]) -> LateSync | None:
    """requests: in any order, of any generation."""
    return late_sync(generation, by_generation(requests).get(("g", 5), ()))


def test_leader_that_takes_long_while_others_wait() -> None:
    found = late(rebalance("a", "b", "c"), [sync("a", 17), sync("b", 4.01), sync("c", 4.02)])
    assert found is not None
    assert (found.leader.member_id, found.took_ns, found.waiting) == ("a", 13 * S, {"b", "c"})


def test_leader_that_is_in_time() -> None:
    assert late(rebalance("a", "b"), [sync("b", 4.01), sync("a", 4.5)]) is None


def test_leader_for_which_nobody_waits() -> None:
    """The other member comes as late as the leader: the group waits for both, as where their host stood still."""
    assert late(rebalance("a", "b"), [sync("b", 15), sync("a", 17)]) is None
    assert late(rebalance("a"), [sync("a", 17)]) is None


def test_requests_of_another_generation_do_not_count() -> None:
    assert late(rebalance("a", "b"), [sync("b", 4.01), sync("a", 17, generation=6)]) is None


class Syncs(Packets):
    """Has these SyncGroup requests, and those without a response."""

    def __init__(self, *syncs: SyncRequest, unanswered: Collection[UnansweredRequest] = ()) -> None:
        super().__init__()
        self._syncs, self._unanswered = syncs, unanswered

    def syncs(self, group_ids: Collection[str]) -> list[SyncRequest]:
        return [row for row in self._syncs if row.group_id in group_ids]

    def unanswered(self, until_ns: int, keys: Collection[int]) -> list[UnansweredRequest]:
        assert (until_ns, set(keys)) == (FOREVER, {SYNC_GROUP})
        return list(self._unanswered)


def silent_leader(row: RebalanceRow, packets: Packets, kind: Kind = MEMBER, start_s: int = 1) -> SilentLeader | None:
    failure = Failure(kind, "group g", start_s * S, None, rebalances=[row])
    give_silent_leaders([failure], [row], packets, {})
    return failure.members.silent_leader


def test_the_leader_that_came_late_is_known_to_the_failure_of_its_group() -> None:
    row, packets = rebalance("a", "b", "c"), Syncs(sync("a", 17), sync("b", 4.01), sync("c", 4.02))
    found = silent_leader(row, packets)
    assert found is not None
    assert (found.client_id, found.joined_ns, found.sent_ns, found.n_waiting) == ("a", 4 * S, 17 * S, 2)
    assert silent_leader(row, packets, kind=CLIENT) is None
    assert silent_leader(row, packets, start_s=18) is None, "the failure began afterwards"
    row.duration_ms = 200
    assert silent_leader(row, packets) is None, "it cannot have waited for seconds"


def waits(name: str, at_s: int, *, given_up: bool = False) -> UnansweredRequest:
    """A SyncGroup without a response, on the connection of that member."""
    made = row_of(UnansweredRequest, group_id="g", conn_id=f"conn-{name}", ts_ns=at_s * S)
    return replace(made, given_up=given_up)


def test_a_leader_that_sends_none_while_others_wait() -> None:
    """KAFKA-12890. Members whose SyncGroup belongs to an earlier generation, or that gave it up, do not wait."""
    row = rebalance("a", "b")
    for each in row.members:
        each.conn_id = f"conn-{each.member_id}"
    found = silent_leader(row, Syncs(unanswered=[waits("b", 5)]))
    assert found is not None
    assert (found.client_id, found.generation, found.sent_ns, found.n_waiting) == ("a", 5, None, 1)
    for requests in ([], [waits("b", 3)], [waits("b", 5, given_up=True)], [waits("b", 5), waits("a", 5)]):
        assert silent_leader(row, Syncs(unanswered=requests)) is None
    row.members[1].synced_ns = 6 * S
    assert silent_leader(row, Syncs(unanswered=[waits("b", 5)])) is None, "one has its assignment"
