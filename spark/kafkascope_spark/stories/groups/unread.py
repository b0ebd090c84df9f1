"""Times around a rebalance in which no member read a topic-partition, with the owners before and after. They come from
the same waits as the stalls of the kind consume, including shorter ones.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.groups.rebalance_row import Place, partition_entry, topic_partition
from kafkascope_spark.stories.groups.table import ReassignedPartition, RebalanceRow
from kafkascope_spark.stories.stalls.machine import Service


@dataclass(frozen=True, slots=True)
class Unread:
    """A time in which accepted records of a topic-partition waited. to_ns: FOREVER if they waited until the end of the
    capture; progress_ns: when some were last received; waited_ms: how long they waited in the capture."""

    place: Place
    from_ns: int
    to_ns: int
    progress_ns: int
    waited_ms: int


class UnreadPartitions:
    """Times in which the topic-partitions of one group were unread. Memory: its waits, and one run of each member and
    topic-partition."""

    def __init__(self, service: Service, end_ns: int) -> None:
        self._end_ns = end_ns
        found = [
            Unread(
                place,
                each.from_ns,
                FOREVER if each.to_ns is None else each.to_ns,
                each.waits[0].progress_ns or each.from_ns,
                each.waited_ms(end_ns),
            )
            for place, joined in service.unread(end_ns).items()
            for each in joined
            if each.waited_ms(end_ns)
        ]
        self._waits = sorted(found, key=lambda unread: (unread.from_ns, unread.place))
        self._times = Stretches((unread.from_ns, unread.to_ns, unread) for unread in self._waits)
        self._of_place: dict[Place, list[Unread]] = defaultdict(list)
        for unread in self._waits:
            self._of_place[unread.place].append(unread)
        runs: dict[str, list[tuple[int, int, None]]] = defaultdict(list)
        for run in service.fetched():
            runs[run.client_instance_id].append((run.first_ns, run.last_ns, None))
        self._reads = {client: Stretches(times) for client, times in runs.items()}
        """Client instance -> times at which it received records."""

    def complete(self, row: RebalanceRow, next_start_ns: int | None) -> None:
        """Sets the columns unread_ms and partitions of a rebalance. next_start_ns: begin of the next one."""
        if row.start_ns is None or not self._waits:
            return
        until_ns = row.end_ns or next_start_ns or self._end_ns
        moved = {(entry.topic, entry.partition): entry for entry in row.partitions}
        unread = [*self._during(row.start_ns, until_ns), *self._after(row, moved, until_ns)]
        waiting = {each.place for each in unread}
        owners = _owners(row) if waiting - moved.keys() else {}
        entries = [entry for place, entry in moved.items() if place not in waiting]
        for each in unread:
            owner = owners.get(each.place)
            kept = partition_entry(each.place, owner, owner)
            entries.append(_with_times(moved.get(each.place, kept), each))
        entries.sort(key=lambda e: (e.topic, e.partition, e.unread_from_ns or 0))
        row.partitions = tuple(entries)
        row.unread_ms = max((each.waited_ms for each in unread), default=None)

    def places_after(self, from_ns: int | None, until_ns: int | None) -> set[Place]:
        """Returns the topic-partitions that were unread at some time from from_ns (None: returns none) to until_ns
        (None: the end)."""
        if from_ns is None:
            return set()
        return {unread.place for unread in self._during(from_ns, self._end_ns if until_ns is None else until_ns)}

    def _during(self, start_ns: int, until_ns: int) -> Iterator[Unread]:
        """Yields the times that overlap the rebalance."""
        return self._times.meeting(start_ns, until_ns)

    def _after(self, row: RebalanceRow, moved: dict[Place, ReassignedPartition], until_ns: int) -> Iterator[Unread]:
        """Yields the first unread time after the rebalance of each moved topic-partition whose new owner had not begun
        to read by then."""
        clients = {member.member_id: member.client_instance_id for member in row.members}
        for place, entry in moved.items():
            of_place = self._of_place.get(place, [])
            number = bisect_right(of_place, until_ns, key=lambda unread: unread.from_ns)
            if number == len(of_place) or of_place[number].progress_ns > until_ns:
                continue
            reads = self._reads.get(clients.get(entry.owner_after or "") or "")
            if reads is None or not reads.meet(until_ns, of_place[number].from_ns):
                yield of_place[number]


def _owners(row: RebalanceRow) -> dict[Place, str]:
    """Returns the member id of each assigned topic-partition after a rebalance."""
    found = ((topic_partition(item), m.member_id) for m in row.members for item in m.assigned or ())
    return {place: member_id for place, member_id in found if place is not None}


def _with_times(entry: ReassignedPartition, unread: Unread) -> ReassignedPartition:
    to_ns = None if unread.to_ns == FOREVER else unread.to_ns
    return replace(entry, unread_from_ns=unread.from_ns, unread_to_ns=to_ns, unread_ms=unread.waited_ms)
