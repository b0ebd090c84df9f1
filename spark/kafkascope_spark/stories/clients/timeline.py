"""`Timeline`: the events of one client address in the order in which they happened.

Rows come sorted by the time of their first byte; the response to a request and the end of a connection are later than
the row that reports them. A heap holds them back. Events of the same time have this order: connections open, requests,
accesses to partitions, responses, connections end.

A response on a connection that the client has closed never reached the client and proves nothing. If the client closed
because it had waited for that response (the broker was paused, or its network was silent), the request counts as
unanswered. The table requests still has such responses.
"""

import enum
import heapq
from typing import Any, NamedTuple

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, PartitionAccess, Request
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.failures import PATIENCE_NS

REPLY_NS = 10_000_000
"""A client's RST this soon after a late response shows that its socket was already closed, with the FIN behind data
that could not be delivered (RFC 9293, 3.10.7.1)."""


class Kind(enum.IntEnum):
    """Kind of event. Events of the same time are processed in the order of these numbers."""

    OPEN = 0
    UP = 1
    REQUEST = 2
    ACCESS = 3
    ANSWER = 4
    ERROR_RUN = 5
    CLOSE = 6
    LATE_ANSWER = 7
    """The response to a request that the client had given up; it comes after the end of its connection."""


class Event(NamedTuple):
    """An event and its sort key; tie and number (the order of the rows) make the order total."""

    ts_ns: int
    kind: Kind
    tie: str
    number: int
    what: Any


class Timeline:
    """Takes rows in order of their first byte and returns events in order of time. For each row, call events_before
    first, then add the row."""

    def __init__(self, connections: list[Connection], capture_end_ns: int) -> None:
        self._heap: list[Event] = []
        self._number = 0
        self._errors: dict[str, list[ErrorRun]] = {}
        self._closed_ns: dict[str, int] = {}
        """conn_id of connections that the client closed -> when packets show it."""
        self._left_ns: dict[str, int] = {}
        """conn_id of connections that the client closed -> latest time at which it did."""
        self._answered_late: set[str] = set()
        """request_id of requests whose response came after the client had given them up."""
        for connection in connections:
            self._push_connection(connection, capture_end_ns)

    def _push_connection(self, connection: Connection, capture_end_ns: int) -> None:
        tie = connection.conn_id
        self._push(connection.begin_ns, Kind.OPEN, tie, connection)
        if connection.up_ns is not None:
            self._push(connection.up_ns, Kind.UP, tie, connection)
        end = connection.close_ns
        if connection.close_kind == "unanswered" and connection.last_ns < capture_end_ns - _SYN_PATIENCE_NS:
            end = connection.last_ns
        if end is not None:
            self._push(end, Kind.CLOSE, tie, connection)
        if connection.close_kind in CLOSED_BY_CLIENT and connection.close_ns is not None:
            is_reply = connection.close_kind == "rst_client"
            self._closed_ns[tie] = connection.close_ns
            self._left_ns[tie] = connection.close_ns - (REPLY_NS if is_reply else 0)

    def _push(self, ts_ns: int, kind: Kind, tie: str, what: Any) -> None:
        self._number += 1
        heapq.heappush(self._heap, Event(ts_ns, kind, tie, self._number, what))

    def add_request(self, request: Request) -> None:
        """Adds a request and its response."""
        if self._was_given_up(request):
            self._answered_late.add(request.request_id)
            at = max(request.response_ns or 0, self._closed_ns[request.conn_id])
            self._push(at, Kind.LATE_ANSWER, request.request_id, request)
            request.status, request.response_ns, request.error_code, request.error_name = "unanswered", None, 0, None
        self._push(request.ts_ns, Kind.REQUEST, request.request_id, request)
        if request.response_ns is not None:
            self._push(request.response_ns, Kind.ANSWER, request.request_id, request)

    def _was_given_up(self, request: Request) -> bool:
        """Whether the client closed the connection before the response, and either had waited long or the response came
        long after."""
        left_ns = self._left_ns.get(request.conn_id)
        if left_ns is None or request.response_ns is None or request.response_ns <= left_ns:
            return False
        return max(left_ns - request.request_last_ns, request.response_ns - left_ns) > PATIENCE_NS

    def add_access(self, access: PartitionAccess) -> None:
        """Adds an access to a topic-partition."""
        if access.hints and access.request_id in self._answered_late:
            return
        if access.answered and not access.hints and self._left_ns.get(access.conn_id, access.ts_ns) < access.ts_ns:
            return
        self._push(access.ts_ns, Kind.ACCESS, access.request_id, access)

    def add_error_run(self, run: ErrorRun) -> None:
        """Adds an error: that of one request comes with its response, that of several requests at the response to the
        last one."""
        if run.n == 1:
            self._errors.setdefault(run.request_id, []).append(run)
        else:
            self._push(run.last_ns, Kind.ERROR_RUN, run.last_request_id, run)

    def errors_of(self, request: Request) -> list[ErrorRun]:
        """Returns and removes the errors of the response."""
        return self._errors.pop(request.request_id, [])

    def events_before(self, ts_ns: int) -> list[Event]:
        """Returns the events before that time. Call it before a row of that time is added."""
        heap, due = self._heap, []
        while heap and heap[0][0] < ts_ns:
            due.append(heapq.heappop(heap))
        return due

    def rest(self) -> list[Event]:
        """Returns the remaining events at the end."""
        return sorted(self._heap)


_SYN_PATIENCE_NS = 1_000_000_000
"""A SYN younger than this at the end of the capture may still be answered: TCP's first retry comes after one second."""
