"""JoinGroup requests that clients gave up: the client closes the connection and joins again while the coordinator still
waits for the other members.

The coordinator answers JoinGroup when all members have joined again, or when the rebalance timeout is over. A client
with a shorter timeout never gets that response, and each of its attempts may leave a member in the group that no client
uses.
"""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.api_keys import JOIN_GROUP
from kafkascope_spark.stories.findings.thresholds import PATIENCE_MS
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest

LEAST = 2
"""Fewest given-up requests that count: a single one may be a member that stopped while it waited."""
BEFORE_NS = 60 * SECOND
"""The first given-up request may begin this long before the failure: other members stop reading only when they learn of
the rebalance."""


def give_given_up(failures: Iterable[Failure], packets: Packets) -> None:
    """Sets the given-up JoinGroup requests of each failure of members, from those of its groups."""
    of_members = [failure for failure in failures if failure.kind.of_members and failure.root is None]
    if not of_members:
        return
    of_group: dict[str, list[UnansweredRequest]] = defaultdict(list)
    for row in packets.unanswered(FOREVER, {JOIN_GROUP}):
        if row.given_up and row.group_id and row.until_ns - row.ts_ns >= PATIENCE_MS * 1_000_000:
            of_group[row.group_id].append(row)
    for failure in of_members:
        rows = [row for group in sorted(_groups(failure)) for row in of_group.get(group, ())]
        from_ns, to_ns = failure.start_ns - BEFORE_NS, failure.affected_to_ns
        mine = [row for row in rows if row.ts_ns <= to_ns and row.until_ns >= from_ns]
        if len(mine) >= LEAST:
            failure.members.given_up_joins = sorted(mine, key=lambda row: (row.ts_ns, row.request_id))


def _groups(failure: Failure) -> set[str]:
    of_stalls = {stall.group_id for stall in failure.stalls if stall.group_id is not None}
    return of_stalls | {row.group_id for row in failure.rebalances}
