"""Resources that a failed broker led or coordinated, each with the time in which its successor is looked for."""

from collections.abc import Iterator
from dataclasses import dataclass

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.topology_facts import RAFT_LOG
from kafkascope_spark.stories.incidents.brokers.controlled_shutdown import HANDOVER_NS
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.failure_index import followed_until_ns
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS


@dataclass(frozen=True, slots=True)
class Loss:
    """A topic-partition, group or transactional id whose leader or coordinator failed or handed it over.

    from_ns, until_ns: time in which another node may have taken it over. epoch: leader epoch of the lost leader, None
    if unknown.
    """

    name: str
    node_id: int
    from_ns: int
    until_ns: int
    epoch: int | None = None

    def is_newer(self, epoch: int | None) -> bool:
        """Whether a leader epoch may belong to a later leader; True if one of the epochs is not known."""
        return epoch is None or epoch < 0 or self.epoch is None or epoch > self.epoch


def lost_leaders(failure: Failure, leadership: Leadership) -> list[Loss]:
    """Returns the topic-partitions that the failed broker led, or whose leader moved. leadership: of the cluster."""
    node_id = failure.node_id
    if failure.is_of_broker and node_id is not None:
        from_ns, last_ns = begin_ns(failure), until_ns(failure)
        led = leadership.led_by(node_id, from_ns).items()
        return [Loss(name, node_id, from_ns, last_ns, epoch) for name, epoch in led if name != _RAFT_LOG]
    return list(_moved(failure, leadership)) if failure.kind.is_move else []


def lost_coordinators(failure: Failure, leadership: Leadership) -> list[Loss]:
    """Returns the groups and transactional ids that the failed broker coordinated, or whose coordinator moved, as far
    as clients had to look it up again."""
    names = sorted({r.resource for r in failure.recoveries if r.resource_kind in COORDINATED})
    from_ns = begin_ns(failure)
    before = ((name, leadership.coordinator(name, from_ns)) for name in names)
    known = [(name, node_id) for name, node_id in before if node_id is not None]
    if failure.is_of_broker:
        known = [(name, node_id) for name, node_id in known if node_id == failure.node_id]
    elif not failure.kind.is_move:
        return []
    return [Loss(name, node_id, from_ns, until_ns(failure)) for name, node_id in known]


_RAFT_LOG = "-".join(map(str, RAFT_LOG))
"""The metadata log is left out: the active controller leads it, and the voters elect its successor, long before brokers
are fenced."""
COORDINATED = frozenset({"group", "transaction", "coordinator"})
"""Resource kinds of recoveries that have a coordinator."""


def begin_ns(failure: Failure) -> int:
    """Returns from when another node may have taken over. In a controlled shutdown that is a little before the first
    refusal; for moves, it is before the first error."""
    if failure.kind.is_move:
        return failure.start_ns - FOLLOWS_NS
    return failure.start_ns - (HANDOVER_NS if failure.closed_ns is not None else 0)


def until_ns(failure: Failure) -> int:
    """Returns the end of the course of a failure: when nothing can follow from it any longer."""
    ends = [followed_until_ns(failure)]
    ends += [FOREVER if stall.to_ns is None else stall.to_ns for stall in failure.stalls]
    ends += [row.recovered_ns for row in failure.recoveries if row.recovered_ns is not None]
    return max(ends)


def _moved(failure: Failure, leadership: Leadership) -> Iterator[Loss]:
    """Yields the topic-partitions of errors whose leader moved away from the node that returned the error before the
    client recovered."""
    last_of: dict[tuple[str, int], int] = {}
    for row in failure.recoveries:
        if row.resource_kind == "partition" and row.old_node_id is not None:
            key = row.resource, row.old_node_id
            last_of[key] = max(last_of.get(key, 0), row.recovered_ns or row.last_failed_ns)
    for (name, node_id), last_ns in sorted(last_of.items()):
        former = leadership.former(name, node_id, begin_ns(failure), last_ns)
        if former is not None:
            yield Loss(name, node_id, max(begin_ns(failure), former.since_ns), until_ns(failure), former.epoch)
