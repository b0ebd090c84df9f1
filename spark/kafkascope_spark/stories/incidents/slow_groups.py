"""Members of one group whose applications handle records too slowly at the same time. One of them takes longer than
max.poll.interval.ms and leaves the group; others, or the same one before, fetch late or leave topic-partitions out,
because they still have records of them to handle."""

from collections.abc import Iterable

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.incidents.failure import Failure


def join_slow_members(slow: Iterable[Failure], late: Iterable[Failure]) -> list[Failure]:
    """Returns the failures of clients that fetched late, without those of members of a group that another client left
    at that time because it polled too rarely: these are given to that client's failure. slow: failures of clients that
    left their group."""
    left_groups = [failure for failure in slow if failure.rebalances]
    remaining = []
    for failure in late:
        known = next((each for each in left_groups if _is_of_group(failure, each)), None)
        if known is None:
            remaining.append(failure)
            continue
        known.stalls += failure.stalls
        if not failure.client_instance_ids <= known.client_instance_ids:
            known.client_instance_ids |= failure.client_instance_ids
            known.hosts |= failure.hosts
            known.late_members.append(failure.subject)
    return remaining


def _is_of_group(late: Failure, slow: Failure) -> bool:
    """Whether a client fetched late in the group, while the other one was too slow to poll, or as long before as that
    one was allowed to take between two polls."""
    groups = {row.group_id for row in slow.rebalances}
    left_ns = min(row.start_ns or slow.start_ns for row in slow.rebalances)
    from_ns = slow.start_ns - max(left_ns - slow.start_ns, 0)
    to_ns = FOREVER if slow.end_ns is None else slow.end_ns
    is_meanwhile = late.start_ns <= to_ns and (late.end_ns is None or late.end_ns >= from_ns)
    return is_meanwhile and any(stall.group_id in groups for stall in late.stalls)
