"""Members that were removed from their groups because their heartbeats waited behind long polls (long_polls)."""

from collections.abc import Iterable, Mapping

from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.packets.long_polls import LEAST_WAIT_MS
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient


def give_held(failures: Iterable[Failure], packets: Packets, clients: Mapping[str, AffectedClient]) -> None:
    """Sets the requests of the members of each failure that were held for as long as their sessions last. clients: by
    client_instance_id."""
    of_members = [failure for failure in failures if failure.kind.of_members and failure.root is None]
    asked = {failure: _awaited(failure) for failure in of_members}
    held = {row.request_id: row for row in packets.held({i for ids in asked.values() for i in ids})}
    for failure, request_ids in asked.items():
        mine = [held[request_id] for request_id in sorted(request_ids & held.keys())]
        least_ms = _session_ms(failure, clients)
        if any(row.max_wait_ms >= least_ms and row.to_ns - row.from_ns >= least_ms * 1_000_000 for row in mine):
            failure.members.held = sorted(mine, key=lambda row: (row.from_ns, row.request_id))


def _awaited(failure: Failure) -> set[str]:
    """Returns the ids of the members' requests that were answered late or with errors."""
    ids = {i for stall in failure.stalls if stall.kind == "membership" for i in stall.evidence}
    return ids | {i for row in failure.recoveries for i in row.evidence}


def _session_ms(failure: Failure, clients: Mapping[str, AffectedClient]) -> int:
    """Returns the shortest session timeout of the clients of a failure, LEAST_WAIT_MS at least."""
    who = {stall.client_instance_id for stall in failure.stalls} | failure.client_instance_ids
    found = (clients[each].session_timeout_ms for each in who if each is not None and each in clients)
    return max(LEAST_WAIT_MS, min((ms for ms in found if ms is not None), default=LEAST_WAIT_MS))
