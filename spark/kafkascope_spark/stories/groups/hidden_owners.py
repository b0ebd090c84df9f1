"""Topic-partitions of a group that members outside of the capture read, for example if it was taken at one client's
host. Records of these that the captured members do not read are no wait.

A rebalance shows that in two ways: it assigned the topic-partition to a member without captured requests; or no
captured member has it, although all their assignments are known and other members may exist. The latter holds only for
groups that assign each topic-partition to one member.
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
"""Protocols that assign each topic-partition to one member."""


class HiddenOwners:
    """Times in which hidden members had topic-partitions."""

    def __init__(self) -> None:
        self._times: dict[Place, list[tuple[int, int]]] = defaultdict(list)

    def take(self, row: RebalanceRow, next_start_ns: int | None, places: Iterable[Place]) -> None:
        """Takes a rebalance. next_start_ns: begin of the next one; places: topic-partitions that were unread after
        it."""
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
        """Yields the remaining parts of a wait for records of a topic-partition. It is cut when a hidden member gets
        the topic-partition, because it is not known when that member reads; a wait that begins in that time begins
        instead when another member gets the topic-partition back."""
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
    """Yields each topic-partition and its member after a rebalance."""
    for member in row.members:
        for item in member.assigned or ():
            place = topic_partition(item)
            if place is not None:
                yield place, member
