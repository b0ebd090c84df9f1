"""The coordinators of a client, and which of them it lost when a connection failed.

A client that loses the connection to a coordinator may have no work for it any more. It has, if it looks for the
coordinator again; requests that were in flight show it too (waiting.Unanswered.coordinators).
"""

from typing import NamedTuple

from kafkascope_spark.model import Request
from kafkascope_spark.recoveries.journal import EpisodeStep
from kafkascope_spark.recoveries.resources import Resource, proven_by

MAX_COORDINATORS = 1_000
"""Groups and transactional ids of a client whose coordinators are remembered."""


class LostCoordinator(NamedTuple):
    """The coordinator of a group or transactional id, and the failure of the connection to it."""

    resource: Resource
    end: EpisodeStep


class Coordinators:
    """Follows on which connections the coordinators of one client respond."""

    def __init__(self) -> None:
        self._connections: dict[str, str] = {}
        """Group or transactional id -> the connection on which its coordinator responded last."""
        self._lost: dict[str, EpisodeStep] = {}
        """Group or transactional id -> the failure of that connection."""

    def on_answer(self, request: Request) -> None:
        """A response arrived: from a coordinator, if the request was about a group or a transactional id."""
        if not request.ok or not (request.group_id or request.transactional_id):
            return
        for kind, name in proven_by(request):
            if kind == "coordinator" and (name in self._connections or len(self._connections) < MAX_COORDINATORS):
                self._connections[name] = request.conn_id
                self._lost.pop(name, None)

    def on_failure(self, end: EpisodeStep) -> None:
        """A connection failed: with it, the client lost the coordinators that responded on it."""
        lost = [name for name, conn_id in self._connections.items() if conn_id == end.conn_id]
        self._lost |= dict.fromkeys(lost, end)

    def looked_for(self, request: Request) -> LostCoordinator | None:
        """The lost coordinator that a request asks for (FindCoordinator); None where it asks for none."""
        end = self._lost.pop(request.coordinator_key, None) if request.coordinator_key else None
        return None if end is None else LostCoordinator(("coordinator", request.coordinator_key or ""), end)
