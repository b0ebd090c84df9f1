"""State `slow`: a server took several times as long as usual for work without other brokers (event slow_process), or
several connections had responses much later than usual.

Responses that need no other brokers show that the server was slow. Others, which may wait for other brokers (Produce,
OffsetCommit), show only for how long.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kafkascope_analyzer.dataset.stretches import Stretches
from kafkascope_analyzer.dataset.tables.event_kinds.servers import MOST_DOUBLINGS, USUAL_DOUBLINGS, SlowProcess
from kafkascope_spark.stories.servers.moments import Moment, first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import MS_NS, SECOND_NS, Stretch, by_host, times_of

_LEAST_CONNECTIONS = 2
"""Fewest connections that show a slow server: a single one may be throttled."""
_APART_NS = 2 * SECOND_NS
_SEVERAL = 2
"""If the process ends, connections of this many hosts, or of all, end; those of one host may end by themselves. A
process that paused at least this often was not slow if the slices with its pauses suffice to explain the span."""
_LEAST_SHARE = USUAL_DOUBLINGS / MOST_DOUBLINGS
"""Share of slow slices in a span from which slices that are as quick as usual do not end it: a quick slice takes
USUAL_DOUBLINGS off the score of the span, and a slow one adds up to MOST_DOUBLINGS less that."""
WARM_UP_NS = 15 * SECOND_NS
"""Time after the start of a process, or after a pause, in which it catches up and compiles its code."""

_EXPLAINING = frozenset({"down", "silent", "frozen", "delayed"})
"""States in which a process does nothing, or its packets are delayed: requests in flight then take as long."""


def slow_stretches(server: ServerRecord, others: list[Stretch]) -> list[Stretch]:
    """Returns the stretches in which the server was slow, by host. others: stretches of all other states, which take
    precedence."""
    explained = times_of(others)
    longer = times_of(each for each in others if each.state in _EXPLAINING)
    slow = (each for each in server.slow if not explained.meet(each.first_ns - WARM_UP_NS, each.first_ns))
    slow = (each for each in slow if not _is_mostly(longer, each.first_ns, each.last_ns))
    ended = times_of(each for each in others if each.state == "down")
    slow = (each for each in slow if not _has_ended(server, ended, each.first_ns, each.last_ns))
    paused = [each for each in others if each.state == "frozen"]
    slow = (each for each in slow if not _is_by_pauses(each, paused))
    by_process = [stretch for each in slow for stretch in _of_process(server, each)]
    stuck = times_of(_of_waits(server, explained))
    for stretch in by_process:
        _join_waits(stretch, stuck)
    return [*by_process, *_of_waits(server, times_of([*others, *by_process]))]


def without_absent(slow: Iterable[Stretch], absent: Iterable[Stretch]) -> Iterator[Stretch]:
    """Yields the slow stretches without the times in which nothing came from their host to any server: such a host
    shows of no server that it is slow. absent: the stretches with these times."""
    gone = by_host(absent)
    for each in slow:
        yield from _while_there(each, sorted(gone[each.host], key=lambda other: other.begin))


def _while_there(slow: Stretch, gone: list[Stretch]) -> Iterator[Stretch]:
    """Yields the parts of a stretch between other ones, which are in order of time."""
    rest = slow
    for other in gone:
        if (rest.end is not None and rest.end <= other.begin) or (other.end is not None and other.end <= rest.begin):
            continue
        if rest.begin < other.begin:
            yield replace(rest, end=other.begin, lag_ns=0, last_shown_ns=None)
        if other.end is None or (rest.end is not None and rest.end <= other.end):
            return
        rest = replace(rest, begin=other.end, lead_ns=0)
    yield rest


def _join_waits(slow: Stretch, stuck: Stretches[Stretch]) -> None:
    """Extends a slow process to the first late response that shows it, too. If such responses show it for most of the
    time, it may have been slow only until they came, and only behind with its work afterwards."""
    assert slow.end is not None
    from_ns, to_ns = slow.begin.ts_ns, slow.end.ts_ns
    late = list(stuck.meeting(from_ns, to_ns))
    if not late:
        return
    first = min(late, key=lambda each: each.begin)
    if first.begin < slow.begin:
        slow.begin, slow.lead_ns = first.begin, 0
    slow.moments += [moment for each in late for moment in each.moments]
    slow.requests += [request for each in late for request in each.requests]
    ends = [each.end for each in late if each.end is not None]
    slow.end = max(slow.end, *ends) if len(ends) == len(late) else None
    if _is_mostly(stuck, from_ns, to_ns):
        slow.last_shown_ns = max(each.last_shown_ns or 0 for each in late)


def _is_mostly(stretches: Stretches[Stretch], from_ns: int, to_ns: int) -> bool:
    """Whether one of the stretches covers half of a time or more."""
    longest = stretches.longest(from_ns, to_ns)
    return longest is not None and 2 * longest[0] >= to_ns - from_ns


def _has_ended(server: ServerRecord, ended: Stretches[Stretch], from_ns: int, to_ns: int) -> bool:
    """Whether the process ended in between: the end of one process and the begin of the next do not show that it was
    slow."""
    hosts = {each.host for each in ended.meeting(from_ns, to_ns) if from_ns < each.begin.ts_ns < to_ns}
    return bool(hosts) and len(hosts) >= min(_SEVERAL, len(server.hosts))


def _is_by_pauses(slow: SlowProcess, frozen: list[Stretch]) -> bool:
    """Whether the process only paused several times, as for garbage collections, and was as quick as usual in between:
    the slices with pauses alone make such a span."""
    ends = [(each.begin.ts_ns, each.end.ts_ns) for each in frozen if each.end is not None]
    pauses = {(begin, end) for begin, end in ends if slow.first_ns < end and begin < slow.last_ns}
    at_ns, in_slices_ns, n_pauses = slow.first_ns, 0, 0
    half_ns = slow.slice_ms * MS_NS // 2
    for begin_ns, end_ns in sorted(pauses):
        n_pauses += end_ns > at_ns
        since_ns, until_ns = max(begin_ns - half_ns, at_ns), min(end_ns + half_ns, slow.last_ns)
        in_slices_ns += max(until_ns - since_ns, 0)
        at_ns = max(at_ns, until_ns)
    return n_pauses >= _SEVERAL and in_slices_ns >= _LEAST_SHARE * (slow.last_ns - slow.first_ns)


def _of_process(server: ServerRecord, slow: SlowProcess) -> Iterator[Stretch]:
    """Yields the stretches of a slow process, one for each host that it served in most of that time."""
    begin, end = first_of(slow), last_of(slow)
    for name, host in server.hosts.items():
        met = host.first is not None and 2 * host.first.ts_ns <= begin.ts_ns + end.ts_ns
        if met and server.last_seen_ns.get(name, 0) > begin.ts_ns:
            requests = [(begin.ts_ns, request_id) for request_id in slow.slowest]
            stretch = Stretch(name, "slow", begin, end, True, 1, [begin, end], requests, times_usual=slow.times_usual)
            # The first and the last slice were slow in part; the last late response may be late by chance.
            stretch.lead_ns = stretch.lag_ns = slow.slice_ms * MS_NS
            stretch.last_shown_ns = max(slow.last_ns - slow.slice_ms * MS_NS, slow.first_ns)
            yield stretch


def _of_waits(server: ServerRecord, explained: Stretches[Stretch]) -> Iterator[Stretch]:
    """Yields the stretches that late responses show which nothing else explains."""
    lost = {wait.conn_id for wait in server.waits if wait.layer == "packet" and wait.until is None}
    late = [wait for wait in server.waits if wait.is_slow and (wait.until is not None or wait.conn_id not in lost)]
    late = [wait for wait in late if not _is_explained(explained, wait.asked.ts_ns, server.end_ns(wait.until))]
    for together in _together(server, late):
        if len({wait.conn_id for wait in together if wait.is_proof and not wait.is_new}) >= _LEAST_CONNECTIONS:
            yield from _of_hosts(together)


def _is_explained(stretches: Stretches[Stretch], from_ns: int, to_ns: int) -> bool:
    """Whether a wait began in one of the stretches, or one of them covers half of it or more."""
    return stretches.cover(from_ns) or _is_mostly(stretches, from_ns, to_ns)


def _together(server: ServerRecord, late: list[Wait]) -> list[list[Wait]]:
    """Returns the late responses in groups with a pause between them."""
    groups: list[list[Wait]] = []
    end = 0
    for wait in late:
        if groups and wait.asked.ts_ns < end + _APART_NS:
            groups[-1].append(wait)
        else:
            groups.append([wait])
        end = max(end, server.end_ns(wait.until))
    return groups


def _of_hosts(late: list[Wait]) -> list[Stretch]:
    hosts: dict[str, list[Wait]] = defaultdict(list)
    for wait in late:
        hosts[wait.host].append(wait)
    return [_of_host(host, waits) for host, waits in hosts.items()]


def _of_host(host: str, late: list[Wait]) -> Stretch:
    """Returns the stretch from the first waiting request to the last response, if all came. It was slow at some time
    between the last of these requests and that response."""
    answers: list[Moment] = [wait.until for wait in late if wait.until is not None]
    requests = [(wait.asked.ts_ns, wait.request_id) for wait in late if wait.request_id is not None]
    moments = [*(wait.asked for wait in late), *answers]
    n = len({wait.conn_id for wait in late})
    last_ns = max(wait.asked.ts_ns for wait in late)
    end = max(answers) if len(answers) == len(late) else None
    return Stretch(host, "slow", late[0].asked, end, end is not None, n, moments, requests, last_shown_ns=last_ns)
