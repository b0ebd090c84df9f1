"""Outcomes of episodes without a success at the end of their client or of the capture.

A lost broker that the client did not need again, because others served it, is not open any longer. A client gave up
only if it continued with other work for a while without retrying. If a group member does not retry a topic-partition,
another member may have it by then.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.episode import Episode
from kafkascope_spark.stories.recoveries.states import State
from kafkascope_spark.stories.recoveries.table import RecoveryOutcome

GAVE_UP_NS = 1_000_000_000
"""A client that does other work for this long after an error without a retry has given up."""


STILL_TRIES_NS = 30_000_000_000
"""Largest pause between two attempts to connect: socket.connection.setup.timeout.max.ms of the Java client, whose
attempts wait longest."""


class OpenOutcomes:
    """Determines outcomes. connections: all connections of the client; worked: ids of those with responses to more than
    the handshake; end_ns: end of the capture. The connections are read only once, because a client may have thousands
    of connections and of open episodes."""

    def __init__(self, connections: Iterable[Connection], worked: Collection[str], end_ns: int) -> None:
        listed = list(connections)
        self._servers = {c.server for c in listed}
        self._is_member = any(c.groups for c in listed)
        self._is_alive = any(c.close_ns is None and not c.failed_to_open for c in listed) or _tries(listed, end_ns)
        last_requests: dict[str, int] = defaultdict(int)
        for c in listed:
            if c.conn_id in worked:
                last_requests[c.server] = max(last_requests[c.server], c.last_request_ns or 0)
        self._last_requests = sorted(((at, server) for server, at in last_requests.items()), reverse=True)
        """Time of the last request to each server that had responded, the latest first."""

    def outcome(self, episode: Episode) -> RecoveryOutcome:
        """Returns the outcome of the episode."""
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
        """Whether any server (except `besides`) got a request after ts_ns."""
        return any(at > ts_ns for at, server in self._last_requests[:2] if server != besides)


def _tries(connections: Iterable[Connection], end_ns: int) -> bool:
    """Whether the client still tried to connect when the capture ended, in vain: a client that ends closes its
    connections, and opens no other."""
    last = max(connections, key=lambda c: c.last_ns, default=None)
    return last is not None and last.failed_to_open and end_ns - last.last_ns < STILL_TRIES_NS
