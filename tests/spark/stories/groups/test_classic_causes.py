"""Why a classic group rebalanced, from generations made by hand. The rules are those of Kafka's GroupMetadataManager
(and GroupCoordinator before it): members that are told to join again did not cause the rebalance."""

from typing import Any

from kafkascope_parsers.group_protocols.classic import CLASSIC
from kafkascope_spark.stories.groups.classic_causes import EVICTION_SLACK_NS, Comparison, explanations
from kafkascope_spark.stories.groups.generation import Departure, Generation, Member, RejoinRequest

S = 1_000_000_000


def generation(number: int | None, *members: Member, rejoin_s: int | None = None) -> Generation:
    """A generation from second 100 on; rejoin_s: when the coordinator first told a member to join again."""
    now = Generation("g", CLASSIC, 100 * S, number=number, node_id=1)
    now.members = {member.member_id: member for member in members}
    now.listed = dict.fromkeys(now.members)
    if rejoin_s is not None:
        now.rejoin = RejoinRequest(rejoin_s * S, "a", "r-rejoin")
    return now


def compared(now: Generation, before: Generation | None, **more: Any) -> Comparison:
    facts: dict[str, Any] = {"was_empty": False, "departed": [], "revoked": frozenset(), "n_more": 0}
    return Comparison(now, before, **facts | more)


def member(name: str, join_s: int | None = None, **more: Any) -> Member:
    return Member(name, client_id=name, join_sent_ns=None if join_s is None else join_s * S, **more)


def test_the_earliest_observation_is_the_cause() -> None:
    """c joins at 101 s, b leaves at 103 s; a joins again because it was told to at 104 s."""
    now = generation(3, member("a", 105), member("c", 101, fresh=True), rejoin_s=104)
    now.left["b"] = Departure(member("b"), "left", "shutdown", "r-leave", 103 * S)
    possible = explanations(compared(now, generation(2, member("a"), member("b"))))
    assert possible.first is None
    assert possible.observed is not None
    assert (possible.observed.trigger, possible.observed.why) == ("member_joined", "c joined")


def test_what_comes_after_the_coordinator_told_a_member_to_join_again_is_no_cause() -> None:
    now = generation(3, member("a", 105), member("c", 106, fresh=True), rejoin_s=104)
    possible = explanations(compared(now, generation(2, member("a"))))
    assert possible.observed is None
    assert possible.inferred.trigger == "unknown"


def test_a_silent_member_was_evicted_at_the_end_of_its_session_timeout() -> None:
    """b was last seen at 95 s and its session timeout is 10 s: it goes at 105 s, before d joins at 107 s and after c
    joined at 101 s."""
    gone = Departure(member("b", last_seen_ns=95 * S, session_timeout_ms=10_000), "evicted")
    before = generation(2, member("a"), member("b"))
    late = explanations(compared(generation(3, member("d", 107, fresh=True)), before, departed=[gone]))
    early = explanations(compared(generation(3, member("c", 101, fresh=True)), before, departed=[gone]))
    assert late.observed is not None
    assert early.observed is not None
    assert (late.observed.trigger, late.observed.member_id) == ("member_evicted", "b")
    assert (early.observed.trigger, early.observed.member_id) == ("member_joined", "c")


def test_an_eviction_shows_a_little_before_the_timeout_that_the_capture_shows() -> None:
    """The last heartbeats of the member may be missing in the capture, or its clock's timeout began at an earlier
    one."""
    before = generation(2, member("a"), member("b"))
    slack_s = EVICTION_SLACK_NS // S
    for silent_s, trigger in ((10 + slack_s, "member_evicted"), (11 + slack_s, None)):
        # Due at 94 s + session timeout; the coordinator told the others at 104 s.
        gone = member("b", last_seen_ns=94 * S, session_timeout_ms=silent_s * 1_000)
        now = generation(3, member("a", 105), rejoin_s=104)
        possible = explanations(compared(now, before, departed=[Departure(gone, "evicted")]))
        assert (possible.observed.trigger if possible.observed else None) == trigger


def test_a_member_that_joins_again_by_itself_says_why_by_what_it_changed() -> None:
    old = generation(2, member("a", topics=("t",)))
    again = {"join_s": 101, "prompted": False}

    def cause(now: Generation, **more: Any) -> tuple[str, str]:
        observed = explanations(compared(now, old, **more)).observed
        assert observed is not None
        return observed.trigger, observed.why

    moved = generation(3, member("a", **again, topics=("t",)))
    moved.node_id = 2
    other_topics = generation(3, member("a", **again, topics=("u",)))
    same = generation(3, member("a", **again, topics=("t",)))
    assert cause(moved) == ("coordinator_moved", "a joined again at node 2, its coordinator was node 1")
    assert cause(other_topics) == ("subscription_changed", "a joined again with u and without t")
    assert cause(same, revoked=frozenset({"a"}))[0] == "partitions_revoked"
    assert cause(same, n_more=-2) == ("subscription_changed", "a joined again, there are 2 partitions less")
    assert cause(same) == ("unknown", "a joined again with the same subscription")


def test_the_first_generation_of_a_group() -> None:
    """It is generation 1, or the group had no members before; otherwise it continues one that the capture lacks."""
    fresh = generation(7, member("a", 100, fresh=True))
    first = explanations(compared(fresh, None)).first
    assert first is not None
    assert (first.member_id, first.why) == ("a", "the group had no members before")
    continued = generation(7, member("a", 100, fresh=True), member("b", 100))
    assert explanations(compared(continued, None)).first is None
    assert explanations(compared(continued, None, was_empty=True)).first is not None


def test_a_group_all_of_whose_members_died_was_empty_in_between() -> None:
    """The coordinator makes a generation without members when the last one is removed: numbers go up by two."""
    gone = Departure(member("b", last_seen_ns=50 * S, session_timeout_ms=10_000), "evicted", "b was silent for 10 s")
    before = generation(4, member("b"))
    empty_between = compared(generation(6, member("c", 100, fresh=True)), before, departed=[gone])
    first = explanations(empty_between).first
    assert first is not None
    assert first.why == "the group had no members before: b was silent for 10 s"
    at_once = compared(generation(5, member("c", 100, fresh=True)), before, departed=[gone])
    assert explanations(at_once).first is None


def test_a_group_that_was_left_was_not_died_out() -> None:
    """b left and c is new: the generation without members between has another reason."""
    left = Departure(member("b"), "left", "shutdown")
    now = generation(6, member("c", 100, fresh=True))
    assert explanations(compared(now, generation(4, member("b")), departed=[left])).first is None


def test_what_a_coordinator_knew_and_the_capture_does_not_show() -> None:
    """Members were told to join again, and nothing before explains it: an eviction, else a member without traffic in
    the capture, else another coordinator."""
    before = generation(2, member("a"))
    gone = Departure(member("b", last_seen_ns=99 * S), "evicted", None, "r-b")
    told_again = {"rejoin_s": 104}
    evicted = explanations(compared(generation(3, member("a", 105), **told_again), before, departed=[gone])).inferred
    assert (evicted.trigger, evicted.why, evicted.request_ids) == (
        "member_evicted",
        "b was silent",
        ("r-rejoin", "r-b"),
    )
    with_unseen = generation(3, member("a", 105), **told_again)
    with_unseen.listed = {"a": None, "z": None}
    joined = explanations(compared(with_unseen, before)).inferred
    assert (joined.trigger, joined.member_id) == ("member_joined", "z")
    elsewhere = generation(3, member("a", 105), **told_again)
    elsewhere.node_id = 2
    assert explanations(compared(elsewhere, before)).inferred.trigger == "coordinator_moved"


def test_a_member_of_which_the_capture_shows_no_timeout_has_no_time_of_eviction() -> None:
    before = generation(2, member("a"), member("b"))
    for facts in ({"last_seen_ns": 50 * S}, {"session_timeout_ms": 10_000}):
        gone = Departure(member("b", **facts), "evicted")
        possible = explanations(compared(generation(3, member("c", 101, fresh=True)), before, departed=[gone]))
        assert possible.observed is not None
        assert possible.observed.trigger == "member_joined"
