"""Ends waits, requests and idle times at the beginning of a time that no file covers, because it is not known what
happened then.

A packet that is in no file may have ended a wait or answered a request. A connection may have been used, so that its
idle time is not known.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.resolve.servers.waits import Waits
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_parsers.tcp.spans import BY_HIDDEN

_NEVER = np.iinfo(np.int64).max
_UNANSWERED, _NOT_CAPTURED = (REQUEST_STATUSES.index(name) for name in ("unanswered", "not_captured"))
_NS_PER_MS = 1_000_000


def without_unknown_idle(connections: pa.Table, uncovered: Uncovered) -> pa.Table:
    """Returns the connections without idle_before_close_ms where a part of that time is in no file."""
    if not uncovered:
        return connections
    idle_ms, closed = int_column(connections, "idle_before_close_ms", 0), int_column(connections, "close_ns", 0)
    unknown = uncovered.lie_in(closed - idle_ms * _NS_PER_MS, closed)
    at = connections.column_names.index("idle_before_close_ms")
    known = pa.array(idle_ms, mask=unknown | np.asarray(connections["idle_before_close_ms"].is_null()))
    return connections.set_column(at, "idle_before_close_ms", known)


def with_unknown_answers(requests: pa.Table, close_ns: pa.ChunkedArray, uncovered: Uncovered) -> pa.Table:
    """Returns spilled requests, in which unanswered requests have status not_captured where the response may be in no
    file. close_ns: end of each connection by number."""
    if not uncovered:
        return requests
    status, conn = int_column(requests, "status", 0), int_column(requests, "conn", 0)
    closed = close_ns.fill_null(_NEVER).to_numpy()[conn]
    sent = int_column(requests, "request_last_ns", _NEVER)
    unknown = (status == _UNANSWERED) & uncovered.lie_in(sent, np.where(closed > 0, closed, _NEVER))
    at = requests.column_names.index("status")
    return requests.set_column(at, "status", pa.array(np.where(unknown, _NOT_CAPTURED, status).astype(np.int8)))


def cut_waits(waits: Waits, uncovered: Uncovered) -> Waits:
    """Returns the waits, in which those that continue over a time that no file covers end at its beginning. Where the
    client was still waiting afterwards, a separate wait begins at the end of that time."""
    for begin, end in uncovered.times:
        over = (waits.asked_ns <= begin) & ((waits.until_ns == 0) | (waits.until_ns >= end))
        if over.any():
            asks_later = over & (waits.last_ns >= end)
            others, before, after = (waits.taken(np.flatnonzero(chosen)) for chosen in (~over, over, asks_later))
            waits = Waits.joined([others, _ended(before, begin), _begun(after, end)])
    return waits


def _ended(waits: Waits, at_ns: int) -> Waits:
    """Returns the waits, ended at that time by a packet that no file has."""
    n = len(waits.conn)
    is_later = waits.last_ns > at_ns
    return replace(
        waits,
        last_ns=np.where(is_later, waits.asked_ns, waits.last_ns),
        last_packet=np.where(is_later, waits.asked_packet, waits.last_packet),
        due_ns=np.minimum(waits.due_ns, at_ns),
        until_ns=np.full(n, at_ns),
        until_packet=np.zeros(n, np.int64),
        ended_by=np.full(n, BY_HIDDEN),
    )


def _begun(waits: Waits, at_ns: int) -> Waits:
    """Returns the waits, with that time as their beginning."""
    begin = np.full(len(waits.conn), at_ns)
    return replace(waits, asked_ns=begin, asked_packet=waits.last_packet, due_ns=np.maximum(waits.due_ns, at_ns))
