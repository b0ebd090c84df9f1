"""`Ownership`: the partitions of each member from one generation or epoch to the next: what each member gained and
lost, and the previous owner of each partition.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kafkascope_spark.stories.groups.generation import Member

MOST_UNOWNED = 200_000
"""Largest number of items without an owner that are kept with their last owner; they may never have one again (deleted
topics)."""


@dataclass(slots=True)
class Change:
    """Changes of a member's items in a round."""

    gained: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    n_moved: int = 0
    """Number of its items that another member had before."""


@dataclass(frozen=True, slots=True)
class Move:
    """An item that changed its owner in a round. before, after: member ids, None for no owner."""

    item: str
    before: str | None
    after: str | None


class Ownership:
    """The items of each member: topic-partitions, tasks or connectors, by name.

    exclusive: whether an item has one owner at a time. Members of share groups share items, and none moves.
    """

    def __init__(self, *, exclusive: bool = True) -> None:
        self._exclusive = exclusive
        self._items: dict[str, frozenset[str]] = {}
        self._owners: dict[str, str] = {}
        self._unowned: dict[str, str] = {}
        """Item without an owner -> its last owner."""
        self._owners_before: dict[str, str | None] = {}
        """Item -> its owner before the moves since take_moves was last called."""
        self.changes: dict[str, Change] = {}
        """Changes of the round so far, by member id."""
        self.n_added = 0
        self.n_missing = 0
        """Number of new items in the last settled generation, and number of items that it no longer has."""
        self._settled = False

    @property
    def revoked(self) -> frozenset[str]:
        """Members that lost items in the round."""
        return frozenset(member_id for member_id, change in self.changes.items() if change.lost)

    def begin_round(self) -> None:
        """Begins another round, without changes."""
        self.changes = {}

    def take_moves(self) -> list[Move]:
        """Returns the items that changed their owner since the last call, sorted by name."""
        before, self._owners_before = self._owners_before, {}
        moves = (Move(item, owner, self._owners.get(item)) for item, owner in sorted(before.items()))
        return [move for move in moves if move.before != move.after]

    def hand_over(self, old_id: str, new_id: str) -> None:
        """Renames a member."""
        if old_id in self._items:
            self._items[new_id] = self._items.pop(old_id)
            for item in self._items[new_id]:
                if self._owners.get(item) == old_id:
                    self._owners_before.setdefault(item, old_id)
                    self._owners[item] = new_id

    def release(self, member_id: str) -> None:
        """Removes a member; its items have no owner then."""
        self.changes.pop(member_id, None)
        self._free(member_id, self._items.pop(member_id, frozenset()))

    def assign(self, member_id: str, items: Collection[str]) -> None:
        """Sets the items of a member."""
        self._lose(member_id, frozenset(items))
        self._gain(member_id, frozenset(items))

    def settle(self, members: Iterable[Member]) -> None:
        """Sets the items of all members after a round in which all gave up their items before any got new ones: first
        all losses are applied, then all gains. Members with an unknown assignment keep their items."""
        known = {m.member_id: frozenset(m.assigned) for m in members if m.assigned is not None}
        owned_before = frozenset[str]().union(*self._items.values())
        existing = owned_before | self._unowned.keys()
        self.begin_round()
        for member_id, items in known.items():
            self._lose(member_id, items)
        for member_id, items in known.items():
            self._gain(member_id, items, existing)
        given = frozenset[str]().union(*known.values())
        self.n_added = len(given - existing) if self._settled else 0
        self.n_missing = len(owned_before - given)
        self._settled = self._settled or bool(known)

    def _lose(self, member_id: str, items: frozenset[str]) -> None:
        self._free(member_id, self._items.get(member_id, frozenset()) - items)

    def _free(self, member_id: str, items: frozenset[str]) -> None:
        for item in items:
            if self._owners.get(item) == member_id:
                del self._owners[item]
                self._unowned[item] = member_id
                self._owners_before.setdefault(item, member_id)
        while len(self._unowned) > MOST_UNOWNED:
            self._unowned.pop(next(iter(self._unowned)))

    def _gain(self, member_id: str, items: frozenset[str], existing: Collection[str] | None = None) -> None:
        """Adds items to a member. existing: all items that were known when the round began, with or without an owner;
        None for those that are known now."""
        old = self._items.get(member_id, frozenset())
        change = self.changes.setdefault(member_id, Change())
        self._items[member_id] = items
        for item in items - old if self._exclusive else ():
            is_moved = self._take(item, member_id)
            is_moved = is_moved if existing is None else item in existing
            change.n_moved += is_moved and item not in change.lost
        change.gained = (change.gained | (items - old)) - (old - items)
        change.lost = (change.lost | (old - items)) - (items - old)

    def _take(self, item: str, member_id: str) -> bool:
        """Gives an item to a member. Returns whether another member had it, or had it last."""
        owner, last_owner = self._owners.get(item), self._unowned.pop(item, None)
        self._owners[item] = member_id
        before = last_owner if owner is None else owner
        self._owners_before.setdefault(item, before)
        return last_owner is not None or (owner is not None and owner != member_id)
