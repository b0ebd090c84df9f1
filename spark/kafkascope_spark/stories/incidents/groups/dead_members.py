"""Groups that waited for a member whose process had ended without leaving the group: the coordinator keeps the member
until its session times out. That is so even if the process was started again at once, because it joins as a new
member."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient


def give_dead(
    failures: Iterable[Failure], rebalances: Iterable[RebalanceRow], clients: Mapping[str, AffectedClient]
) -> None:
    """Adds the dead members that its rebalances waited for to each failure of members from which none was removed yet,
    and those that were removed, if all of them had died. clients: by client_instance_id."""
    of_group: dict[str, list[RebalanceRow]] = defaultdict(list)
    for row in rebalances:
        of_group[row.group_id].append(row)
    for failure in failures:
        if any(row.lost for row in failure.rebalances):
            dead = _removed(failure, clients)
        else:
            dead = [c for row in failure.rebalances for c in _waited_for(row, of_group[row.group_id], clients)]
        failure.members.dead = list({client.client_instance_id: client for client in dead}.values())


def _removed(failure: Failure, clients: Mapping[str, AffectedClient]) -> list[AffectedClient]:
    """Returns the removed members of a failure, if all of them had died within their session timeouts before; else
    none. A member that died later was removed because it did not poll, or did not reach its coordinator."""
    found = []
    for row in failure.rebalances:
        for member in row.lost:
            client = clients.get(member.client_instance_id or "")
            until_ns = row.end_ns or row.start_ns
            if client is None or client.died_ns is None or until_ns is None or client.died_ns > until_ns:
                return []
            session_ns = (member.session_timeout_ms or 0) * 1_000_000
            if client.died_ns - (member.last_seen_ns or 0) > session_ns:
                return []
            found.append(client)
    return found


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
