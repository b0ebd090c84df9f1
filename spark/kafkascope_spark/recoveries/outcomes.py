"""The outcome of an episode that no success has ended when its client or the capture ends.

A lost broker that the client did not need again, as others served it, is no failure that goes on. A client gave up only
where it went on with other work for a while and did not try again; what a member of a group does not try again may be
another member's by now.
"""

from collections.abc import Collection, Sequence

from kafkascope_spark.model import Connection
from kafkascope_spark.recoveries.episode import Episode
from kafkascope_spark.recoveries.states import State

GAVE_UP_NS = 1_000_000_000
"""A client that does other work for so long after an error, and does not try again, has given up."""


def open_outcome(episode: Episode, connections: Sequence[Connection], worked: Collection[str]) -> str:
    """One of RECOVERY_OUTCOMES.

    connections: all connections of the client. worked: ids of those that had responses to more than the handshake.
    """
    if episode.is_fatal:
        return "fatal"
    kind, name = episode.resource
    later = [c for c in connections if c.conn_id in worked and (c.last_request_ns or 0) > episode.last_error_ns]
    is_server = any(c.server == name for c in connections)
    if kind == "connection" and is_server and any(c.server != name for c in later):
        return "served_elsewhere"
    went_on = any((c.last_request_ns or 0) > episode.last_error_ns + GAVE_UP_NS for c in later)
    if kind != "connection" and went_on and episode.state is not State.TRYING:
        is_member = any(c.groups for c in connections)
        return "served_elsewhere" if kind == "partition" and is_member else "gave_up"
    is_alive = any(c.close_ns is None and not c.failed_to_open for c in connections)
    return "still_open" if is_alive else "client_ended"
