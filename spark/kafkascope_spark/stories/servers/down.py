"""State `down`: a server ended its connections, refused new ones, and served nobody. If its process continued to work
with other brokers, the state is `refusing`: a firewall or the listener closed only this port."""

from bisect import bisect_right
from collections import defaultdict

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import Gap, Host, Lost, ServerRecord
from kafkascope_spark.stories.servers.stretch import SECOND_NS, SOON_NS, Stretch
from kafkascope_spark.stories.servers.table import StateName

_NOT_ACCEPTED = ("refused", "unanswered", "open")
_BURST_NS = 2 * SECOND_NS
"""A server that stops may still respond on some connections for this long after it ended the first one."""
_LEAST_BURST, _LEAST_HOSTS = 3, 2
_LEAST_ALIVE_NS = 3 * SECOND_NS
_LEAST_AGE_NS = 2 * SECOND_NS
_MOST_IDLE_MS = 5_000
"""A connection that was idle for longer than this may have been closed because it was idle."""


def down_stretches(server: ServerRecord) -> list[Stretch]:
    """Returns the stretches in which the server was down, or refused all hosts, by host."""
    found = []
    for gap in _gaps(server):
        if server.end_ns(gap.after) - server.start_ns(gap.before) >= SECOND_NS:
            found += _in_gap(server, gap)
    return found


def idle_stretches(server: ServerRecord, down: list[Stretch]) -> list[Stretch]:
    """Returns the time in which the server sent nothing to any host, for hosts that lost no connection when it went
    down, because they had closed their connections before (followers after a controlled shutdown; the first packet of
    such a host may be the end of its last connection). They did not need the server, and it did not serve them; a host
    that was down itself needs it later. Hosts that never come back are left out, as nothing is known of them."""
    found = []
    by_end: dict[Moment | None, list[Stretch]] = defaultdict(list)
    for stretch in down:
        by_end[stretch.end].append(stretch)
    hosts = [host for _, host in sorted(server.hosts.items())]
    for end, stretches in sorted(by_end.items(), key=lambda each: server.end_ns(each[0])):
        first = min(stretch.begin for stretch in stretches)
        gap = server.runs("server", "payload").gap_from(first.ts_ns)
        begin = first if gap.before is None else max(first, gap.before)
        lost = {stretch.host: stretch.begin for stretch in sorted(stretches, key=lambda each: each.begin, reverse=True)}
        met = [host for host in hosts if host.first is not None and (end is None or host.first < end)]
        gone = {host.host for host in met if server.last_seen_ns[host.host] < begin.ts_ns}
        found += [_idle(host, begin, None if host.host in gone else end) for host in met if host.host not in lost]
        late = (host for host in met if lost.get(host.host, begin).ts_ns - begin.ts_ns > SOON_NS)
        found += [_idle(host, begin, lost[host.host]) for host in late]
        hosts = [host for host in hosts if host.host not in gone]
    return found


def _idle(host: Host, begin: Moment, end: Moment | None) -> Stretch:
    since = begin if host.first is None else max(begin, host.first)
    return Stretch(host.host, "unknown", since, end, end is not None, 0)


def _gaps(server: ServerRecord) -> list[Gap]:
    """Returns the times in which the server sent nothing to any host, or only late responses on connections that were
    already open: connections were refused before and after these responses, and none was accepted in between."""
    refused = sorted(each.ended for each in server.lost if each.kind == "refused")
    accepted = sorted(each.accepted for each in server.lost if each.accepted is not None)
    gaps: list[Gap] = []
    for gap in server.runs("server", "payload").gaps():
        last = gaps[-1] if gaps else None
        if last is not None and _is_late_response(server, (last, gap), refused, accepted):
            gaps[-1] = Gap(last.before, gap.after)
        else:
            gaps.append(gap)
    return gaps


def _is_late_response(
    server: ServerRecord, gaps: tuple[Gap, Gap], refused: list[Moment], accepted: list[Moment]
) -> bool:
    """Whether the packets between two gaps were late responses, while the server refused connections."""
    first, second = gaps
    if first.after is None or second.before is None or second.before.ts_ns - first.after.ts_ns >= SECOND_NS:
        return False
    at = bisect_right(refused, first.after)
    if at == 0 or at == len(refused):
        return False
    before, after = refused[at - 1], refused[at]
    is_in_both = before.ts_ns >= server.start_ns(first.before) and after.ts_ns <= server.end_ns(second.after)
    return is_in_both and bisect_right(accepted, before) == bisect_right(accepted, after)


def _in_gap(server: ServerRecord, gap: Gap) -> list[Stretch]:
    """Returns the stretches of a gap in the packets of the server."""
    start, end = server.start_ns(gap.before), server.end_ns(gap.after)
    lost = [each for each in server.lost_between(start - _BURST_NS, end) if each.kind != "accepted"]
    refused = [each for each in lost if each.kind == "refused" and each.ended.ts_ns >= start]
    burst = [each for each in lost if _is_torn(each)]
    if not refused and not _all_at_once(server, gap, burst):
        return []
    if refused:
        burst = [each for each in burst if each.ended.ts_ns <= refused[-1].ended.ts_ns]
    begin = min(each.ended for each in [*burst, *refused])
    if gap.before is None and _process_lives(server, begin):
        return []
    hosts: dict[str, list[Lost]] = defaultdict(list)
    for each in sorted(lost, key=lambda one: one.ended):
        if each.ended >= begin and (each.kind in _NOT_ACCEPTED or _is_torn(each)):
            hosts[each.host].append(each)
    over = _end(server, gap, begin, hosts)
    last = max(each.ended for mine in hosts.values() for each in mine)
    state: StateName = "refusing" if _process_works(server, begin, over or last) else "down"
    return [_of_host(state, mine, over, gap) for mine in hosts.values()]


def _end(server: ServerRecord, gap: Gap, begin: Moment, hosts: dict[str, list[Lost]]) -> Moment | None:
    """Returns the end of a down stretch: the first payload to any host. As nobody may need this port for long, the
    first payload of the process after the last failed connection counts, too: on any of its ports, or to another
    server, as it sends when it starts."""
    failed = max(each.ended for lost in hosts.values() for each in lost)
    elsewhere = server.runs("listeners", "payload").after(failed.ts_ns)
    signs = (gap.after, elsewhere, _process_back(server, begin, failed))
    return min((moment for moment in signs if moment is not None), default=None)


def _all_at_once(server: ServerRecord, gap: Gap, burst: list[Lost]) -> bool:
    """Whether the server ended connections of several hosts at about the same time, although nobody tried to connect.
    If its process is visible elsewhere, it must have stopped, too; else the server must serve again later."""
    if len({each.host for each in burst}) < _LEAST_HOSTS:
        return False
    first, last = min(each.ended for each in burst), max(each.ended for each in burst)
    if last.ts_ns - first.ts_ns > SECOND_NS or last.ts_ns < server.start_ns(gap.before) - SOON_NS:
        return False
    if server.is_client:
        return not _process_lives(server, first) and server.capture_ns[1] - last.ts_ns >= _LEAST_ALIVE_NS
    return gap.after is not None and len(burst) >= _LEAST_BURST


def _process_lives(server: ServerRecord, at: Moment) -> bool:
    """Whether the process continued to send at that time: then only this port is closed."""
    run = server.runs("process", "payload").begun_by(at)
    return run is not None and run.last.ts_ns > at.ts_ns + _LEAST_ALIVE_NS


def _process_works(server: ServerRecord, begin: Moment, end: Moment) -> bool:
    """Whether the process sent payload to other brokers during the whole time, without a pause of a second."""
    run = server.runs("process", "payload").begun_by(begin)
    return run is not None and run.last >= end


def _process_back(server: ServerRecord, begin: Moment, failed: Moment) -> Moment | None:
    """Returns the first payload of a process that stopped at `begin` after the last connection that it did not accept,
    or that connection if the process was already back; None if it did not come back."""
    run = server.runs("process", "payload").begun_after(begin, failed)
    return None if run is None else max(run.first, failed)


def _is_torn(lost: Lost) -> bool:
    """Whether the server ended a connection that was in use. A connection without a SYN is older than the capture, even
    if its first packet comes late (the controller of a ZooKeeper cluster sends rarely)."""
    used = lost.served and lost.idle_ms is not None and lost.idle_ms <= _MOST_IDLE_MS
    is_old = not lost.began.packet_no or lost.ended.ts_ns - lost.began.ts_ns >= _LEAST_AGE_NS
    return lost.kind in CLOSED_BY_SERVER and used and is_old


def _of_host(state: StateName, lost: list[Lost], end: Moment | None, gap: Gap) -> Stretch:
    """Returns the stretch of one host, from the first connection that it lost."""
    moments = [each.ended for each in lost]
    resumed = end is not None and end == gap.after
    return Stretch(lost[0].host, state, lost[0].ended, end, resumed, len(lost), moments, lead_ns=SECOND_NS)
