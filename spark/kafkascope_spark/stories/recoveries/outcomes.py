"""The outcome of an episode that no success has ended when its client or the capture ends.

A lost broker that the client did not need again, as others served it, is no failure that goes on. A client gave up only
where it went on with other work for a while and did not try again; what a member of a group does not try again may be
another member's by now.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.episode import Episode
from kafkascope_spark.stories.recoveries.states import State
from kafkascope_spark.stories.recoveries.table import RecoveryOutcome

GAVE_UP_NS = 1_000_000_000
"""A client that does other work for so long after an error, and does not try again, has given up."""


class OpenOutcomes:
    """connections: all connections of the client. worked: ids of those that had responses to more than the handshake.
    Both are looked through once: a client may have thousands of connections, and of open episodes."""

    def __init__(self, connections: Iterable[Connection], worked: Collection[str]) -> None:
        listed = list(connections)
        self._servers = {c.server for c in listed}
        self._is_member = any(c.groups for c in listed)
        self._is_alive = any(c.close_ns is None and not c.failed_to_open for c in listed)
        last_requests: dict[str, int] = defaultdict(int)
        for c in listed:
            if c.conn_id in worked:
                last_requests[c.server] = max(last_requests[c.server], c.last_request_ns or 0)
        self._last_requests = sorted(((at, server) for server, at in last_requests.items()), reverse=True)
        """When each server that had responded was last asked, the last first."""

    def outcome(self, episode: Episode) -> RecoveryOutcome:
        """How the episode ended."""
        if episode.is_fatal:
            return "fatal"
        kind, name = episode.resource
        if kind == "connection" and name in self._servers and self._asked_after(episode.last_error_ns, besides=name):
            return "served_elsewhere"
        went_on = self._asked_after(episode.last_error_ns + GAVE_UP_NS)
        if kind != "connection" and went_on and episode.state is not State.TRYING:
            return "served_elsewhere" if kind == "partition" and self._is_member else "gave_up"
        return "still_open" if self._is_alive else "client_ended"

    def _asked_after(self, ts_ns: int, besides: str | None = None) -> bool:
        """Whether a server was asked later than that."""
        return any(at > ts_ns for at, server in self._last_requests[:2] if server != besides)
