"""What happened in a classic group, from what its members sent and were answered."""

from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, GroupRequestBody, MemberActivity
from kafkascope_parsers import api_keys
from kafkascope_parsers.group_protocols.classic import CLASSIC
from kafkascope_spark.stories.groups.classic import MOST_NEW_IDS, SETTLED_HEARTBEATS, ClassicGroup
from kafkascope_spark.stories.groups.classic_states import (
    CLASSIC_TRANSITIONS,
    ClassicEvent,
    ClassicState,
    begins_a_round,
)
from kafkascope_spark.stories.groups.event_order import Event, Phase
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.groups.transitions import Transitions

MS = 1_000_000
New = Callable[..., Any]


def owners(row: RebalanceRow) -> dict[int, tuple[str | None, str | None]]:
    """Who had and who has each partition that changed its owner."""
    return {p.partition: (p.owner_before, p.owner_after) for p in row.partitions}


def one_member(t: Any) -> Any:
    """a is alone in generation 1 and has partitions 0 to 3."""
    t.asks_first(0, "a").join(2, 300, "a", 1, members=["a"])
    return t.sync(301, 305, "a", 1, 0, 1, 2, 3, gives={"a": (0, 1, 2, 3)}).keep(3_000, 9_000, "a", 1)


def two_members(t: Any) -> Any:
    """b joins at 9.2 s; a learns it at 9.5 s; generation 2 is settled at 9.52 s."""
    one_member(t).asks_first(9_200, "b").join(9_202, 9_510, "b", 2)
    t.beat(9_500, "a", 1, "REBALANCE_IN_PROGRESS").join(9_503, 9_510, "a", 2, members=["a", "b"])
    t.sync(9_511, 9_520, "a", 2, 0, 1, gives={"a": (0, 1), "b": (2, 3)}).sync(9_512, 9_519, "b", 2, 2, 3)
    return t.keep(12_000, 21_000, "a", 2).keep(12_000, 18_000, "b", 2)


def test_the_first_member_makes_the_first_generation(trace: New, tp: New) -> None:
    (row,) = one_member(trace()).rebalances()
    assert (row.generation, row.trigger, row.trigger_member) == (1, "first", "a")
    assert (row.start_ns, row.end_ns, row.duration_ms) == (2 * MS, 305 * MS, 303)
    assert (row.outcome, row.mode, row.assignor, row.leader) == ("stable", "eager", "range", "a")
    assert (row.n_members, row.last_joiner, row.members_complete) == (1, "a", True)
    (member,) = row.members
    assert (member.join_ms, member.sync_ms) == (298, 4)
    assert member.assigned == member.gained == tp(0, 1, 2, 3)
    assert row.evidence == ("a-0", "a-1", "a-2")


def test_a_new_member_is_the_trigger(trace: New, of_members: New, tp: New) -> None:
    _, row = two_members(trace()).rebalances()
    assert (row.generation, row.trigger, row.trigger_member) == (2, "member_joined", "b")
    assert row.trigger_why == "b joined"
    assert (row.start_ns, row.end_ns) == (9_202 * MS, 9_520 * MS)
    assert row.last_joiner == "a"
    assert of_members(row, "is_new") == {"a": False, "b": True}
    assert of_members(row, "gained") == {"a": (), "b": tp(2, 3)}
    assert of_members(row, "lost") == {"a": tp(2, 3), "b": ()}
    assert row.n_moved == 2


def test_a_member_that_says_goodbye_left(trace: New, tp: New) -> None:
    t = two_members(trace()).leave(22_000, "b", "the consumer is being closed")
    t.beat(23_000, "a", 2, "REBALANCE_IN_PROGRESS").join(23_002, 23_004, "a", 3, members=["a"])
    t.sync(23_005, 23_009, "a", 3, 0, 1, 2, 3, gives={"a": (0, 1, 2, 3)})
    row = t.rebalances()[-1]
    assert (row.trigger, row.trigger_member) == ("member_left", "b")
    assert row.trigger_why == "b left: the consumer is being closed"
    assert row.start_ns == 22_000 * MS
    (gone,) = row.departed
    assert (gone.member_id, gone.how, gone.why) == ("b", "left", "the consumer is being closed")
    assert row.members[0].gained == tp(2, 3)
    assert row.n_moved == 2


def test_a_silent_member_was_evicted_after_its_session_timeout(trace: New) -> None:
    """b was last seen at 18 s, its session timeout is 10 s."""
    t = two_members(trace()).beat(28_100, "a", 2, "REBALANCE_IN_PROGRESS").join(28_101, 28_103, "a", 3, members=["a"])
    t.sync(28_104, 28_108, "a", 3, 0, 1, 2, 3, gives={"a": (0, 1, 2, 3)})
    row = t.rebalances()[-1]
    assert (row.trigger, row.trigger_member) == ("member_evicted", "b")
    assert "session.timeout.ms 10000" in row.trigger_why
    (gone,) = row.departed
    assert (gone.how, gone.last_seen_ns, gone.silent_ms) == ("evicted", 18_000 * MS, 10_101)
    assert (gone.session_timeout_ms, gone.client_instance_id) == (10_000, "ci-b")


def test_a_replacement_that_joins_before_the_eviction_is_the_trigger(trace: New) -> None:
    """b is killed at 18 s, its successor joins at 20 s: b is waited for until 28 s."""
    t = two_members(trace()).asks_first(20_000, "b#2").join(20_002, 28_010, "b#2", 3)
    t.beat(21_100, "a", 2, "REBALANCE_IN_PROGRESS").join(21_102, 28_010, "a", 3, members=["a", "b#2"])
    t.sync(28_011, 28_020, "a", 3, 0, 1, gives={"a": (0, 1), "b#2": (2, 3)}).sync(28_011, 28_019, "b#2", 3, 2, 3)
    row = t.rebalances()[-1]
    assert (row.trigger, row.trigger_member) == ("member_joined", "b#2")
    assert [(d.member_id, d.how) for d in row.departed] == [("b", "evicted")]
    assert owners(row) == {2: ("b", "b#2"), 3: ("b", "b#2")}


def test_all_gone_without_a_word_the_next_one_finds_an_empty_group(trace: New) -> None:
    t = one_member(trace()).asks_first(30_000, "b").join(30_002, 30_300, "b", 3, members=["b"])
    row = t.sync(30_301, 30_305, "b", 3, 0, gives={"b": (0,)}).rebalances()[-1]
    assert (row.trigger, row.trigger_member) == ("first", "b")
    assert row.departed[0].how == "evicted"


def test_after_the_last_one_left_the_next_one_is_the_first(trace: New) -> None:
    t = one_member(trace()).leave(9_100, "a").asks_first(12_000, "b").join(12_002, 12_300, "b", 3, members=["b"])
    rows = t.sync(12_301, 12_305, "b", 3, 0, gives={"b": (0,)}).rebalances()
    assert [(r.generation, r.trigger, r.departed) for r in rows] == [(1, "first", ()), (3, "first", ())]


def test_another_subscription(trace: New) -> None:
    t = one_member(trace()).join(9_100, 9_110, "a", 2, members=["a"], topics=("t", "u"))
    row = t.sync(9_111, 9_115, "a", 2, 0, gives={"a": (0,)}).rebalances()[-1]
    assert (row.trigger, row.trigger_why) == ("subscription_changed", "a joined again with u")


def test_partitions_that_were_added_or_a_topic_that_is_gone(trace: New) -> None:
    t = one_member(trace()).join(9_100, 9_110, "a", 2, members=["a"], reason="cached metadata has changed")
    t.sync(9_111, 9_115, "a", 2, 0, 1, 2, 3, 4, gives={"a": (0, 1, 2, 3, 4)})
    t.join(12_000, 12_010, "a", 3, members=["a"]).sync(12_011, 12_015, "a", 3, 4, gives={"a": (4,)})
    t.join(15_000, 15_010, "a", 4, members=["a"]).sync(15_011, 15_015, "a", 4, 4, gives={"a": (4,)})
    added, gone, same = t.rebalances()[1:]
    assert (added.trigger, added.trigger_why) == (
        "subscription_changed",
        "a joined again, there is 1 partition more: cached metadata has changed",
    )
    assert (gone.trigger, gone.trigger_why) == (
        "subscription_changed",
        "a joined again, there are 4 partitions less",
    )
    assert (same.trigger, same.trigger_member) == ("unknown", "a")


def test_the_coordinator_moved(trace: New) -> None:
    t = one_member(trace()).join(9_100, 9_110, "a", 2, members=["a"], node=3, reason="connection refused")
    row = t.sync(9_111, 9_115, "a", 2, 0, gives={"a": (0,)}, node=3).rebalances()[-1]
    assert (row.trigger, row.node_id) == ("coordinator_moved", 3)
    assert row.trigger_why == "a joined again at node 3, its coordinator was node 1: connection refused"


def test_a_cooperative_rebalance_takes_two_rounds_and_stops_what_moves(trace: New, of_members: New, tp: New) -> None:
    """b joins; a keeps reading, gives up 2 and 3 at 9.52 s and joins again; b has them at 9.63 s."""
    how = {"assignor": "cooperative-sticky"}
    t = trace().asks_first(0, "a").join(2, 300, "a", 1, members=["a"], **how)
    t.sync(301, 305, "a", 1, 0, 1, 2, 3, gives={"a": (0, 1, 2, 3)})
    t.asks_first(9_200, "b").join(9_202, 9_510, "b", 2, **how).beat(9_500, "a", 1, "REBALANCE_IN_PROGRESS")
    t.join(9_503, 9_510, "a", 2, members=["a", "b"], owned=(0, 1, 2, 3), **how)
    t.sync(9_511, 9_520, "a", 2, 0, 1, gives={"a": (0, 1), "b": ()}).sync(9_512, 9_519, "b", 2)
    t.join(9_522, 9_620, "a", 3, members=["a", "b"], owned=(0, 1), **how).beat(9_600, "b", 2, "REBALANCE_IN_PROGRESS")
    t.join(9_602, 9_620, "b", 3, **how).sync(9_621, 9_630, "a", 3, 0, 1, gives={"a": (0, 1), "b": (2, 3)})
    _, one, two = t.sync(9_621, 9_630, "b", 3, 2, 3).rebalances()
    assert (one.trigger, one.mode, one.n_moved) == ("member_joined", "cooperative", 0)
    assert owners(one) == {2: ("a", None), 3: ("a", None)}
    assert of_members(one, "lost") == {"a": tp(2, 3), "b": ()}
    assert (two.trigger, two.trigger_member, two.n_moved) == ("partitions_revoked", "a", 2)
    assert owners(two) == {2: ("a", "b"), 3: ("a", "b")}


def test_a_static_member_comes_back_without_a_rebalance(trace: New, of_members: New) -> None:
    """It receives the generation that there is, under a new member id; a request with its old one is fenced."""
    t = trace().join(0, 300, "s", 1, asks="", instance="node-1", members=["s"], instances={"s": "node-1"})
    t.sync(301, 305, "s", 1, 0, 1, gives={"s": (0, 1)}, instance="node-1").keep(3_000, 9_000, "s", 1)
    t.join(9_500, 9_504, "s#2", 1, asks="", instance="node-1").sync(9_505, 9_507, "s#2", 1, 0, 1, instance="node-1")
    t.beat(12_000, "s", 1, "FENCED_INSTANCE_ID", instance="node-1")
    first, taken = t.rebalances()
    assert (first.outcome, taken.outcome) == ("stable", "taken_over")
    assert taken.lost == ()
    assert (taken.generation, list(of_members(taken, "assigned"))) == (1, ["s#2"])
    assert of_members(taken, "gained") == {"s#2": ()}
    assert [(d.member_id, d.how) for d in taken.departed] == [("s", "replaced")]
    assert (taken.n_moved, len(taken.fenced)) == (0, 1)


def test_a_follower_that_joins_again_unchanged_makes_no_generation(trace: New) -> None:
    """The coordinator tells it the generation that there is."""
    t = two_members(trace()).join(21_500, 21_501, "b", 2).sync(21_502, 21_504, "b", 2, 2, 3)
    assert [r.generation for r in t.rebalances()] == [1, 2]
    assert t.rebalances()[-1].end_ns == 9_520 * MS


def test_a_join_that_comes_before_all_have_synced_supersedes_the_round(trace: New) -> None:
    t = trace().asks_first(0, "a").join(2, 300, "a", 1, members=["a"])
    t.asks_first(301, "b").join(303, 700, "b", 2).sync(305, 306, "a", 1, error="REBALANCE_IN_PROGRESS")
    t.join(308, 700, "a", 2, members=["a", "b"]).sync(701, 710, "a", 2, 0, gives={"a": (0,), "b": (1,)})
    one, two = t.sync(701, 710, "b", 2, 1).rebalances()
    assert (one.outcome, one.end_ns, two.outcome) == ("superseded", None, "stable")


def test_an_assignment_that_arrives_after_the_next_join_was_sent_belongs_to_its_generation(trace: New) -> None:
    t = trace().asks_first(0, "a").join(2, 300, "a", 1, members=["a"]).asks_first(301, "b").join(303, 3_000, "b", 2)
    t.sync(302, 340, "a", 1, 0, 1, gives={"a": (0, 1)}).beat(2_900, "a", 1, "REBALANCE_IN_PROGRESS")
    t.join(2_902, 3_000, "a", 2, members=["a", "b"]).sync(3_001, 3_010, "a", 2, 0, gives={"a": (0,), "b": (1,)})
    one, two = t.sync(3_001, 3_010, "b", 2, 1).rebalances()
    assert (one.outcome, one.end_ns) == ("stable", 340 * MS)
    assert owners(two) == {1: ("a", "b")}


def test_a_rebalance_that_is_open_when_the_capture_ends(trace: New) -> None:
    t = two_members(trace(end=24_000)).leave(22_000, "b").beat(23_000, "a", 2, "REBALANCE_IN_PROGRESS")
    row = t.join(23_002, None, "a").rebalances()[-1]
    assert (row.outcome, row.generation, row.end_ns) == ("open", None, None)
    assert (row.trigger, row.trigger_member) == ("member_left", "b")
    assert owners(row) == {2: ("b", None), 3: ("b", None)}


def test_those_that_stay_but_are_dead_have_no_rebalance_open(trace: New) -> None:
    """b leaves, a has been silent for longer than its session timeout at the end: nobody waits."""
    assert [r.generation for r in two_members(trace()).leave(22_000, "b").rebalances()] == [1, 2]


def test_commits_refused_because_of_it(trace: New) -> None:
    t = two_members(trace()).commit(9_515, "a", 1, "ILLEGAL_GENERATION").commit(9_516, "a", 1, "REBALANCE_IN_PROGRESS")
    row = t.rebalances()[-1]
    assert (row.n_refused_commits, len(row.refused_commits)) == (2, 2)


def test_a_commit_refused_to_one_that_does_not_know_it_was_evicted_counts_for_what_follows(trace: New) -> None:
    t = one_member(trace()).commit(29_000, "a", 1, "UNKNOWN_MEMBER_ID").asks_first(29_010, "a#2")
    rows = t.join(29_012, 29_300, "a#2", 3, members=["a#2"]).rebalances()
    assert [r.n_refused_commits for r in rows] == [0, 1]


def test_what_began_before_the_capture_is_unseen(trace: New) -> None:
    t = trace().keep(0, 9_000, "a", 7).keep(500, 9_500, "b", 7)
    (row,) = t.rebalances()
    assert (row.generation, row.outcome, row.trigger) == (7, "unseen", "unknown")
    assert (row.start_ns, row.members_complete) == (None, False)
    assert [m.member_id for m in row.members] == ["a", "b"]
    assert row.evidence == ("heartbeat-a-0", "heartbeat-b-500")


def test_requests_alone_show_generation_and_assignments(trace: New, of_members: New, tp: New) -> None:
    """A capture without what brokers send."""
    t = trace().join(2, None, "a").sync(301, None, "a", 1, gives={"a": (0, 1), "b": (2,)}).keep(3_000, 9_000, "a", 1)
    (row,) = t.rebalances()
    assert (row.generation, row.outcome, row.n_members) == (1, "stable", 2)
    assert of_members(row, "assigned") == {"a": tp(0, 1), "b": tp(2)}


def test_a_gap_in_the_capture_leaves_out_what_it_hides(trace: New) -> None:
    rows = one_member(trace()).keep(12_000, 30_000, "a", 4).rebalances()
    assert [(r.generation, r.outcome) for r in rows] == [(1, "stable"), (4, "unseen")]


def test_assignments_that_do_not_decode_are_unknown(trace: New) -> None:
    t = one_member(trace())
    for row in t.rows:
        request = row.get("group_request", {"response": {}})
        if request["response"].get("assignment"):
            request["response"]["assignment"] = b"\x00\x00\x7f\xff\xff\xff"
            request["request"]["assignments"][0]["assignment"] = b"\xff"
    (row,) = t.rebalances()
    assert (row.members[0].assigned, row.members[0].gained) == (None, None)


def test_a_table_of_states_with_a_gap_is_an_error() -> None:
    table = {state: dict.fromkeys(ClassicEvent, ClassicState.EMPTY) for state in ClassicState}
    del table[ClassicState.STABLE][ClassicEvent.LEAVE]
    with pytest.raises(ValueError, match="no transition for STABLE on LEAVE"):
        Transitions(ClassicState, ClassicEvent, table)


def test_rounds_begin_as_kafka_begins_them() -> None:
    """ClassicGroupState: PREPARING_REBALANCE is entered from EMPTY, STABLE and COMPLETING_REBALANCE."""
    rejoin = (ClassicEvent.JOIN, ClassicEvent.REBALANCING, ClassicEvent.LEAVE)
    after = CLASSIC_TRANSITIONS.after
    for state in (ClassicState.COMPLETING, ClassicState.STABLE):
        assert all(after(state, event) is ClassicState.PREPARING for event in rejoin)
    assert after(ClassicState.PREPARING, ClassicEvent.JOIN) is ClassicState.PREPARING
    assert after(ClassicState.STABLE, ClassicEvent.LAST_LEAVE) is ClassicState.EMPTY
    assert not begins_a_round(ClassicState.PREPARING, ClassicEvent.JOIN)
    assert begins_a_round(ClassicState.EMPTY, ClassicEvent.JOIN)


def heartbeats(n: int) -> MemberActivity:
    """Heartbeats of the member a in generation 3."""
    activity = empty_row(MemberActivity)
    activity.api_key, activity.member_id, activity.generation_or_epoch = api_keys.HEARTBEAT, "a", 3
    activity.ts_ns, activity.last_ns, activity.n, activity.request_id = 9_000 * MS, 12_000 * MS, n, "r-beat"
    return activity


@pytest.mark.parametrize(("n", "state"), [(1, ClassicState.COMPLETING), (SETTLED_HEARTBEATS, ClassicState.STABLE)])
def test_a_group_whose_members_go_on_with_heartbeats_is_stable(n: int, state: ClassicState) -> None:
    """The capture lacks the response to SyncGroup: one heartbeat may have been sent before it, two were not."""
    group = ClassicGroup("g", CLASSIC, 100_000 * MS)
    join = GroupRequest.of(
        {"api_key": api_keys.JOIN_GROUP, "status": "ok", "member_id": "a", "response_ns": 6_000 * MS}
    )
    join.ts_ns, join.response.generation_id = 5_000 * MS, 3
    for phase in (Phase.REQUEST, Phase.RESPONSE):
        assert [*group.take(Event(5_000 * MS, phase, 0, join))] == []
    assert [*group.take(Event(9_000 * MS, Phase.ACTIVITY, 1, heartbeats(n)))] == []
    assert group.state is state


def test_only_so_many_member_ids_are_kept_of_clients_that_do_not_join_with_them() -> None:
    """A client that asks for a member id again and again (KIP-394) and never joins."""
    group = ClassicGroup("g", CLASSIC, 100_000 * MS)
    asks = GroupRequest.of({"api_key": api_keys.JOIN_GROUP, "status": "ok", "error_name": "MEMBER_ID_REQUIRED"})
    asks.request = empty_row(GroupRequestBody)
    for number in range(MOST_NEW_IDS + 1):
        asks.response.member_id = f"m-{number}"
        assert [*group.take(Event(number, Phase.RESPONSE, number, asks))] == []
    assert len(group._new_ids) == MOST_NEW_IDS
