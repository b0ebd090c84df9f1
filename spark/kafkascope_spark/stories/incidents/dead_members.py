"""Groups that waited for a member whose process had ended without leaving the group: the coordinator keeps the member
until its session times out. That is so even if the process was started again at once, because it joins as a new
member."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.failure import Failure


def give_dead(
    failures: Iterable[Failure], rebalances: Iterable[RebalanceRow], clients: Mapping[str, AffectedClient]
) -> None:
    """Adds the dead members that its rebalances waited for to each failure of members from which none was removed yet.
    clients: by client_instance_id."""
    of_group: dict[str, list[RebalanceRow]] = defaultdict(list)
    for row in rebalances:
        of_group[row.group_id].append(row)
    for failure in failures:
        if not any(row.lost for row in failure.rebalances):
            dead = [c for row in failure.rebalances for c in _waited_for(row, of_group[row.group_id], clients)]
            failure.dead_members = list({client.client_instance_id: client for client in dead}.values())


def _waited_for(
    rebalance: RebalanceRow, of_group: Iterable[RebalanceRow], clients: Mapping[str, AffectedClient]
) -> Iterator[AffectedClient]:
    """Yields the members of the previous generation that died before the rebalance began, by less than their session
    timeout."""
    begun_ns = rebalance.start_ns
    if begun_ns is None:
        return
    before = [row for row in of_group if row.end_ns is not None and row.end_ns <= begun_ns]
    last = max(before, key=lambda row: row.end_ns or 0, default=None)
    if last is None:
        return
    for member in last.members:
        client = clients.get(member.client_instance_id or "")
        if client is None or client.died_ns is None or member.session_timeout_ms is None:
            continue
        silent_ns = begun_ns - client.died_ns
        if client.died_ns >= (last.end_ns or 0) and 0 <= silent_ns < member.session_timeout_ms * 1_000_000:
            yield client
