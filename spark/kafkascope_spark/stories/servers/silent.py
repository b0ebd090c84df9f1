"""When a server was silent to a host: no packet came while the host waited for one, or none that came from the server
reached the host, as it acknowledged nothing while other connections had packets of it."""

from collections import defaultdict

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
"""Layers of waits, and whose packets would end one."""
ACKNOWLEDGED = frozenset({"ack", "data"})
"""Values of `ended_by` of waits in which the acknowledgment came."""
_LEAST_NS = SECOND_NS
_AT_ONCE_NS = 500_000_000
"""A packet for which the host waits when the server falls silent was sent at most so long before."""
_FOLLOWED_NS = 5 * SECOND_NS
"""A server that gets what a host sends responds again in that time: members send heartbeats every three seconds."""
_NOT_OPENED = frozenset({"unanswered", "open"})
"""Kinds of connections whose SYNs were not answered."""
_RETRY_NS = 100_000_000
"""A host that waits sends again, 200 ms later at the earliest."""


class _Arrivals:
    """When what a host sent reached a server again that had sent nothing to it."""

    def __init__(self, server: ServerRecord) -> None:
        self._server = server
        self._not_opened = {lost.conn_id for lost in server.lost if lost.kind in _NOT_OPENED}
        self._known: dict[tuple[str, Moment], Moment | None] = {}

    def since(self, host: str, answered: Moment) -> Moment | None:
        """The moment of the server's first packet, unless what the host sent was not acknowledged then either, for a
        second or longer: something that lets handshakes pass, and no data, is over when data is acknowledged. None
        where the capture ends before that."""
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
    """The first payload of the server to a host from a moment on that more follows soon: one that comes alone may be a
    response to what had arrived before, which the server held back."""
    runs = [run for run in server.runs("host", "payload", host) if run.last >= since]
    for run, following in zip(runs, [*runs[1:], None], strict=True):
        is_followed = following is not None and following.first.ts_ns - run.last.ts_ns <= _FOLLOWED_NS
        if is_followed or run.last.ts_ns - run.first.ts_ns >= _AT_ONCE_NS:
            return max(run.first, since)
    return None


def silent_stretches(server: ServerRecord, down: list[Stretch]) -> list[Stretch]:
    """The stretches in which the server was silent, by host. down: those in which it was down, which come first."""
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
    """Whether somebody waited long in the gap."""
    since = max(wait.asked.ts_ns, server.start_ns(gap.before))
    until = min(server.end_ns(gap.after), server.end_ns(wait.until))
    was_answered_until = since - wait.asked.ts_ns
    return (
        until - since >= _LEAST_NS and was_answered_until <= _AT_ONCE_NS and not _is_alone(server, wait, gap, arrivals)
    )


def _tried_again(waits: list[Wait]) -> bool:
    """Whether somebody who waited sent again, or tried another connection: else the capture may lack the answer."""
    if any(wait.last_asked.ts_ns - wait.asked.ts_ns >= _RETRY_NS for wait in waits):
        return True
    asked = [wait.asked.ts_ns for wait in waits]
    return max(asked) - min(asked) >= _AT_ONCE_NS


def _is_alone(server: ServerRecord, wait: Wait, gap: Gap, arrivals: _Arrivals) -> bool:
    """Whether the connection went on waiting when others were served: then the fault was its own."""
    if gap.after is None or wait.layer == "delivery":
        return False
    arrived = arrivals.since(wait.host, gap.after)
    asked_later = wait.last_asked.ts_ns - server.end_ns(arrived)
    return asked_later >= _AT_ONCE_NS and server.end_ns(wait.until) - wait.last_asked.ts_ns >= _AT_ONCE_NS


def _stretch(server: ServerRecord, gap: Gap, waits: list[Wait], arrivals: _Arrivals) -> Stretch:
    """The stretch of a gap: from the last packet before, where somebody asked soon after it, to the first after, where
    somebody may have waited for it."""
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
    found.is_to_all = "packet" in layers and _sent_nothing(server, asked.ts_ns, shown_ns)
    return found


def _sent_nothing(server: ServerRecord, asked_ns: int, shown_ns: int) -> bool:
    """Whether the server's process sent nothing to anybody while somebody waited: a broker talks all the time, with
    those that follow it and with the controller. Packets that had left it when it fell silent may come at first."""
    until = max(shown_ns, asked_ns + _LEAST_NS)
    return not server.runs("process", "packet").has_packets(asked_ns + _AT_ONCE_NS, until)


def last_unanswered_ns(server: ServerRecord, wait: Wait) -> int:
    """When the last packet of a wait was sent that was not answered, at least: the last one of all may be the one that
    was."""
    asked_ns, last_ns = wait.asked.ts_ns, wait.last_asked.ts_ns
    was_answered = wait.ended_by in ACKNOWLEDGED or server.end_ns(wait.until) - last_ns < _RETRY_NS
    return earlier_attempt_ns(asked_ns, last_ns) if was_answered else last_ns


def _first_delivered(server: ServerRecord, waits: list[Wait], since: Moment) -> Moment:
    """From a moment on, the first that shows that packets of the server reach the host: it acknowledges what one of the
    waits was for, or new payload at once; the moment itself where nothing shows it. An attempt to connect says that
    the host is there, and not that anything reaches it."""
    host = waits[0].host
    found = [wait.until for wait in waits if wait.until is not None and wait.ended_by in ACKNOWLEDGED]
    sent = [wait.asked.ts_ns for wait in server.waits_of(host) if wait.layer == "delivery"]
    payload = server.runs("host", "payload", host).after(since.ts_ns)
    while payload is not None and any(0 <= asked - payload.ts_ns < SECOND_NS for asked in sent):
        payload = server.runs("host", "payload", host).after(payload.ts_ns + 1)
    return min([*found, payload] if payload is not None else found, default=since)


def _silent_to_all(server: ServerRecord, host: str, begin: Moment, last: Moment) -> Moment | None:
    """The first packet of the process to anybody, if it sent none since `begin` and other hosts went on asking when
    this one had given up."""
    gap = server.runs("process", "packet").gap_from(last.ts_ns)
    if gap.before is None or gap.after is None or gap.before.ts_ns > begin.ts_ns + SECOND_NS:
        return None
    return gap.after if server.others_asked(host, last, gap.after) else None


def _waits_for_response(server: ServerRecord, wait: Wait, gap: Gap) -> bool:
    """Whether the host waited for a response in the gap, which had not come before it."""
    is_response = wait.layer in ("payload", "request")
    asked_before = wait.asked.ts_ns < server.end_ns(gap.after)
    return is_response and asked_before and server.end_ns(wait.until) > server.start_ns(gap.before) + _LEAST_NS
