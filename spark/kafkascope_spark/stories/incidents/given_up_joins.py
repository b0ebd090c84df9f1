"""Members that do not wait for their group: they give up JoinGroup while the coordinator waits for the other members,
close the connection and join anew.

The coordinator answers JoinGroup when all members have joined again, or the rebalance timeout is over. A client whose
own timeout is shorter never hears that, and each of its attempts may leave a member behind that nobody is.
"""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.api_keys import JOIN_GROUP
from kafkascope_spark.stories.findings.thresholds import PATIENCE_MS
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.unanswered_requests import UnansweredRequest

LEAST = 2
"""A member that stops may do so while it waits."""
BEFORE_NS = 60 * SECOND
"""The first may begin so long before others are kept from reading: until these hear of the rebalance."""


def give_given_up(failures: Iterable[Failure], packets: Packets) -> None:
    """Gives each failure of members the JoinGroup requests of its groups that clients gave up."""
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
            failure.given_up_joins = sorted(mine, key=lambda row: (row.ts_ns, row.request_id))


def _groups(failure: Failure) -> set[str]:
    of_stalls = {stall.group_id for stall in failure.stalls if stall.group_id is not None}
    return of_stalls | {row.group_id for row in failure.rebalances}
