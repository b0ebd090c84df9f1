"""When the end of a connection is a failure of the broker or the network, and which.

A normal end is none: the client closes first with nothing overdue, or the server closes a connection that was
idle. A server that closes a busy connection, or many at once, is going away. Source:
NetworkClient.handleDisconnections, handleTimedOutRequests; Selector.IdleExpiryManager (connections.max.idle.ms).
"""

from kafkascope_spark import wire
from kafkascope_spark.wire import Connection, Request

BUSY_MS = 1_000
"""A server that closes a connection used within this time, or others beside it, is not tidying up: brokers close
what was idle for longer."""
OVERDUE_NS = 5_000_000_000
"""An answer that comes so much later than its request allows is overdue: clients wait 10 s (connection set-up) to 60
s (librdkafka)."""
PATIENCE_NS = 1_000_000_000
"""No client is set to wait shorter for the answer to records (request.timeout.ms)."""
_PATIENT = frozenset({wire.JOIN_GROUP, wire.SYNC_GROUP})
"""APIs whose answer may take as long as a rebalance."""
PROMPT = frozenset(
    {
        wire.FETCH,
        wire.LIST_OFFSETS,
        wire.METADATA,
        wire.OFFSET_FETCH,
        wire.FIND_COORDINATOR,
        wire.HEARTBEAT,
        wire.OFFSET_FOR_LEADER_EPOCH,
    }
)
"""APIs that wait for no other broker and no other client, or not longer than they say (max_wait_ms)."""


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
    if kind in wire.CLOSED_BY_CLIENT and client_goes_on and connection.close_ns is not None:
        return "REQUEST_UNANSWERED" if given_up(unanswered, connection.close_ns) else None
    return None


def _failure_of_server_close(connection: Connection, unanswered: list[Request]) -> str | None:
    error = "CONNECTION_RESET" if connection.close_kind == "rst_server" else "CONNECTION_CLOSED"
    idle = [i for i in (connection.idle_ms, connection.near_idle_ms) if i is not None]
    busy = not idle or min(idle) < BUSY_MS
    return error if unanswered or busy or connection.refused_after else None


def overdue(unanswered: list[Request], now_ns: int) -> list[Request]:
    """The requests whose answer should have come by now."""
    return [
        r
        for r in unanswered
        if r.api_key not in _PATIENT and now_ns - r.request_last_ns > (r.max_wait_ms or 0) * 1_000_000 + OVERDUE_NS
    ]


def given_up(unanswered: list[Request], closed_ns: int) -> list[Request]:
    """The requests for which a client waited in vain that closed the connection and goes on.

    Where a Produce is among them for longer than PATIENCE_NS, so are all: no client tidies a connection away on which
    it waits for the answer to records (NetworkClient, librdkafka, franz-go, sarama and kafkajs: after a time-out only).
    """
    late = overdue(unanswered, closed_ns)
    produced = [r for r in unanswered if r.api_key == wire.PRODUCE]
    if not any(closed_ns - r.request_last_ns > PATIENCE_NS for r in produced):
        return late
    return [r for r in unanswered if r in produced or r in late]


def late_since(request: Request) -> int | None:
    """When the answer to the request was overdue, where it came later than that; else None.

    Only where nothing else waited on the connection: brokers answer in order. Such an answer shows that the broker, or
    the path to it, was silent for shorter than the client waits.
    """
    if request.response_ns is None or request.in_flight != 1 or request.api_key not in PROMPT:
        return None
    due_ns = request.request_last_ns + (request.max_wait_ms or 0) * 1_000_000 + OVERDUE_NS
    return due_ns if request.response_ns > due_ns else None
