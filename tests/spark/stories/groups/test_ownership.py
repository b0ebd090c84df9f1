"""What each member has from one generation to the next, item by item."""

import pytest

from kafkascope_spark.stories.groups import ownership as module
from kafkascope_spark.stories.groups.generation import Member
from kafkascope_spark.stories.groups.ownership import Move, Ownership


def settled(ownership: Ownership, **items: tuple[str, ...] | None) -> None:
    """One generation, after which these members have these items (None: not known)."""
    ownership.settle([Member(name, assigned=assigned) for name, assigned in items.items()])


def test_two_members_that_swap_their_partitions() -> None:
    """All give up theirs before any gets another: neither order of the members may hide a move."""
    ownership = Ownership()
    settled(ownership, a=("t-0",), b=("t-1",))
    ownership.take_moves()
    settled(ownership, a=("t-1",), b=("t-0",))
    assert ownership.take_moves() == [Move("t-0", "a", "b"), Move("t-1", "b", "a")]
    assert {name: change.n_moved for name, change in ownership.changes.items()} == {"a": 1, "b": 1}
    assert ownership.revoked == {"a", "b"}


def test_what_stays_does_not_move() -> None:
    ownership = Ownership()
    settled(ownership, a=("t-0", "t-1"))
    ownership.take_moves()
    settled(ownership, a=("t-0", "t-1"))
    assert ownership.take_moves() == []
    assert ownership.revoked == frozenset()
    assert ownership.changes["a"].gained == ownership.changes["a"].lost == frozenset()


def test_a_partition_that_comes_back_to_its_owner_has_not_moved() -> None:
    """It was revoked and assigned again before anybody else had it (two rounds of a cooperative rebalance)."""
    ownership = Ownership()
    ownership.assign("a", ["t-0"])
    ownership.take_moves()
    ownership.assign("a", [])
    ownership.assign("a", ["t-0"])
    assert ownership.take_moves() == []


def test_new_partitions_are_counted_and_move_from_nobody() -> None:
    """A topic got two more partitions; then it was deleted."""
    ownership = Ownership()
    settled(ownership, a=("t-0",))
    assert ownership.n_added == 0
    ownership.take_moves()
    settled(ownership, a=("t-0", "t-1", "t-2"))
    assert (ownership.n_added, ownership.n_missing) == (2, 0)
    assert ownership.take_moves() == [Move("t-1", None, "a"), Move("t-2", None, "a")]
    assert ownership.changes["a"].n_moved == 0
    settled(ownership, a=())
    assert (ownership.n_added, ownership.n_missing) == (0, 3)


def test_a_member_of_unknown_assignment_keeps_its_items() -> None:
    """The capture lacks the response to its SyncGroup."""
    ownership = Ownership()
    settled(ownership, a=("t-0",), b=("t-1",))
    settled(ownership, a=("t-0",), b=None)
    ownership.take_moves()
    settled(ownership, a=("t-0", "t-1"), b=())
    assert ownership.take_moves() == [Move("t-1", "b", "a")]


def test_items_of_a_member_that_is_gone_move_to_the_next_owner() -> None:
    ownership = Ownership()
    settled(ownership, a=("t-0",), b=("t-1",))
    ownership.take_moves()
    ownership.release("b")
    assert ownership.take_moves() == [Move("t-1", "b", None)]
    settled(ownership, a=("t-0", "t-1"))
    assert ownership.changes["a"].n_moved == 1


def test_a_renamed_member_keeps_its_items() -> None:
    """A static member under a new member id: what it owned changes its owner's name and nothing is gained."""
    ownership = Ownership()
    settled(ownership, s1=("t-0",))
    ownership.take_moves()
    ownership.hand_over("s1", "s2")
    settled(ownership, s2=("t-0",))
    assert ownership.take_moves() == [Move("t-0", "s1", "s2")]
    assert (ownership.changes["s2"].gained, ownership.changes["s2"].n_moved) == (frozenset(), 0)
    ownership.hand_over("nobody", "s3")
    assert ownership.take_moves() == []


def test_members_of_a_share_group_share_a_partition() -> None:
    """KIP-932: several read it at a time, so that nothing moves when a second one gets it."""
    ownership = Ownership(exclusive=False)
    ownership.assign("a", ["t-0"])
    ownership.assign("b", ["t-0"])
    assert ownership.take_moves() == []
    assert ownership.changes["b"].gained == {"t-0"}
    assert ownership.changes["b"].n_moved == 0


def test_only_so_many_items_without_an_owner_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted topics never get an owner again: the oldest are forgotten, and count as new if they come back."""
    monkeypatch.setattr(module, "MOST_UNOWNED", 1)
    ownership = Ownership()
    ownership.assign("a", ["t-0"])
    ownership.assign("a", ["t-1"])
    ownership.assign("a", [])
    ownership.begin_round()
    ownership.take_moves()
    ownership.assign("b", ["t-0"])
    ownership.assign("b", ["t-0", "t-1"])
    assert ownership.take_moves() == [Move("t-0", None, "b"), Move("t-1", "a", "b")]


def test_what_moves_from_one_member_to_another_is_counted_for_the_new_owner() -> None:
    """The coordinator of KIP-848 assigns to one member after the other."""
    ownership = Ownership()
    ownership.assign("a", ["t-0", "t-1", "t-2"])
    ownership.begin_round()
    ownership.assign("b", ["t-0", "t-9"])  # a has not given t-0 up yet; nobody had t-9
    assert ownership.changes["b"].n_moved == 1
    ownership.assign("a", ["t-1"])
    ownership.assign("b", ["t-0", "t-2", "t-9"])  # a gave t-2 up before
    assert ownership.changes["b"].n_moved == 2
