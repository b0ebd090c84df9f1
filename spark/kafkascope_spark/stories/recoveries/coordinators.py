"""The coordinators of a client, and which of them it lost when a connection failed.

A client that loses the connection to a coordinator may have no work for it then. It has, if requests were in flight
(waiting.Unanswered.coordinators), and a member of a group always has: it is to send heartbeats. Any other client has
work for a coordinator again when it looks for it.
"""

from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_spark.stories.recoveries.journal import EpisodeStep
from kafkascope_spark.stories.recoveries.resources import Resource, proven_by

MAX_COORDINATORS = 1_000
"""Groups and transactional ids of a client whose coordinators are remembered."""


class LostCoordinator(NamedTuple):
    """The coordinator of a group or transactional id, and the failure of the connection to it."""

    resource: Resource
    failure: EpisodeStep


class Coordinators:
    """Follows on which connections the coordinators of one client respond."""

    def __init__(self) -> None:
        self._connections: dict[str, str] = {}
        """Group or transactional id -> the connection on which its coordinator responded last."""
        self._members: set[str] = set()
        """Groups of which the client is a member."""
        self._lost: dict[str, EpisodeStep] = {}
        """Group or transactional id -> the failure of that connection."""

    def on_answer(self, request: Request) -> None:
        """A response arrived: from a coordinator, if the request was about a group or a transactional id."""
        if not request.ok or not (request.group_id or request.transactional_id):
            return
        for name in _coordinated(request):
            if name in self._connections or len(self._connections) < MAX_COORDINATORS:
                self._connections[name] = request.conn_id
                self._lost.pop(name, None)
                if request.member_id and name == request.group_id:
                    self._members.add(name)

    def on_failure(self, failure: EpisodeStep) -> None:
        """A connection failed: with it, the client lost the coordinators that responded on it."""
        lost = [name for name, conn_id in self._connections.items() if conn_id == failure.conn_id]
        self._lost |= dict.fromkeys(lost, failure)

    def looked_for(self, request: Request) -> list[LostCoordinator]:
        """The lost coordinators that a request asks for: by FindCoordinator, or by a call to the coordinator itself."""
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
    """The groups and transactional ids about which the request asks their coordinators."""
    return [name for kind, name in proven_by(request) if kind == "coordinator"]
