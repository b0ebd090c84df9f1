"""Members of one group whose applications handle records too slowly at the same time: one takes longer than
max.poll.interval.ms and leaves the group, or fetches late; others, or the same one before, fetch late too or leave
topic-partitions out, because they still have records of them to handle. They are one failure."""

from collections.abc import Iterable

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.slow_consumer import SLOW_CONSUMER


def join_slow_members(left: Iterable[Failure], late: Iterable[Failure]) -> list[Failure]:
    """Returns the failures of clients that fetched late or left topic-partitions out, without those that belong to the
    failure of another member of their group, which gets their stalls. left: failures of clients that left their group
    because they polled too rarely."""
    known = [failure for failure in left if failure.rebalances]
    remaining: list[Failure] = []
    for failure in sorted(late, key=lambda each: (each.kind is not SLOW_CONSUMER, each.start_ns)):
        member = next((each for each in (*known, *remaining) if _is_of_group(failure, each)), None)
        if member is None:
            remaining.append(failure)
        else:
            _join(member, failure)
    return remaining


def _is_of_group(late: Failure, slow: Failure) -> bool:
    """Whether a client fetched late in the group, while the other one was too slow to poll, or as long before as that
    one was allowed to take between two polls."""
    if slow.kind is not SLOW_CONSUMER or _groups(slow).isdisjoint(_groups(late)):
        return False
    left_ns = min((row.start_ns or slow.start_ns for row in slow.rebalances), default=slow.start_ns)
    from_ns = slow.start_ns - max(left_ns - slow.start_ns, 0)
    to_ns = FOREVER if slow.end_ns is None else slow.end_ns
    return late.start_ns <= to_ns and (late.end_ns is None or late.end_ns >= from_ns)


def _groups(failure: Failure) -> set[str]:
    of_stalls = {stall.group_id for stall in failure.stalls if stall.group_id is not None}
    return of_stalls | {row.group_id for row in failure.rebalances}


def _join(slow: Failure, late: Failure) -> None:
    slow.stalls += late.stalls
    if not slow.rebalances:
        slow.start_ns = min(slow.start_ns, late.start_ns)
        is_open = slow.end_ns is None or late.end_ns is None
        slow.end_ns = None if is_open else max(slow.end_ns or 0, late.end_ns or 0)
    if not late.client_instance_ids <= slow.client_instance_ids:
        slow.client_instance_ids |= late.client_instance_ids
        slow.hosts |= late.hosts
        slow.late_members.append(late.subject)
