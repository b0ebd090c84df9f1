"""The unanswered requests of a client by connection: those that it loses when the connection fails.

Whether a request will be answered is already known when it is sent (the whole capture has been read), so only requests
without a response are added. Memory is bounded for each connection.
"""

from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.tables.event_kinds.requests import PartitionAccess, Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.recoveries.resources import Resource, proven_by

MAX_REQUESTS = 100
"""Largest number of unanswered requests that are kept per connection: the oldest show when the silence began."""
MAX_PARTITIONS = 10_000
"""Largest number of topic-partitions of unanswered requests that are kept per connection: as many as open episodes."""


@dataclass(slots=True)
class Unanswered:
    """Requests without a response, and the topic-partitions that they name, in order of time."""

    requests: list[Request] = field(default_factory=list)
    partitions: list[PartitionAccess] = field(default_factory=list)

    def only(self, requests: list[Request]) -> "Unanswered":
        """Returns the part that belongs to these requests."""
        ids = {request.request_id for request in requests}
        return Unanswered(requests, [access for access in self.partitions if access.request_id in ids])

    def coordinators(self) -> list[tuple[Resource, Request]]:
        """Returns the coordinators that got requests, each with the first request."""
        asked: dict[Resource, Request] = {}
        for request in self.requests:
            if request.api_key != api_keys.FIND_COORDINATOR and (request.group_id or request.transactional_id):
                for resource in proven_by(request):
                    if resource[0] == "coordinator":
                        asked.setdefault(resource, request)
        return list(asked.items())


class WaitingRequests:
    """Unanswered requests by the connection that they were sent on."""

    def __init__(self) -> None:
        self._of: dict[str, Unanswered] = {}

    def __bool__(self) -> bool:
        return bool(self._of)

    def add_request(self, request: Request) -> None:
        """Adds a request that is never answered."""
        waiting = self._of.setdefault(request.conn_id, Unanswered())
        if len(waiting.requests) < MAX_REQUESTS:
            waiting.requests.append(request)

    def add_partition(self, access: PartitionAccess) -> None:
        """Adds a topic-partition of an unanswered request."""
        waiting = self._of.setdefault(access.conn_id, Unanswered())
        if len(waiting.partitions) < MAX_PARTITIONS:
            waiting.partitions.append(access)

    def of_connections(self) -> list[tuple[str, Unanswered]]:
        """Returns the connections with unanswered requests, and these requests."""
        return [(conn_id, waiting) for conn_id, waiting in sorted(self._of.items()) if waiting.requests]

    def take(self, conn_id: str) -> Unanswered:
        """Returns and removes the unanswered requests of the connection."""
        return self._of.pop(conn_id, None) or Unanswered()
