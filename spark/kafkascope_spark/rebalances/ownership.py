"""Who has which partitions from one generation to the next: what each member gained and lost, what changed hands, and
for how long a partition was read by nobody.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kafkascope_spark.rebalances.generation import Items, Member


@dataclass(frozen=True, slots=True)
class Share:
    """What a generation changed for a member. unread_ns: the longest time that something it gained was read by
    nobody, None where it gained nothing that another had lost before."""

    gained: Items
    lost: Items
    unread_ns: int | None


MOST_FREED = 200_000
"""What nobody has and nobody may ever have again (a topic deleted), kept to tell for how long it was not read."""


class Ownership:
    """What each member has. Items are topic-partitions, tasks or connectors, by name."""

    def __init__(self) -> None:
        self._has: dict[str, frozenset[str]] = {}
        self._freed: dict[str, int] = {}
        """What nobody has -> since when."""
        self.revoked: frozenset[str] = frozenset()
        """Members that lost something in the last generation settled."""
        self.added = 0
        self.missing = 0
        """Of what was given out in it: how much had never been before, and how much less than before there is."""
        self._settled = False

    @property
    def members(self) -> frozenset[str]:
        """Members whose assignment is known."""
        return frozenset(self._has)

    def has(self, member_id: str) -> frozenset[str]:
        """What the member has."""
        return self._has.get(member_id, frozenset())

    def hand_over(self, old_id: str, new_id: str) -> None:
        """A member goes on under another id."""
        if old_id in self._has:
            self._has[new_id] = self._has.pop(old_id)

    def release(self, member_id: str, at_ns: int | None) -> None:
        """A member is gone: what it had is nobody's."""
        for item in self._has.pop(member_id, frozenset()):
            if at_ns is not None:
                self._freed.setdefault(item, at_ns)

    def settle(self, members: Iterable[Member]) -> tuple[dict[str, Share], int]:
        """What changed for the members that are known to have an assignment, by member id; how many items came to a
        member from another."""
        told = [m for m in members if m.assigned is not None]
        owners = {item: member_id for member_id, items in self._has.items() for item in items}
        before = {m.member_id: self.has(m.member_id) for m in told}
        known = set(owners) | set(self._freed)
        self._lose(told, before)
        shares, moved = {}, 0
        for member in told:
            now = frozenset(member.assigned or ())
            gained = now - before[member.member_id]
            unread = [
                (member.synced_ns or 0) - self._freed[item]
                for item in gained
                if item in self._freed and member.synced_ns is not None and owners.get(item) != member.member_id
            ]
            moved += sum(1 for item in gained if item in known)
            lost = before[member.member_id] - now
            shares[member.member_id] = Share(
                tuple(sorted(gained)), tuple(sorted(lost)), max(0, *unread) if unread else None
            )
        given = {item for member in told for item in member.assigned or ()}
        self.added = len(given - known) if self._settled else 0
        self.missing = len(set(owners) - given)
        self._settled = self._settled or bool(told)
        for member in told:
            self._has[member.member_id] = frozenset(member.assigned or ())
        for item in given:
            self._freed.pop(item, None)
        while len(self._freed) > MOST_FREED:
            self._freed.pop(next(iter(self._freed)))
        self.revoked = frozenset(m for m, share in shares.items() if share.lost)
        return shares, moved

    def _lose(self, told: list[Member], before: dict[str, frozenset[str]]) -> None:
        """What members give up is nobody's from the moment on that they know it."""
        for member in told:
            if member.synced_ns is not None:
                for item in before[member.member_id] - frozenset(member.assigned or ()):
                    self._freed.setdefault(item, member.synced_ns)
