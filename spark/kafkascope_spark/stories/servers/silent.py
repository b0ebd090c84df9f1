"""State `silent`: no packet of a server came while the host waited for one; or packets of the server did not reach the
host, which acknowledged nothing although it sent packets on other connections."""

from collections import defaultdict
from itertools import zip_longest

from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import Gap, ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import (
    SECOND_NS,
    Stretch,
    earlier_attempt_ns,
    patience_ns,
    stretches_by_host,
)

SCOPES = {"packet": "host", "delivery": "from_host"}
"""Layer of waits -> scope of the packets that end one."""
ACKNOWLEDGED = frozenset({"ack", "data"})
"""Values of `ended_by` of waits that an acknowledgment ended."""
_LEAST_NS = SECOND_NS
_AT_ONCE_NS = 500_000_000
"""A packet for which the host waits when the server becomes silent was sent at most this long before."""
_FOLLOWED_NS = 5 * SECOND_NS
"""A server that receives data of a host responds again within this time: members send heartbeats every three
seconds."""
_NOT_OPENED = frozenset({"unanswered", "open"})
"""Kinds of connections with unanswered SYNs."""
_RETRY_NS = 100_000_000
"""Shortest time to a retransmission of a waiting host, which comes 200 ms later at the earliest."""


class _Arrivals:
    """Times at which data of a host reached a server again that had sent nothing to it."""

    def __init__(self, server: ServerRecord) -> None:
        self._server = server
        self._not_opened = {lost.conn_id for lost in server.lost if lost.kind in _NOT_OPENED}
        self._known: dict[tuple[str, Moment], Moment | None] = {}

    def since(self, host: str, answered: Moment) -> Moment | None:
        """Returns the moment of the server's first packet; if data of the host was still not acknowledged for a second
        or longer, the moment of the acknowledgment, because a device may let handshakes pass, but no data. None if the
        capture ends before that."""
        if (host, answered) not in self._known:
            self._known[host, answered] = self._found(host, answered)
        return self._known[host, answered]

    def _found(self, host: str, answered: Moment) -> Moment | None:
        server = self._server
        of_data = [wait for wait in server.waits_of(host) if self._is_of_data(wait, answered)]
        arrived = [wait.until for wait in of_data if wait.until is not None and wait.ended_by in ACKNOWLEDGED]
        payload = _goes_on_from(server, host, answered)
        first = min([*arrived, payload] if payload is not None else arrived, default=None)
        pending = [wait.last_asked for wait in of_data if wait.asked.ts_ns < server.end_ns(first)]
        last = max(pending, default=answered)
        if min(server.end_ns(first), last.ts_ns) - answered.ts_ns < SECOND_NS:
            return answered
        is_given_up = server.end_ns(first) - last.ts_ns > patience_ns(answered.ts_ns, last.ts_ns)
        return last if is_given_up else first

    def _is_of_data(self, wait: Wait, answered: Moment) -> bool:
        is_to_open = wait.ended_by == "syn_ack" or wait.conn_id in self._not_opened
        goes_on = self._server.end_ns(wait.until) > answered.ts_ns
        return wait.layer == "packet" and not is_to_open and goes_on


def _goes_on_from(server: ServerRecord, host: str, since: Moment) -> Moment | None:
    """Returns the first payload of the server to a host from a moment on that is soon followed by more; None if there
    is none. A single one may be a response to earlier data, which the server held back."""
    runs = [run for run in server.runs("host", "payload", host) if run.last >= since]
    for run, following in zip_longest(runs, runs[1:]):
        is_followed = following is not None and following.first.ts_ns - run.last.ts_ns <= _FOLLOWED_NS
        if is_followed or run.last.ts_ns - run.first.ts_ns >= _AT_ONCE_NS:
            return max(run.first, since)
    return None


def silent_stretches(server: ServerRecord, down: list[Stretch]) -> list[Stretch]:
    """Returns the stretches in which the server was silent, by host. down: stretches in which it was down, which take
    precedence."""
    gaps: dict[tuple[str, Gap], list[Wait]] = defaultdict(list)
    down_to = stretches_by_host(down)
    arrivals = _Arrivals(server)
    for wait in server.waits:
        if wait.layer not in SCOPES or down_to[wait.host].cover(wait.asked.ts_ns):
            continue
        gap = server.runs(SCOPES[wait.layer], "packet", wait.host).gap_from(wait.asked.ts_ns)
        if _is_silent(server, wait, gap, arrivals):
            gaps[wait.host, gap].append(wait)
    return [_stretch(server, gap, waits, arrivals) for (_, gap), waits in gaps.items() if _tried_again(waits)]


def _is_silent(server: ServerRecord, wait: Wait, gap: Gap, arrivals: _Arrivals) -> bool:
    """Whether the host waited long in the gap."""
    since = max(wait.asked.ts_ns, server.start_ns(gap.before))
    until = min(server.end_ns(gap.after), server.end_ns(wait.until))
    was_answered_until = since - wait.asked.ts_ns
    return (
        until - since >= _LEAST_NS and was_answered_until <= _AT_ONCE_NS and not _is_alone(server, wait, gap, arrivals)
    )


def _tried_again(waits: list[Wait]) -> bool:
    """Whether a waiting host retransmitted or tried another connection; else the capture may lack the response."""
    if any(wait.last_asked.ts_ns - wait.asked.ts_ns >= _RETRY_NS for wait in waits):
        return True
    asked = [wait.asked.ts_ns for wait in waits]
    return max(asked) - min(asked) >= _AT_ONCE_NS


def _is_alone(server: ServerRecord, wait: Wait, gap: Gap, arrivals: _Arrivals) -> bool:
    """Whether the connection continued to wait when others were served: then only this connection was at fault."""
    if gap.after is None or wait.layer == "delivery":
        return False
    arrived = arrivals.since(wait.host, gap.after)
    asked_later = wait.last_asked.ts_ns - server.end_ns(arrived)
    return asked_later >= _AT_ONCE_NS and server.end_ns(wait.until) - wait.last_asked.ts_ns >= _AT_ONCE_NS


def _stretch(server: ServerRecord, gap: Gap, waits: list[Wait], arrivals: _Arrivals) -> Stretch:
    """Returns the stretch of a gap: from the last packet before it, if a host sent data soon after that, to the first
    packet after it, if a host may have waited for that. It may have begun at any time since the last packet before."""
    host = waits[0].host
    asked, last = min(wait.asked for wait in waits), max(wait.last_asked for wait in waits)
    more = [wait for wait in server.waits_of(host) if _waits_for_response(server, wait, gap)]
    asked = min([asked, *(wait.asked for wait in more)])
    begin = asked
    if gap.before is not None and asked.ts_ns - gap.before.ts_ns <= SECOND_NS:
        begin = gap.before
    end: Moment | None = gap.after
    if server.end_ns(gap.after) - last.ts_ns > patience_ns(asked.ts_ns, last.ts_ns):
        end = _silent_to_all(server, host, begin, last) or last
    layers = {wait.layer for wait in waits}
    if end is not None and end == gap.after and "packet" in layers:
        end = arrivals.since(host, end)
    if end is not None and layers == {"delivery"}:
        end = max(end, _first_delivered(server, waits, end))
        if not server.runs("from_host", "packet", host).has_packets(begin.ts_ns, end.ts_ns):
            layers = set()  # the host sent nothing either
    moments = [moment for wait in waits for moment in (wait.asked, wait.last_asked)]
    requests = [(wait.asked.ts_ns, wait.request_id) for wait in more if wait.request_id is not None]
    n = len({wait.conn_id for wait in (*waits, *more)})
    resumed = end is not None and gap.after is not None and end >= gap.after
    shown_ns = max(last_unanswered_ns(server, wait) for wait in waits)
    found = Stretch(host, "silent", begin, end, resumed, n, moments, requests, layers, last_shown_ns=shown_ns)
    found.lead_ns = 0 if gap.before is None else begin.ts_ns - min(gap.before.ts_ns, begin.ts_ns)
    found.is_to_all = "packet" in layers and _sent_nothing(server, asked.ts_ns, shown_ns)
    return found


def _sent_nothing(server: ServerRecord, asked_ns: int, shown_ns: int) -> bool:
    """Whether the server's process sent nothing to any host during the wait: a broker always sends to its followers and
    the controller. Packets that it had sent before the silence may still arrive at first."""
    until = max(shown_ns, asked_ns + _LEAST_NS)
    return not server.runs("process", "packet").has_packets(asked_ns + _AT_ONCE_NS, until)


def last_unanswered_ns(server: ServerRecord, wait: Wait) -> int:
    """Returns a lower limit for the time of the last unanswered packet of a wait: the last packet of all may be the one
    that was answered. TCP doubles the time between retransmissions, but not between keep-alive probes, of which the
    first may be the only one without an answer."""
    asked_ns, last_ns = wait.asked.ts_ns, wait.last_asked.ts_ns
    was_answered = wait.ended_by in ACKNOWLEDGED or server.end_ns(wait.until) - last_ns < _RETRY_NS
    if not was_answered:
        return last_ns
    return asked_ns if _may_be_probe(server, wait) else earlier_attempt_ns(asked_ns, last_ns)


def _may_be_probe(server: ServerRecord, wait: Wait) -> bool:
    """Whether the packets of a wait, of which the last one was answered, may be keep-alive probes of an idle
    connection: it was open, and no request on it waited for a response meanwhile. The answer to a probe has no data; a
    request that arrives at last may get its response with the acknowledgment."""
    if wait.layer != "packet" or not (wait.ended_by == "ack" or _was_accepted(server, wait.conn_id)):
        return False
    of_host = (each for each in server.waits_of(wait.host) if each.conn_id == wait.conn_id)
    asked = (each for each in of_host if each.layer in ("request", "payload"))
    return not any(each.asked <= wait.last_asked and wait.asked.ts_ns <= server.end_ns(each.until) for each in asked)


def _was_accepted(server: ServerRecord, conn_id: str) -> bool:
    """Whether the server had accepted a connection that it, or a firewall in its place, ended later."""
    return any(lost.conn_id == conn_id and lost.accepted is not None for lost in server.lost)


def _first_delivered(server: ServerRecord, waits: list[Wait], since: Moment) -> Moment:
    """Returns the first moment from `since` on that shows that packets of the server reach the host: the host
    acknowledges the data of one of the waits, or new payload at once; `since` if nothing shows it. A connection attempt
    shows that the host runs, but not that packets reach it."""
    host = waits[0].host
    found = [wait.until for wait in waits if wait.until is not None and wait.ended_by in ACKNOWLEDGED]
    sent = [wait.asked.ts_ns for wait in server.waits_of(host) if wait.layer == "delivery"]
    payload = server.runs("host", "payload", host).after(since.ts_ns)
    while payload is not None and any(0 <= asked - payload.ts_ns < SECOND_NS for asked in sent):
        payload = server.runs("host", "payload", host).after(payload.ts_ns + 1)
    return min([*found, payload] if payload is not None else found, default=since)


def _silent_to_all(server: ServerRecord, host: str, begin: Moment, last: Moment) -> Moment | None:
    """Returns the first packet of the process to any host, if it sent none since `begin` and other hosts continued to
    send requests when this one had given up; else None."""
    gap = server.runs("process", "packet").gap_from(last.ts_ns)
    if gap.before is None or gap.after is None or gap.before.ts_ns > begin.ts_ns + SECOND_NS:
        return None
    return gap.after if server.others_asked(host, last, gap.after) else None


def _waits_for_response(server: ServerRecord, wait: Wait, gap: Gap) -> bool:
    """Whether the host waited in the gap for a response that had not come before it."""
    is_response = wait.layer in ("payload", "request")
    asked_before = wait.asked.ts_ns < server.end_ns(gap.after)
    return is_response and asked_before and server.end_ns(wait.until) > server.start_ns(gap.before) + _LEAST_NS
