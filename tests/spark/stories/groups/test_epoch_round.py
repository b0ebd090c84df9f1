"""The row of a group epoch: its cause by comparison with the epoch before (KIP-848)."""

from kafkascope_parsers.group_protocols.consumer import CONSUMER
from kafkascope_spark.stories.groups.causes import Cause
from kafkascope_spark.stories.groups.epoch_round import MODE, Observed, epoch_row
from kafkascope_spark.stories.groups.generation import Departure, Generation, Member
from kafkascope_spark.stories.groups.ownership import Move
from kafkascope_spark.stories.groups.table import MODES, RebalanceRow

S = 1_000_000_000
JOINED = Cause("member_joined", "b joined", "b", ("r-join",))


def epoch(number: int, *members: Member, start_s: int | None = 10) -> Generation:
    now = Generation("g", CONSUMER, None if start_s is None else start_s * S, number=number, settled=True)
    now.members = {member.member_id: member for member in members}
    return now


def fresh(name: str) -> Member:
    return Member(name, fresh=True, entered_ns=11 * S)


def row(now: Generation, before: Generation | None, *causes: Cause, moves: tuple[Move, ...] = ()) -> RebalanceRow:
    return epoch_row(now, (before, False), None, Observed([*causes], {}, moves))


def test_an_observed_cause_counts() -> None:
    made = row(epoch(2, Member("a"), fresh("b")), epoch(1, Member("a")), JOINED, Cause("member_left", "c left"))
    assert (made.trigger, made.trigger_member, made.trigger_why) == ("member_joined", "b", "b joined")
    assert made.evidence == ("r-join",)
    assert made.mode == MODE
    assert MODE in MODES
    assert not made.members_complete, "a was a member before, and others may have been"


def test_new_members_alone_are_the_first() -> None:
    made = row(epoch(1, fresh("b")), None, JOINED)
    assert (made.trigger, made.trigger_member, made.members_complete) == ("first", "b", True)
    assert row(epoch(1, fresh("b"), Member("a")), None, JOINED).trigger == "member_joined"


def test_a_departure_explains_an_epoch_of_which_nothing_else_is_seen() -> None:
    now = epoch(3, Member("a", entered_ns=12 * S))
    now.left["b"] = Departure(Member("b", last_seen_ns=2 * S), "evicted", "b was silent for 8 s", "r-8")
    now.left["c"] = Departure(Member("c", last_seen_ns=1 * S), "left")
    made = row(now, epoch(2, Member("a"), Member("b")))
    assert (made.trigger, made.trigger_member, made.trigger_why) == ("member_evicted", "b", "b was silent for 8 s")
    assert [gone.member_id for gone in made.departed] == ["c", "b"], "in order of their last requests"


def test_an_epoch_without_anything_that_explains_it() -> None:
    assert row(epoch(2, Member("a")), epoch(1, Member("a"))).trigger == "unknown"


def test_the_first_assignment_of_members_that_had_none() -> None:
    """A subscription to a topic that did not exist yet: the group had members and nothing to assign."""
    before = epoch(1, fresh("a"))
    made = row(epoch(2, fresh("a")), before)
    assert (made.trigger, made.trigger_why) == ("first", "the first assignment that its members were given")
    before.had_assignments = True
    assert row(epoch(2, fresh("a")), before).trigger == "unknown"


def test_an_epoch_from_before_the_capture_has_no_last_member() -> None:
    unseen = epoch(2, Member("a", entered_ns=5 * S), start_s=None)
    made = row(unseen, None)
    assert (made.outcome, made.trigger, made.last_joiner) == ("unseen", "unknown", None)
    assert row(epoch(2, Member("a", entered_ns=5 * S)), None).last_joiner == "a"


def test_what_moved_is_in_the_row() -> None:
    made = row(
        epoch(2, Member("a")), epoch(1, Member("a")), moves=(Move("t-3", "b", "a"), Move("not a partition", None, "a"))
    )
    (moved,) = made.partitions
    assert (moved.topic, moved.partition, moved.owner_before, moved.owner_after) == ("t", 3, "b", "a")
