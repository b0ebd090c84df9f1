"""When the end of a connection is a failure of the broker or the network, and which.

A normal end is none: the client closes first with nothing overdue, or the server closes a connection that was idle.
A server that closes a busy connection, or
many at once, is going away. Source: NetworkClient.handleDisconnections, handleTimedOutRequests;
Selector.IdleExpiryManager (connections.max.idle.ms).
"""

from kafkascope_spark import wire
from kafkascope_spark.wire import Connection, Request

IDLE_MS = 60_000
"""A connection idle for longer may be closed by the broker for that alone; brokers are not configured with less."""
BUSY_MS = 10_000
"""A server that closes several connections at once, one of which was used within this time, is not tidying up."""
OVERDUE_NS = 5_000_000_000
"""An answer that comes so much later than its request allows is overdue: clients wait 10 s (connection set-up) to 60
s (librdkafka)."""
_PATIENT = frozenset({wire.JOIN_GROUP, wire.SYNC_GROUP})
"""APIs whose answer may take as long as a rebalance."""


def failure_of_end(connection: Connection, unanswered: list[Request], client_goes_on: bool) -> str | None:
    """The error that the end of the connection is, or None for a normal end.

    unanswered: its requests without an answer. client_goes_on: whether the client did anything afterwards.
    """
    kind = connection.close_kind
    if kind == "refused":
        return "CONNECTION_REFUSED"
    if kind == "unanswered":
        return "CONNECTION_UNANSWERED"
    if kind in ("fin_server", "rst_server"):
        return _failure_of_server_close(connection, unanswered)
    if kind in ("fin_client", "rst_client") and client_goes_on and connection.close_ns is not None:
        return "REQUEST_UNANSWERED" if overdue(unanswered, connection.close_ns) else None
    return None


def _failure_of_server_close(connection: Connection, unanswered: list[Request]) -> str | None:
    error = "CONNECTION_RESET" if connection.close_kind == "rst_server" else "CONNECTION_CLOSED"
    if unanswered or connection.idle_ms is None or connection.idle_ms < IDLE_MS:
        return error
    many = connection.near_closes > 1 and connection.near_idle_ms is not None and connection.near_idle_ms < BUSY_MS
    return error if many else None


def overdue(unanswered: list[Request], now_ns: int) -> list[Request]:
    """The requests whose answer should have come by now."""
    return [
        r
        for r in unanswered
        if r.api_key not in _PATIENT and now_ns - r.request_last_ns > (r.max_wait_ms or 0) * 1_000_000 + OVERDUE_NS
    ]
