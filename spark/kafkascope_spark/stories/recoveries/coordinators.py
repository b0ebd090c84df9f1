"""`Coordinators`: the coordinators of a client, and those that it lost when a connection failed.

A client that loses the connection to a coordinator need not be affected. It is if requests were in flight
(waiting.Unanswered.coordinators), and a group member always is, because it has to send heartbeats. Any other client is
affected when it looks up the coordinator again.
"""

from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_spark.stories.recoveries.journal import EpisodeStep
from kafkascope_spark.stories.recoveries.resources import Resource, proven_by

MAX_COORDINATORS = 1_000
"""Largest number of groups and transactional ids of a client whose coordinators are kept."""


class LostCoordinator(NamedTuple):
    """A group or transactional id with a lost coordinator, and the failure of the connection to it."""

    resource: Resource
    failure: EpisodeStep


class Coordinators:
    """Follows the connections on which the coordinators of one client respond."""

    def __init__(self) -> None:
        self._connections: dict[str, str] = {}
        """Group or transactional id -> connection on which its coordinator last responded."""
        self._members: set[str] = set()
        """Groups of which the client is a member."""
        self._lost: dict[str, EpisodeStep] = {}
        """Group or transactional id -> failure of the connection to its coordinator."""

    def on_answer(self, request: Request) -> None:
        """Handles a response: it is from a coordinator if the request was about a group or a transactional id."""
        if not request.ok or not (request.group_id or request.transactional_id):
            return
        for name in _coordinated(request):
            if name in self._connections or len(self._connections) < MAX_COORDINATORS:
                self._connections[name] = request.conn_id
                self._lost.pop(name, None)
                if request.member_id and name == request.group_id:
                    self._members.add(name)

    def on_failure(self, failure: EpisodeStep) -> None:
        """Handles the failure of a connection: the client lost the coordinators that responded on it."""
        lost = [name for name, conn_id in self._connections.items() if conn_id == failure.conn_id]
        self._lost |= dict.fromkeys(lost, failure)

    def looked_for(self, request: Request) -> list[LostCoordinator]:
        """Returns the lost coordinators that a request needs: FindCoordinator, or a request to the coordinator
        itself."""
        if not self._lost:
            return []
        wanted = [name for name in (request.coordinator_key, *_coordinated(request)) if name in self._lost]
        return [self._lost_coordinator(name, request) for name in dict.fromkeys(filter(None, wanted))]

    def _lost_coordinator(self, name: str, request: Request) -> LostCoordinator:
        failure = self._lost.pop(name)
        if name not in self._members:
            failure = failure._replace(ts_ns=max(failure.ts_ns, request.ts_ns - 1))
        return LostCoordinator(("coordinator", name), failure)


def _coordinated(request: Request) -> list[str]:
    """Returns the groups and transactional ids whose coordinator the request is for."""
    return [name for kind, name in proven_by(request) if kind == "coordinator"]
