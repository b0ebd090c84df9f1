"""What happened in a group whose coordinator assigns (KIP-848, share groups, streams groups)."""

from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_parsers.group_protocols.consumer import CONSUMER
from kafkascope_spark.stories.groups.epoch_based import DEFAULT_INTERVAL_MS, SILENT_HEARTBEATS, EpochGroup
from kafkascope_spark.stories.groups.epoch_states import EPOCH_TRANSITIONS, EpochEvent, EpochState

MS = 1_000_000
New = Callable[..., Any]


def two_members(t: Any, protocol: str = "consumer") -> Any:
    """a joins at 0 and has 0 to 3 in epoch 1; b joins at 9 s: a gives up 2 and 3, comes to epoch 2, b gets them."""
    how = {"protocol": protocol}
    t.epoch(0, "a", 0, 1, (0, 1, 2, 3), topics=["t"], **how).epoch(9_000, "b", 0, 2, (), topics=["t"], **how)
    t.epoch(9_400, "a", 1, 1, (0, 1), **how).epoch(9_500, "a", 1, 2, **how)
    return t.epoch(10_005, "b", 2, 2, (2, 3), **how)


def test_the_first_member_makes_the_first_epoch(trace: New, tp: New) -> None:
    (row,) = trace().epoch(0, "a", 0, 1, (0, 1), topics=["t"]).rebalances()
    assert (row.group_protocol, row.generation, row.trigger) == ("consumer", 1, "first")
    assert (row.start_ns, row.end_ns, row.outcome, row.mode) == (0, 5 * MS, "stable", "incremental")
    assert row.members[0].assigned == row.members[0].gained == tp(0, 1)


def test_what_moves_goes_from_the_one_to_the_other(trace: New, of_members: New, tp: New) -> None:
    _, row = two_members(trace()).rebalances()
    assert (row.generation, row.trigger, row.trigger_member) == (2, "member_joined", "b")
    assert (row.start_ns, row.end_ns) == (9_000 * MS, 10_010 * MS)
    assert of_members(row, "lost") == {"a": tp(2, 3), "b": ()}
    assert of_members(row, "gained") == {"a": (), "b": tp(2, 3)}
    moved = {p.partition: (p.owner_before, p.owner_after, p.unread_ms) for p in row.partitions}
    assert moved == {2: ("a", "b", None), 3: ("a", "b", None)}
    assert (row.n_moved, row.last_joiner) == (2, "a")


def test_a_join_that_receives_the_old_epoch_makes_the_next(trace: New) -> None:
    """The coordinator answers before it has assigned anew."""
    t = trace().epoch(0, "a", 0, 1, (0, 1), topics=["t"]).epoch(9_000, "b", 0, 1, (), topics=["t"])
    one, two = t.epoch(9_300, "a", 1, 2).epoch(10_000, "b", 1, 2, (1,)).rebalances()
    assert [m.member_id for m in one.members] == ["a"]
    assert (two.trigger, two.start_ns, two.n_members) == ("member_joined", 9_000 * MS, 2)


def test_a_member_that_says_goodbye_left(trace: New, of_members: New, tp: New) -> None:
    t = two_members(trace()).epoch(20_000, "b", -1, -1).epoch(20_400, "a", 2, 3, (0, 1, 2, 3))
    row = t.rebalances()[-1]
    assert (row.trigger, row.trigger_member, row.generation) == ("member_left", "b", 3)
    assert (row.start_ns, row.outcome) == (20_000 * MS, "stable")
    assert [(d.member_id, d.how) for d in row.departed] == [("b", "left")]
    assert of_members(row, "gained") == {"a": tp(2, 3)}


def test_a_silent_member_was_evicted(trace: New, of_members: New) -> None:
    """b was last seen at 12 s; a receives an epoch that b never comes to."""
    t = two_members(trace()).keep(10_500, 12_000, "b", 2, 68).keep(9_600, 18_000, "a", 2, 68)
    row = t.epoch(18_500, "a", 2, 3, (0, 1, 2, 3)).keep(19_000, 90_000, "a", 3, 68).rebalances()[-1]
    assert (row.trigger, row.trigger_member, row.outcome) == ("member_evicted", "b", "stable")
    (gone,) = row.departed
    assert (gone.how, gone.last_seen_ns, gone.silent_ms) == ("evicted", 12_000 * MS, 6_500)
    assert {p.partition: (p.owner_before, p.owner_after) for p in row.partitions} == {
        2: ("b", "a"),
        3: ("b", "a"),
    }


def test_one_that_learns_that_it_was_evicted_and_comes_back(trace: New) -> None:
    t = two_members(trace()).keep(10_500, 12_000, "b", 2, 68).epoch(18_500, "a", 2, 3, (0, 1, 2, 3))
    t.epoch(21_000, "b", 2, 0, error="UNKNOWN_MEMBER_ID").epoch(21_010, "b", 0, 4, (), topics=["t"])
    t.epoch(21_500, "a", 3, 3, (0, 1)).epoch(21_600, "a", 3, 4).epoch(22_000, "b", 4, 4, (2, 3))
    evicted, back = t.rebalances()[-2:]
    assert (evicted.trigger, evicted.trigger_member) == ("member_evicted", "b")
    assert evicted.departed[0].request_id == "b-7"
    assert (back.generation, back.trigger, back.trigger_member) == (4, "member_joined", "b")
    assert back.members[0].is_new


def test_another_subscription(trace: New) -> None:
    t = trace().epoch(0, "a", 0, 1, (0,), topics=["t"]).epoch(5_000, "a", 1, 1, topics=["t", "u"])
    row = t.epoch(5_500, "a", 1, 2, (0, 1)).rebalances()[-1]
    assert (row.trigger, row.trigger_why) == ("subscription_changed", "a subscribes to t, u now")


def test_the_same_subscription_again_is_no_change(trace: New) -> None:
    t = trace().epoch(0, "a", 0, 1, (0,), topics=["t"]).epoch(5_000, "a", 1, 1, topics=["t"])
    assert t.epoch(5_500, "a", 1, 2, (0, 1)).rebalances()[-1].trigger == "unknown"


def test_a_static_member_comes_back_under_a_new_id(trace: New, of_members: New, tp: New) -> None:
    """It left with epoch -2, so that its place is kept."""
    t = trace().epoch(0, "s", 0, 1, (0, 1), topics=["t"], instance="node-1").epoch(9_000, "s", -2, -2)
    row = t.epoch(9_500, "s#2", 0, 1, (0, 1), topics=["t"], instance="node-1").rebalances()[-1]
    assert (row.outcome, row.generation) == ("taken_over", 1)
    assert of_members(row, "assigned") == {"s#2": tp(0, 1)}
    assert [(d.member_id, d.how) for d in row.departed] == [("s", "replaced")]


def test_when_the_last_one_has_left_there_is_no_epoch_more(trace: New) -> None:
    t = trace().epoch(0, "a", 0, 1, (0,), topics=["t"]).epoch(5_000, "a", -1, -1)
    rows = t.epoch(9_000, "b", 0, 3, (0,), topics=["t"]).rebalances()
    assert [(r.generation, r.trigger) for r in rows] == [(1, "first"), (3, "first")]


def test_an_epoch_that_is_open_when_the_capture_ends(trace: New) -> None:
    t = trace(end=9_600).epoch(0, "a", 0, 1, (0, 1), topics=["t"]).keep(1_000, 9_300, "a", 1, 68)
    row = t.epoch(9_000, "b", 0, 2, (), topics=["t"]).rebalances()[-1]
    assert (row.outcome, row.generation, row.end_ns) == ("open", 2, None)


def test_a_commit_with_a_stale_epoch_counts_for_the_epoch(trace: New) -> None:
    t = two_members(trace()).commit(9_450, "a", 1, "STALE_MEMBER_EPOCH")
    assert [r.n_refused_commits for r in t.rebalances()] == [0, 1]


def test_what_began_before_the_capture_is_unseen(trace: New) -> None:
    t = trace().keep(0, 9_000, "a", 7, 68).keep(500, 9_500, "b", 7, 68)
    (row,) = t.rebalances()
    assert (row.generation, row.outcome, row.start_ns) == (7, "unseen", None)
    assert [m.assigned for m in row.members] == [None, None]


def test_members_of_a_share_group_share_partitions(trace: New, of_members: New, tp: New) -> None:
    """Both have partition 0: nothing moves."""
    t = trace().epoch(0, "a", 0, 1, (0,), topics=["t"], protocol="share")
    row = t.epoch(9_000, "b", 0, 2, (0,), topics=["t"], protocol="share").epoch(9_500, "a", 1, 2, protocol="share")
    row = row.rebalances()[-1]
    assert (row.group_protocol, row.n_moved, row.partitions) == ("share", 0, ())
    assert of_members(row, "assigned") == {"a": tp(0), "b": tp(0)}


def test_tasks_of_a_streams_group(trace: New, of_members: New) -> None:
    _, row = two_members(trace(), "streams").rebalances()
    assert (row.group_protocol, row.n_moved) == ("streams", 2)
    assert of_members(row, "assigned") == {"a": ("0_0", "0_1"), "b": ("0_2", "0_3")}


def test_a_group_that_is_upgraded_has_rows_of_both_protocols(trace: New) -> None:
    t = trace().join(2, 300, "a", 1, members=["a"]).sync(301, 305, "a", 1, 0, gives={"a": (0,)}).leave(5_000, "a")
    rows = t.epoch(9_000, "b", 0, 3, (0,), topics=["t"]).rebalances()
    assert [(r.group_protocol, r.generation) for r in rows] == [("classic", 1), ("consumer", 3)]


def test_a_group_of_which_nothing_was_seen_has_no_row() -> None:
    group = EpochGroup("g", CONSUMER, 100_000 * MS)
    assert group.state is EpochState.UNSEEN
    assert [*group.finish()] == []


def test_the_default_interval_is_that_of_brokers() -> None:
    """group.consumer.heartbeat.interval.ms (Kafka's GroupCoordinatorConfig)."""
    assert DEFAULT_INTERVAL_MS == 5_000


@pytest.mark.parametrize(("missed", "how"), [(SILENT_HEARTBEATS - 0.5, []), (SILENT_HEARTBEATS + 0.5, ["evicted"])])
def test_a_member_is_silent_when_it_missed_several_heartbeats(trace: New, missed: float, how: list[str]) -> None:
    """Its coordinator gave both an interval of 1 s; b is behind the epoch that a has when the next one begins."""
    at = 30_000 + int(1_000 * missed)
    t = two_members(trace()).keep(10_500, 30_000, "b", 2, 68).keep(9_600, 30_000, "a", 2, 68)
    t.epoch(30_100, "a", 2, 3, (0, 1, 2, 3)).epoch(at, "a", 3, 4)
    row = next(row for row in t.rebalances() if row.generation == 3)
    assert [gone.how for gone in row.departed] == how


@pytest.mark.parametrize("known", EpochState)
def test_a_group_is_stable_no_sooner_than_its_members_reach_the_epoch(known: EpochState) -> None:
    """Kafka's ConsumerGroupState, whatever was known before: a capture may begin anywhere."""

    def after(*events: EpochEvent) -> EpochState:
        state = known
        for event in events:
            state = EPOCH_TRANSITIONS.after(state, event)
        return state

    assert after(EpochEvent.CHANGE) is EpochState.ASSIGNING
    assert after(EpochEvent.CHANGE, EpochEvent.EPOCH) is EpochState.RECONCILING
    assert after(EpochEvent.EPOCH, EpochEvent.TAKE_OVER) is EpochState.RECONCILING
    assert after(EpochEvent.CHANGE, EpochEvent.EPOCH, EpochEvent.LAST_LEAVE) is EpochState.EMPTY
    assert after(EpochEvent.LAST_LEAVE, EpochEvent.CHANGE) is EpochState.ASSIGNING


def test_the_begin_of_an_epoch_is_known_if_the_one_before_is(trace: New) -> None:
    """A member that is at the epoch with its first request in the capture may have been so for hours; not if the group
    was at an earlier epoch since."""
    (unseen,) = trace().epoch(9_000, "a", 7, 7, (0,)).rebalances()
    assert (unseen.generation, unseen.outcome, unseen.start_ns) == (7, "unseen", None)
    _, later = trace().epoch(0, "a", 0, 1, (0,), topics=["t"]).epoch(9_000, "b", 2, 2, (1,)).rebalances()
    assert (later.generation, later.start_ns) == (2, 9_000 * MS)
