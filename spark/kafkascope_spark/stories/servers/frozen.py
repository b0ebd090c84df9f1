"""State `frozen`: the kernel of a server acknowledged data and accepted connections, while its process sent nothing."""

import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from kafkascope_analyzer.dataset.stretches import Stretches
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ANYBODY, Gap, Run, ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import SECOND_NS, SOON_NS, Stretch, stretches_by_host

_LEAST_NS = SECOND_NS
_LEAST_UNREAD_NS = 2 * SECOND_NS
_TIMES_USUAL = 3
_LEAST_CONNECTIONS = 3
_LEAST_HOSTS = 2
"""Fewest hosts that must wait unusually long if requests are encrypted, because a long poll looks like any other
request."""


def frozen_stretches(server: ServerRecord, away: list[Stretch]) -> list[Stretch]:
    """Returns the stretches in which the server was frozen, by host. away: stretches in which it was down or silent,
    which take precedence."""
    waits = _unserved(server, stretches_by_host(away))
    unread = sorted(_length(server, gap) for gap in waits)
    for_packets = _waits_for_packets(server)
    found = []
    for gap, unserved in waits.items():
        if _is_proven(server, gap, unserved, unread) and _kernel_lives(server, gap, unserved, for_packets):
            found += _of_hosts(server, gap, unserved)
    return found


def _unserved(server: ServerRecord, away: dict[str, Stretches[Stretch]]) -> dict[Gap, list[Wait]]:
    """Returns the gaps in the packets of the process in which hosts waited long for it, with these waits in order of
    time. A request that got no response while the process ran for a second does not show that it stalled later."""
    runs = server.runs("process", "payload")
    with_run_before = zip(runs.gaps(), [None, *runs], strict=True)
    known = [(gap, run) for gap, run in with_run_before if _length(server, gap) >= _LEAST_NS]
    gaps = [gap for gap, _ in known]
    starts, ends = [server.start_ns(gap.before) for gap in gaps], [server.end_ns(gap.after) for gap in gaps]
    waits: dict[int, list[Wait]] = defaultdict(list)
    for wait in server.waits:
        if wait.layer in ("packet", "window"):
            continue
        first, last = bisect_left(ends, wait.due_ns + _LEAST_NS), bisect_right(starts, server.end_ns(wait.until))
        ran_ns = 0
        for at in range(first, last):
            ran_ns += _ran_ns(known[at][1], wait.due_ns)
            if ran_ns >= _LEAST_NS:
                break
            since, until = max(wait.due_ns, starts[at]), min(server.end_ns(wait.until), ends[at])
            if until - since >= _LEAST_NS and not away[wait.host].overlap(since, until):
                waits[at].append(wait)
    return {gaps[at]: waits[at] for at in sorted(waits)}


def _ran_ns(run: Run | None, due_ns: int) -> int:
    """Returns how long a process ran after a response was due. run: the run of its packets, None before the first."""
    return 0 if run is None else max(run.last.ts_ns - max(run.first.ts_ns, due_ns), 0)


def _length(server: ServerRecord, gap: Gap) -> int:
    return server.end_ns(gap.after) - server.start_ns(gap.before)


def _is_proven(server: ServerRecord, gap: Gap, waits: list[Wait], unread: list[int]) -> bool:
    """Whether the server could have ended one of the waits, or one at another port of its process meanwhile, without
    other brokers; or, if requests are encrypted, several hosts waited much longer than usual."""
    if any(wait.is_proof for wait in waits) or _had_response_due(server, gap):
        return True
    encrypted = [wait for wait in waits if wait.layer == "payload"]
    hosts, connections = {wait.host for wait in encrypted}, {wait.conn_id for wait in encrypted}
    if len(hosts) < _LEAST_HOSTS or len(connections) < _LEAST_CONNECTIONS:
        return False
    length = _length(server, gap)
    usual = _TIMES_USUAL * _median_without(unread, length)
    return length >= max(usual, _LEAST_UNREAD_NS)


def _had_response_due(server: ServerRecord, gap: Gap) -> bool:
    """Whether the process owed a response in the gap, at any of its ports, that it could have given without other
    brokers. One that it has owed for long before, while it sent something else, does not show that it stalled later."""
    start, end = server.start_ns(gap.before), server.end_ns(gap.after)
    owed = server.runs("owed", "payload").begun_by(Moment(end - _LEAST_NS, sys.maxsize))
    return owed is not None and owed.first.ts_ns > start - _LEAST_NS and owed.last.ts_ns >= start + _LEAST_NS


def _median_without(ordered: Sequence[int], value: int) -> float:
    """Returns the median of sorted numbers without one of them; 0 if no other is left."""
    left_out, n = bisect_left(ordered, value), len(ordered) - 1
    if not n:
        return 0
    lower, upper = (ordered[at if at < left_out else at + 1] for at in ((n - 1) // 2, n // 2))
    return (lower + upper) / 2


def _waits_for_packets(server: ServerRecord) -> Stretches[Wait]:
    """Returns the times of _LEAST_NS or longer in which hosts waited for any packet of a server."""
    waits = ((w.asked.ts_ns, server.end_ns(w.until), w) for w in server.waits if w.layer == "packet")
    return Stretches((since, until, wait) for since, until, wait in waits if until - since >= _LEAST_NS)


def _kernel_lives(server: ServerRecord, gap: Gap, waits: list[Wait], for_packets: Stretches[Wait]) -> bool:
    """Whether a packet of the server's host came in the gap after a request, or nobody waited for a packet."""
    start, end = server.start_ns(gap.before), server.end_ns(gap.after)
    if not for_packets.meet(start + _LEAST_NS, end - _LEAST_NS):  # they overlap for _LEAST_NS at least
        return True
    since = max(start, min(each.asked.ts_ns for each in waits))
    return server.runs("process", "packet", ANYBODY).has_packets(since + SECOND_NS // 2, end)


def _of_hosts(server: ServerRecord, gap: Gap, waits: list[Wait]) -> list[Stretch]:
    """Returns the stretches of a gap, one for each host that waited."""
    hosts: dict[str, list[Wait]] = defaultdict(list)
    for wait in waits:
        hosts[wait.host].append(wait)
    first = min(wait.asked for wait in waits)
    begin = first
    if gap.before is not None and first.ts_ns - gap.before.ts_ns <= SECOND_NS:
        begin = gap.before
    return [_of_host(server, gap, begin, mine) for mine in hosts.values()]


def _of_host(server: ServerRecord, gap: Gap, begin: Moment, waits: list[Wait]) -> Stretch:
    end: Moment | None = gap.after
    if end is not None:
        own = server.runs("host", "payload", waits[0].host).after(end.ts_ns)
        end = own if own is not None and own.ts_ns - end.ts_ns <= SOON_NS else end
    requests = [(wait.asked.ts_ns, wait.request_id) for wait in waits if wait.request_id is not None]
    moments = [wait.asked for wait in waits]
    found = Stretch(waits[0].host, "frozen", begin, end, end is not None, len(waits), moments, requests)
    if gap.before is None:  # it may have been since before the capture
        found.lead_ns = begin.ts_ns - server.start_ns(None)
    return found
