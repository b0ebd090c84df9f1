"""Who has which partitions from one generation or epoch to the next: what each member gained and lost, what changed
hands, and for how long a partition was read by nobody.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from kafkascope_spark.groups.generation import Member

MOST_UNOWNED = 200_000
"""Items that nobody has and nobody may ever have again (a topic deleted), kept to know for how long."""
LastSeen = Callable[[str], int | None]
"""Takes a member id; gives when it was last seen."""


def _never(member_id: str) -> int | None:
    return None


@dataclass(slots=True)
class Change:
    """What a round changed for a member."""

    gained: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    n_moved: int = 0
    """How many of its items another member had before."""
    unread_ns: int | None = None
    """The longest time that something it gained was read by nobody; None where it gained nothing like that."""


class Ownership:
    """What each member has. Items are topic-partitions, tasks or connectors, by name.

    exclusive: whether an item has one owner at a time; members of share groups share them, and nothing moves.
    """

    def __init__(self, *, exclusive: bool = True) -> None:
        self._exclusive = exclusive
        self._items: dict[str, frozenset[str]] = {}
        self._owners: dict[str, str] = {}
        self._unowned: dict[str, int] = {}
        """What nobody has -> since when."""
        self.changes: dict[str, Change] = {}
        """What the round has changed so far, by member id."""
        self.n_added = 0
        self.n_missing = 0
        """Of what the last generation settled gave out: how much was new, how much less than before there is."""
        self._settled = False

    @property
    def members(self) -> frozenset[str]:
        """Members whose assignment is known."""
        return frozenset(self._items)

    @property
    def revoked(self) -> frozenset[str]:
        """Members that lost something in the round."""
        return frozenset(member_id for member_id, change in self.changes.items() if change.lost)

    def begin_round(self) -> None:
        """Another round: nothing has changed in it yet."""
        self.changes = {}

    def hand_over(self, old_id: str, new_id: str) -> None:
        """A member goes on under another id."""
        if old_id in self._items:
            self._items[new_id] = self._items.pop(old_id)
            self._owners |= {item: new_id for item in self._items[new_id] if self._owners.get(item) == old_id}

    def release(self, member_id: str, at_ns: int | None) -> None:
        """A member is gone: what it had is nobody's."""
        self.changes.pop(member_id, None)
        self._free(member_id, self._items.pop(member_id, frozenset()), at_ns)

    def assign(self, member_id: str, items: Collection[str], at_ns: int, last_seen: LastSeen) -> None:
        """What a member has from now on. What another still has was read until that one was last seen."""
        self._lose(member_id, frozenset(items), at_ns)
        self._gain(member_id, frozenset(items), at_ns, last_seen)

    def settle(self, members: Iterable[Member]) -> None:
        """A round in which all members gave up what they had before any got something new: first everything is lost,
        then gained. Members of which the assignment is not known keep what they had."""
        known = {m.member_id: (frozenset(m.assigned), m.synced_ns) for m in members if m.assigned is not None}
        owned_before = frozenset[str]().union(*self._items.values())
        existing = owned_before | self._unowned.keys()
        self.begin_round()
        for member_id, (items, synced_ns) in known.items():
            self._lose(member_id, items, synced_ns)
        for member_id, (items, synced_ns) in known.items():
            self._gain(member_id, items, synced_ns, _never, existing)
        given = frozenset[str]().union(*(items for items, _ in known.values()))
        self.n_added = len(given - existing) if self._settled else 0
        self.n_missing = len(owned_before - given)
        self._settled = self._settled or bool(known)

    def _lose(self, member_id: str, items: frozenset[str], at_ns: int | None) -> None:
        self._free(member_id, self._items.get(member_id, frozenset()) - items, at_ns)

    def _free(self, member_id: str, items: frozenset[str], at_ns: int | None) -> None:
        for item in items:
            if self._owners.get(item) == member_id:
                del self._owners[item]
                if at_ns is not None:
                    self._unowned.setdefault(item, at_ns)
        while len(self._unowned) > MOST_UNOWNED:
            self._unowned.pop(next(iter(self._unowned)))

    def _gain(
        self,
        member_id: str,
        items: frozenset[str],
        at_ns: int | None,
        last_seen: LastSeen,
        existing: Collection[str] | None = None,
    ) -> None:
        """existing: what somebody had or nobody had any more when the round began; None where that is what is known
        now."""
        old = self._items.get(member_id, frozenset())
        change = self.changes.setdefault(member_id, Change())
        self._items[member_id] = items
        for item in items - old if self._exclusive else ():
            since, is_moved = self._take(item, member_id, last_seen)
            is_moved = is_moved if existing is None else item in existing
            if item in change.lost or not is_moved:
                continue
            change.n_moved += 1
            if since is not None and at_ns is not None:
                change.unread_ns = max(change.unread_ns or 0, at_ns - since)
        change.gained = (change.gained | (items - old)) - (old - items)
        change.lost = (change.lost | (old - items)) - (items - old)

    def _take(self, item: str, member_id: str, last_seen: LastSeen) -> tuple[int | None, bool]:
        """Gives a member an item. Returns since when nobody reads it, and whether another member had it."""
        owner, since = self._owners.get(item), self._unowned.pop(item, None)
        self._owners[item] = member_id
        if owner is not None and owner != member_id:
            return last_seen(owner), True
        return since, since is not None
