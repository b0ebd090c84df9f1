"""Which topic-partitions of a group are read by members that the capture does not show, as where it was taken at one
client's host: what the others leave unread then is no wait.

A rebalance tells: it gave the topic-partition to a member of which no request was captured; or the assignments of all
members that were captured are known, they may not be all, and none has it: such a group gives each topic-partition to
one member.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.group_protocols import PROTOCOLS
from kafkascope_spark.stories.groups.rebalance_row import Place, topic_partition
from kafkascope_spark.stories.groups.table import GroupMember, RebalanceRow
from kafkascope_spark.stories.stalls.stall import Wait

_EXCLUSIVE = frozenset(p.name for p in PROTOCOLS if not p.shares_partitions and not p.has_tasks)
"""Protocols that give each topic-partition to one member."""


class HiddenOwners:
    """Since when and until when hidden members had each topic-partition, of those that are asked for."""

    def __init__(self) -> None:
        self._times: dict[Place, list[tuple[int, int]]] = defaultdict(list)

    def take(self, row: RebalanceRow, next_start_ns: int | None, places: Iterable[Place]) -> None:
        """A rebalance, and when the next one began. places: what was unread after it."""
        if row.outcome != "stable" or row.end_ns is None or row.group_protocol not in _EXCLUSIVE:
            return
        asked = set(places)
        owners = dict(_owners(row)) if asked else {}
        is_known = not row.members_complete and all(m.assigned is not None for m in row.members)
        for place in asked:
            owner = owners.get(place)
            is_hidden = is_known if owner is None else owner.client_instance_id is None
            if is_hidden:
                self._times[place].append((row.end_ns, FOREVER if next_start_ns is None else next_start_ns))

    def without(self, place: Place, wait: Wait) -> Iterator[Wait]:
        """What is left of a wait for records of a topic-partition: it ends where a hidden member got it, and nobody
        knows when that one read; what began then begins when another member got it back."""
        for since_ns, until_ns in self._times.get(place, ()):
            if since_ns <= wait.from_ns < until_ns:
                if until_ns == FOREVER or (wait.to_ns is not None and wait.to_ns <= until_ns):
                    return
                wait = replace(wait, from_ns=until_ns)
            elif wait.from_ns < since_ns and (wait.to_ns is None or wait.to_ns > since_ns):
                yield replace(wait, to_ns=since_ns, served=None)
                return
        yield wait


def _owners(row: RebalanceRow) -> Iterator[tuple[Place, GroupMember]]:
    """Whose each topic-partition is after a rebalance."""
    for member in row.members:
        for item in member.assigned or ():
            place = topic_partition(item)
            if place is not None:
                yield place, member
