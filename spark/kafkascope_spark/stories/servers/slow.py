"""When a server was slow: it took several times as long as usual for what it does by itself (the event slow_process),
or several connections had responses much later than it usually takes.

Responses that the server could have given by itself show that it was slow. Others, which may wait for other brokers
(Produce, OffsetCommit), show only how long it was.
"""

from collections import defaultdict
from collections.abc import Iterator

from kafkascope_analyzer.dataset.stretches import Stretches
from kafkascope_analyzer.dataset.tables.event_kinds.servers import SlowProcess
from kafkascope_spark.stories.servers.moments import Moment, first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, times_of

_LEAST_CONNECTIONS = 2
"""One connection alone may be throttled."""
_APART_NS = 2 * SECOND_NS
_SLICE_NS = 2 * SECOND_NS
"""A process is compared with others slice by slice: it was slow in most of the first and of the last one."""
_WARM_UP_NS = 15 * SECOND_NS
"""A process that has just begun, or goes on after a pause, catches up and compiles its code."""

_AWAY = frozenset({"down", "silent", "frozen"})
"""States in which a process does nothing: whatever was under way then took as long."""


def slow_stretches(server: ServerRecord, others: list[Stretch]) -> list[Stretch]:
    """The stretches in which the server was slow, by host. others: those of all other states, which explain more."""
    explained = times_of(others)
    away = times_of(each for each in others if each.state in _AWAY)
    slow = (each for each in server.slow if not explained.meet(each.first_ns - _WARM_UP_NS, each.first_ns))
    slow = (each for each in slow if not _is_mostly(away, each.first_ns, each.last_ns))
    found = [stretch for each in slow for stretch in _of_process(server, each)]
    explained = times_of([*others, *found])
    late = [wait for wait in server.waits if wait.is_slow and wait.until is not None]
    late = [wait for wait in late if not explained.overlap(wait.asked.ts_ns, server.end_ns(wait.until))]
    for together in _together(late):
        if len({wait.conn_id for wait in together if wait.is_proof}) >= _LEAST_CONNECTIONS:
            found += _of_hosts(together)
    return found


def _is_mostly(stretches: Stretches[Stretch], from_ns: int, to_ns: int) -> bool:
    """Whether one of the stretches has half of a time in common, or more."""
    longest = stretches.longest(from_ns, to_ns)
    return longest is not None and 2 * longest[0] >= to_ns - from_ns


def _of_process(server: ServerRecord, slow: SlowProcess) -> Iterator[Stretch]:
    """The stretches of a slow process: of all hosts that it served meanwhile."""
    begin, end = first_of(slow), last_of(slow)
    for name, host in server.hosts.items():
        met = host.first is not None and host.first.ts_ns < end.ts_ns
        if met and server.last_seen_ns.get(name, 0) > begin.ts_ns:
            requests = [(begin.ts_ns, request_id) for request_id in slow.slowest]
            stretch = Stretch(name, "slow", begin, end, True, 1, [begin, end], requests, times_usual=slow.times_usual)
            stretch.lead_ns = stretch.lag_ns = _SLICE_NS
            yield stretch


def _together(late: list[Wait]) -> list[list[Wait]]:
    """The late responses in groups that have a pause between them."""
    groups: list[list[Wait]] = []
    end = 0
    for wait in late:
        assert wait.until is not None
        if groups and wait.asked.ts_ns < end + _APART_NS:
            groups[-1].append(wait)
        else:
            groups.append([wait])
        end = max(end, wait.until.ts_ns)
    return groups


def _of_hosts(late: list[Wait]) -> list[Stretch]:
    hosts: dict[str, list[Wait]] = defaultdict(list)
    for wait in late:
        hosts[wait.host].append(wait)
    return [_of_host(host, waits) for host, waits in hosts.items()]


def _of_host(host: str, late: list[Wait]) -> Stretch:
    """From the first request that waited to the last response."""
    answers: list[Moment] = [wait.until for wait in late if wait.until is not None]
    requests = [(wait.asked.ts_ns, wait.request_id) for wait in late if wait.request_id is not None]
    moments = [*(wait.asked for wait in late), *answers]
    n = len({wait.conn_id for wait in late})
    return Stretch(host, "slow", late[0].asked, max(answers), True, n, moments, requests)
