"""When a server was down: it ended its connections and refused new ones, and served nobody."""

from collections import defaultdict

from kafkascope_spark.broker_states.record import Gap, Lost, Moment, ServerRecord
from kafkascope_spark.broker_states.stretch import SECOND_NS, SOON_NS, Stretch

_CLOSED = ("fin_server", "rst_server")
_NOT_ACCEPTED = ("refused", "unanswered", "open")
_BURST_NS = 2 * SECOND_NS
"""A server that stops may still respond on some connections for so long after it ended the first."""
_LEAST_BURST = 2
_LEAST_ALIVE_NS = 3 * SECOND_NS
_LEAST_AGE_NS = 2 * SECOND_NS
_MOST_IDLE_MS = 5_000
"""A connection that was idle for longer may have been closed for that."""


def down_stretches(server: ServerRecord) -> list[Stretch]:
    """The stretches in which the server was down, by host."""
    found = []
    for gap in server.runs("server", "payload").gaps():
        if server.end_ns(gap.after) - server.start_ns(gap.before) >= SECOND_NS:
            found += _in_gap(server, gap)
    return found


def _in_gap(server: ServerRecord, gap: Gap) -> list[Stretch]:
    """The stretches of a gap in what the server sent to anybody."""
    start, end = server.start_ns(gap.before), server.end_ns(gap.after)
    lost = [each for each in server.lost if start - _BURST_NS <= each.ended.ts_ns <= end and each.kind != "accepted"]
    refused = [each for each in lost if each.kind == "refused" and each.ended.ts_ns >= start]
    burst = [each for each in lost if _is_torn(each)]
    if not refused and (len(burst) < _LEAST_BURST or max(each.ended.ts_ns for each in burst) < start - SOON_NS):
        return []
    if refused:
        burst = [each for each in burst if each.ended.ts_ns <= refused[-1].ended.ts_ns]
    begin = min(each.ended for each in (*burst, *refused))
    if gap.before is None and _process_lives(server, begin):
        return []
    hosts: dict[str, list[Lost]] = defaultdict(list)
    for each in sorted(lost, key=lambda one: one.ended):
        if each.ended >= begin and (each.kind in _NOT_ACCEPTED or _is_torn(each)):
            hosts[each.host].append(each)
    return [_of_host(server, gap, mine) for mine in hosts.values()]


def _process_lives(server: ServerRecord, at: Moment) -> bool:
    """Whether the process went on sending at that time: then only this port of it is closed."""
    runs = server.runs("process", "payload")
    return any(run.first < at and run.last.ts_ns > at.ts_ns + _LEAST_ALIVE_NS for run in runs)


def _process_back(server: ServerRecord, failed: Moment) -> Moment | None:
    """The first payload of the process after the last connection that it did not accept, or that connection, where the
    process was back by then."""
    run = next((run for run in server.runs("process", "payload") if run.last > failed), None)
    return None if run is None else max(run.first, failed)


def _is_torn(lost: Lost) -> bool:
    """Whether the server ended a connection that was in use."""
    used = lost.served and lost.idle_ms is not None and lost.idle_ms <= _MOST_IDLE_MS
    return lost.kind in _CLOSED and used and lost.ended.ts_ns - lost.began.ts_ns >= _LEAST_AGE_NS


def _of_host(server: ServerRecord, gap: Gap, lost: list[Lost]) -> Stretch:
    """The stretch of one host, from the first connection that it lost. It ends with the first payload to the host, where
    that comes soon after the first to anybody; where nobody came back, with the first that the process sent elsewhere."""
    end: Moment | None = gap.after
    moments = [each.ended for each in lost]
    if end is None:
        end = _process_back(server, max(each.ended for each in server.lost))
        return Stretch(lost[0].host, "down", lost[0].ended, end, False, len(lost), moments)
    own = server.runs("host", "payload", lost[0].host).after(end.ts_ns)
    end = own if own is not None and own.ts_ns - end.ts_ns <= SOON_NS else end
    return Stretch(lost[0].host, "down", lost[0].ended, end, True, len(lost), moments)
