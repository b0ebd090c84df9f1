"""Leaders of groups whose SyncGroup comes late, on rows made by hand."""

from typing import Any

from kafkascope_spark.stories.groups.table import GroupMember, RebalanceRow
from kafkascope_spark.stories.incidents.late_leaders import LateSync, SyncRequest, by_generation, late_sync

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
