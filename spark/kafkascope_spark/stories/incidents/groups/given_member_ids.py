"""Gives failures of group members the member ids for which their rebalances waited."""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.packets.unused_member_ids import JoinRequest, has_waited_for_nobody, unused_ids


def give_unused_ids(failures: Iterable[Failure], packets: Packets) -> None:
    """Sets the unused member ids of each failure of members in which a rebalance waited for nobody that joined."""
    waited = {
        failure: [row for row in failure.rebalances if has_waited_for_nobody(row)]
        for failure in failures
        if failure.kind.of_members and failure.root is None
    }
    groups = {row.group_id for rows in waited.values() for row in rows}
    of_group: dict[str, list[JoinRequest]] = defaultdict(list)
    for request in packets.joins(groups):
        of_group[request.group_id].append(request)
    for failure, rows in waited.items():
        for row in rows:
            failure.members.unused_ids += unused_ids(row, of_group[row.group_id])
