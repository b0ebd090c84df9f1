"""Decides whether the end of a connection, or a late response, is a failure of the broker or the network, and which.

An end is normal if the client closes first and no response is overdue, or if the server closes an idle connection. A
server that closes a busy connection, or many connections at once, is going away. Source:
NetworkClient.handleDisconnections, handleTimedOutRequests; Selector.IdleExpiryManager (connections.max.idle.ms).
"""

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_analyzer.dataset.tables.event_kinds.requests import OVERDUE_NS, Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.model import Connection

BUSY_MS = 1_000
"""A server that closes a connection which was used within this time, or closes several connections together, does not
close it because it was idle: brokers close connections that were idle for longer."""
PATIENCE_NS = 1_000_000_000
"""Shortest time that clients are configured to wait for the response to a Produce (request.timeout.ms)."""
SERVER_CLOSE_ERRORS = {"fin_server": "CONNECTION_CLOSED", "rst_server": "CONNECTION_RESET"}
"""Values of close_kind of connections that the server closed, each with the name of the failure."""
_REBALANCE_APIS = frozenset({api_keys.JOIN_GROUP, api_keys.SYNC_GROUP})
"""APIs whose response may take as long as a rebalance."""
PROMPT = frozenset(
    {
        api_keys.FETCH,
        api_keys.LIST_OFFSETS,
        api_keys.METADATA,
        api_keys.OFFSET_FETCH,
        api_keys.FIND_COORDINATOR,
        api_keys.HEARTBEAT,
        api_keys.OFFSET_FOR_LEADER_EPOCH,
    }
)
"""APIs to which a broker responds without waiting for another broker or client, or within the request's max_wait_ms."""


def failure_of_end(connection: Connection, unanswered: list[Request], client_goes_on: bool) -> str | None:
    """The name of the failure by which the connection ended, or None for a normal end.

    unanswered: its requests without a response. client_goes_on: whether the client sent or opened anything afterwards.
    """
    kind = connection.close_kind
    if kind == "refused":
        return "CONNECTION_REFUSED"
    if kind == "unanswered":
        return "CONNECTION_UNANSWERED"
    if kind in SERVER_CLOSE_ERRORS:
        return _failure_of_server_close(connection, unanswered)
    if kind in CLOSED_BY_CLIENT and client_goes_on and connection.close_ns is not None:
        return "REQUEST_UNANSWERED" if given_up(unanswered, connection.close_ns) else None
    return None


def _failure_of_server_close(connection: Connection, unanswered: list[Request]) -> str | None:
    idle = [i for i in (connection.idle_ms, connection.near_idle_ms) if i is not None]
    busy = not idle or min(idle) < BUSY_MS
    return SERVER_CLOSE_ERRORS[connection.close_kind] if unanswered or busy or connection.refused_after else None


def overdue(unanswered: list[Request], now_ns: int) -> list[Request]:
    """The requests whose response should have come by now."""
    return [r for r in unanswered if r.api_key not in _REBALANCE_APIS and now_ns > _due_ns(r)]


def given_up(unanswered: list[Request], closed_ns: int) -> list[Request]:
    """The requests that the client gave up when it closed the connection at closed_ns: the overdue ones.

    If a Produce among the unanswered requests was sent longer than PATIENCE_NS before, all unanswered Produce requests
    are given up: clients close a connection on which a Produce is in flight only after a time-out (NetworkClient,
    librdkafka, franz-go, sarama and kafkajs).
    """
    late = overdue(unanswered, closed_ns)
    produced = [r for r in unanswered if r.api_key == api_keys.PRODUCE]
    if not any(closed_ns - r.request_last_ns > PATIENCE_NS for r in produced):
        return late
    return [r for r in unanswered if r in produced or r in late]


def late_since(request: Request) -> int | None:
    """The time at which the response to the request was overdue, if it came later than that; else None.

    Only for a request that was alone in flight on its connection, because brokers respond in order. Such a response
    shows that the broker, or the path to it, was silent for less time than the client waits.
    """
    if request.response_ns is None or request.in_flight != 1 or request.api_key not in PROMPT:
        return None
    due_ns = _due_ns(request)
    return due_ns if request.response_ns > due_ns else None


def _due_ns(request: Request) -> int:
    """The time after which the response to the request is overdue."""
    return request.request_last_ns + (request.max_wait_ms or 0) * 1_000_000 + OVERDUE_NS
