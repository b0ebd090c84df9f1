"""State `not_accepting`: a server did not answer connection attempts of a host, although its packets reached the host
on open connections. A device lets only these pass, or the listener accepts no connections.

The kernel completes connections before the process accepts them, as many as the listener's queue holds. Where the
process accepts them late or never (a limit on new connections per second, an acceptor thread that does not run), their
first request is acknowledged and gets no response, while the process answers others at once."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafkascope_analyzer.dataset.stretches import Stretches
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import (
    SECOND_NS,
    Stretch,
    by_host,
    earlier_attempt_ns,
    patience_ns,
    stretches_by_host,
)

_NOT_OPENED = frozenset({"unanswered", "open"})
_LEAST_NS = 2 * SECOND_NS
"""Shortest time of attempts without an answer: a SYN that is lost once is retransmitted after a second (RFC 6298,
2.1)."""
_LEAST_ATTEMPTS = 3
"""Fewest attempts that were given up at once and are no coincidence: a device that rejects a connection with an ICMP
message lets it fail at once, without a TCP packet, and clients retry with another connection. Also the fewest
connections whose first request got no response."""
_OF_PROCESS = frozenset({"request", "payload"})


def not_accepting_stretches(server: ServerRecord, others: Iterable[Stretch]) -> list[Stretch]:
    """Returns the stretches, by host. others: stretches of states that take precedence."""
    explained = stretches_by_host(others)
    found = [*_without_syn_ack(server, explained), *_without_response(server, explained)]
    return [stretch for mine in by_host(found).values() for stretch in _joined(mine)]


def _joined(mine: list[Stretch]) -> Iterator[Stretch]:
    """Yields the stretches of one host, those that overlap as one: attempts have no SYN-ACK while the queue is full."""
    last: Stretch | None = None
    for each in sorted(mine, key=lambda stretch: stretch.begin):
        if last is None or last.end is None or each.end is None or each.begin > last.end:
            if last is not None:
                yield last
            last = each
            continue
        n_waiting, end = last.n_waiting + each.n_waiting, max(last.end, each.end)
        last.join(each)
        last.n_waiting, last.end = n_waiting, end
    if last is not None:
        yield last


def _without_syn_ack(server: ServerRecord, explained: Mapping[str, Stretches[Stretch]]) -> Iterator[Stretch]:
    """Yields the stretches in which attempts to connect had no SYN-ACK."""
    not_opened = {lost.conn_id for lost in server.lost if lost.kind in _NOT_OPENED}
    hosts: dict[str, list[Wait]] = defaultdict(list)
    for wait in sorted(server.waits, key=lambda each: each.asked):
        is_given_up = wait.conn_id in not_opened
        to_open = wait.layer == "packet" and (wait.ended_by == "syn_ack" or is_given_up)
        if not to_open or explained[wait.host].cover(wait.asked.ts_ns):
            continue
        if _others_work(server, wait) or (is_given_up and not _is_tried_again(wait)):
            hosts[wait.host].append(wait)
    groups = (waits for host, mine in hosts.items() for waits in _of_one_time(mine, server.accepted(host)))
    yield from (_stretch(server, waits) for waits in groups if _is_long(waits) and _is_proven(server, waits))


def _without_response(server: ServerRecord, explained: Mapping[str, Stretches[Stretch]]) -> Iterator[Stretch]:
    """Yields the stretches in which the first requests of several new connections, of any hosts, got no response, while
    the process was as quick as usual with others."""
    late = [each for each in server.waits if each.is_slow and each.is_proof and not each.is_new]
    slow = Stretches(
        [(each.asked.ts_ns, server.end_ns(each.until), None) for each in late]
        + [(each.first_ns, each.last_ns, None) for each in server.slow]
    )
    groups: list[list[Wait]] = []
    until_ns = 0
    for wait in sorted(server.waits, key=lambda each: each.asked):
        since_ns, end_ns = wait.asked.ts_ns, server.end_ns(wait.until)
        if not _waits_to_be_accepted(server, wait) or slow.overlap(since_ns, end_ns):
            continue
        if explained[wait.host].overlap(since_ns, end_ns):
            continue
        if not groups or since_ns > until_ns:
            groups.append([])
        groups[-1].append(wait)
        until_ns = max(until_ns, end_ns)
    for waits in groups:
        if len({wait.conn_id for wait in waits if wait.is_proof}) >= _LEAST_ATTEMPTS:
            yield from _of_hosts(server, waits)


def _waits_to_be_accepted(server: ServerRecord, wait: Wait) -> bool:
    """Whether a response on a new connection was late, while the process sent something to others."""
    if not wait.is_new or wait.layer not in _OF_PROCESS:
        return False
    since_ns, until_ns = wait.asked.ts_ns + SECOND_NS, server.end_ns(wait.until) - SECOND_NS
    return until_ns > since_ns and server.runs("process", "payload").has_packets(since_ns, until_ns)


def _of_hosts(server: ServerRecord, waits: list[Wait]) -> Iterator[Stretch]:
    """Yields the stretch of each host, from its first request to its last response, or to the time at which it gave up
    the last of these connections. They may have lasted until the last response to any host."""
    answered = [wait.until for wait in waits if wait.until is not None and wait.ended_by == "data"]
    hosts: dict[str, list[Wait]] = defaultdict(list)
    for wait in waits:
        hosts[wait.host].append(wait)
    for host, mine in hosts.items():
        begin, end = mine[0].asked, max(server.end_ns(wait.until) for wait in mine)
        until = max((wait.until for wait in mine if wait.until is not None), default=None)
        until = until if until is not None and until.ts_ns == end else None
        moments = [moment for wait in mine for moment in (wait.asked, wait.until) if moment is not None]
        requests = [(wait.asked.ts_ns, wait.request_id) for wait in mine if wait.request_id is not None]
        n = len({wait.conn_id for wait in mine})
        stretch = Stretch(host, "not_accepting", begin, until, until is not None, n, moments, requests)
        stretch.lead_ns = begin.ts_ns - server.last_accepted_ns(host, begin)
        if until is not None and answered and max(answered) > until:
            stretch.lag_ns = max(answered).ts_ns - until.ts_ns
        yield stretch


def _is_tried_again(wait: Wait) -> bool:
    return wait.last_asked > wait.asked


def _others_work(server: ServerRecord, wait: Wait) -> bool:
    """Whether packets of the server came to the host during its attempts."""
    since, until = wait.asked.ts_ns + SECOND_NS, wait.last_asked.ts_ns
    return until > since and server.runs("host", "packet", wait.host).has_packets(since, until)


def _is_proven(server: ServerRecord, waits: list[Wait]) -> bool:
    """Whether one attempt proves the state by itself, or several attempts do that were given up at once while packets
    of the server came."""
    if any(map(_is_tried_again, waits)):
        return True
    came = server.runs("host", "packet", waits[0].host).has_packets(waits[0].asked.ts_ns, waits[-1].asked.ts_ns)
    return len(waits) >= _LEAST_ATTEMPTS and came


def _of_one_time(waits: Iterable[Wait], accepted: Sequence[Moment]) -> list[list[Wait]]:
    """Returns the attempts of a host in groups. Groups are separated by an accepted connection or a long pause.
    accepted: times at which the server accepted connections of the host, in order."""
    groups: list[list[Wait]] = []
    for wait in waits:
        last = groups[-1] if groups else []
        until = max((each.last_asked for each in last), default=wait.asked)
        is_near = bool(last) and wait.asked.ts_ns <= until.ts_ns + patience_ns(last[0].asked.ts_ns, until.ts_ns)
        if is_near and bisect_left(accepted, until) == bisect_left(accepted, wait.asked):
            last.append(wait)
        else:
            groups.append([wait])
    return groups


def _is_long(waits: list[Wait]) -> bool:
    return max(wait.last_asked.ts_ns for wait in waits) - waits[0].asked.ts_ns >= _LEAST_NS


def _stretch(server: ServerRecord, waits: list[Wait]) -> Stretch:
    """Returns the stretch from the first SYN to the first SYN-ACK after the last unanswered SYN, or to that SYN if no
    SYN-ACK came soon. It may have begun when the server last accepted a connection, and have lasted until it accepted
    the next."""
    host, last = waits[0].host, max(wait.last_asked for wait in waits)
    opened = [wait.until for wait in waits if wait.until is not None and wait.ended_by == "syn_ack"]
    accepted = server.accepted(host)[bisect_left(server.accepted(host), last) :][:1]
    soon = [moment for moment in accepted if moment.ts_ns <= last.ts_ns + patience_ns(waits[0].asked.ts_ns, last.ts_ns)]
    end = min((moment for moment in (*opened, *soon) if moment >= last), default=last)
    moments = [moment for wait in waits for moment in (wait.asked, wait.last_asked)]
    stretch = Stretch(host, "not_accepting", waits[0].asked, end, True, len(waits), moments)
    stretch.lead_ns = waits[0].asked.ts_ns - server.last_accepted_ns(host, waits[0].asked)
    stretch.last_shown_ns = max(earlier_attempt_ns(w.asked.ts_ns, w.last_asked.ts_ns) for w in waits)
    if end == last and accepted:
        stretch.lag_ns = accepted[0].ts_ns - last.ts_ns
    return stretch
