"""The row of a classic group's generation: mode, departures and moves by comparison with the generation before."""

import pytest

from kafkascope_parsers.group_protocols.classic import CLASSIC
from kafkascope_spark.stories.groups.classic_round import COOPERATIVE_ASSIGNORS, classic_row
from kafkascope_spark.stories.groups.generation import Departure, Generation, Member
from kafkascope_spark.stories.groups.ownership import Ownership

S = 1_000_000_000


def generation(number: int, start_s: int, *members: Member, assignor: str | None = "range") -> Generation:
    now = Generation("g", CLASSIC, start_s * S, number=number, assignor=assignor, settled=True)
    now.members = {member.member_id: member for member in members}
    now.listed = {member.member_id: member.group_instance_id for member in members}
    return now


def joined(name: str, at_s: int, *assigned: str, instance: str | None = None) -> Member:
    at_ns = at_s * S
    return Member(
        name, client_id=name, group_instance_id=instance, joined_ns=at_ns, entered_ns=at_ns, assigned=assigned
    )


def assignors() -> list[tuple[str | None, str | None]]:
    """The names are those of AbstractPartitionAssignor's subclasses, of StreamsPartitionAssignor and of Connect's
    ConnectProtocolCompatibility; eager ones give up everything before they join (KIP-429)."""
    eager = [(name, "eager") for name in ("range", "roundrobin", "sticky", "default")]
    cooperative = [(name, "cooperative") for name in ("cooperative-sticky", "compatible", "sessioned", "stream")]
    return [*eager, *cooperative, (None, None)]


@pytest.mark.parametrize(("assignor", "mode"), assignors())
def test_the_assignor_says_whether_members_stop(assignor: str | None, mode: str | None) -> None:
    assert (assignor in COOPERATIVE_ASSIGNORS) == (mode == "cooperative")
    row = classic_row(generation(2, 10, joined("a", 11), assignor=assignor), (None, False), None, Ownership())
    assert row.mode == mode


def test_a_member_that_keeps_partitions_while_it_joins_is_cooperative() -> None:
    """Whatever the assignor is called: an application may have its own."""
    member = joined("a", 11)
    member.owned = ("t-0",)
    row = classic_row(generation(2, 10, member, assignor="ours"), (None, False), None, Ownership())
    assert row.mode == "cooperative"


def departures(gone: Member, now: Generation) -> list[tuple[str, str, str | None]]:
    row = classic_row(now, (generation(1, 1, joined("a", 2), gone), False), None, Ownership())
    return [(member.member_id, member.how, member.why) for member in row.departed]


def test_a_member_that_was_silent_for_its_session_timeout_was_evicted() -> None:
    """It was last seen at 5 s; the coordinator answers the first JoinGroup of the next generation at 16 s."""
    gone = joined("b", 2)
    gone.last_seen_ns, gone.session_timeout_ms, gone.close_ns, gone.close_kind = 5 * S, 10_000, 6 * S, "rst_client"
    ((_, how, why),) = departures(gone, generation(2, 10, joined("a", 16)))
    assert how == "evicted"
    assert why == "b was silent for 11.0 s (session.timeout.ms 10000), its connection ended (rst_client)"


def test_a_member_whose_session_had_time_left_did_not_join_again_in_time() -> None:
    """The coordinator waits for the rebalance timeout, then goes on without those that have not joined."""
    gone = joined("b", 2)
    gone.last_seen_ns, gone.session_timeout_ms, gone.rebalance_timeout_ms = 15 * S, 45_000, 6_000
    ((_, how, why),) = departures(gone, generation(2, 10, joined("a", 16)))
    assert (how, why) == ("evicted", "b did not join again in time (rebalance.timeout.ms 6000)")


def test_a_member_of_which_the_capture_shows_no_request_left_in_an_unknown_way() -> None:
    ((_, how, _),) = departures(joined("b", 2), generation(2, 10, joined("a", 16)))
    assert how == "unknown"


def test_a_static_member_under_a_new_id_was_replaced_and_its_partitions_stay_its_own() -> None:
    ownership = Ownership()
    before = generation(1, 1, joined("s-1", 2, "t-0", instance="host-1"))
    classic_row(before, (None, True), None, ownership)
    row = classic_row(generation(2, 10, joined("s-2", 16, "t-0", instance="host-1")), (before, False), None, ownership)
    assert [(member.member_id, member.how, member.why) for member in row.departed] == [("s-1", "replaced", "s-2")]
    assert row.n_moved == 0


def test_partitions_of_a_member_that_left_move_to_the_others() -> None:
    ownership = Ownership()
    before = generation(1, 1, joined("a", 2, "t-0"), joined("b", 2, "t-1"))
    classic_row(before, (None, True), None, ownership)
    now = generation(2, 10, joined("a", 16, "t-0", "t-1"))
    now.left["b"] = Departure(before.members["b"], "left", None, "r-leave", 10 * S)
    now.left["c"] = Departure(Member("c"), "left", None, "r-leave-2", 10 * S)  # it never was in generation 1
    row = classic_row(now, (before, False), None, ownership)
    (moved,) = row.partitions
    assert (moved.partition, moved.owner_before, moved.owner_after) == (1, "b", "a")
    assert [(gone.member_id, gone.how) for gone in row.departed] == [("b", "left")]
    assert (row.n_moved, row.lost) == (1, ())
