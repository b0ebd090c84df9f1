"""When a server did not answer attempts to connect of a host, though packets of it reached the host on connections that
were open: something lets only these pass, or its listener accepts nobody."""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, patience_ns, stretches_by_host

_NOT_OPENED = frozenset({"unanswered", "open"})
_LEAST_NS = 2 * SECOND_NS
"""A SYN that is lost once is sent again after a second (RFC 6298, 2.1)."""


def not_accepting_stretches(server: ServerRecord, others: Iterable[Stretch]) -> list[Stretch]:
    """The stretches, by host. others: those of states that explain more."""
    explained = stretches_by_host(others)
    not_opened = {lost.conn_id for lost in server.lost if lost.kind in _NOT_OPENED}
    hosts: dict[str, list[Wait]] = defaultdict(list)
    for wait in sorted(server.waits, key=lambda each: each.asked):
        to_open = wait.layer == "packet" and (wait.ended_by == "syn_ack" or wait.conn_id in not_opened)
        if to_open and not explained[wait.host].cover(wait.asked.ts_ns) and _others_work(server, wait):
            hosts[wait.host].append(wait)
    return [_stretch(waits) for mine in hosts.values() for waits in _of_one_time(mine) if _is_long(waits)]


def _others_work(server: ServerRecord, wait: Wait) -> bool:
    """Whether packets of the server came to the host while it tried again and again."""
    since, until = wait.asked.ts_ns + SECOND_NS, wait.last_asked.ts_ns
    return until > since and server.runs("host", "packet", wait.host).has_packets(since, until)


def _of_one_time(waits: Iterable[Wait]) -> list[list[Wait]]:
    groups: list[list[Wait]] = []
    for wait in waits:
        last = groups[-1] if groups else []
        until_ns = max((each.last_asked.ts_ns for each in last), default=0)
        if last and wait.asked.ts_ns <= until_ns + patience_ns(last[0].asked.ts_ns, until_ns):
            last.append(wait)
        else:
            groups.append([wait])
    return groups


def _is_long(waits: list[Wait]) -> bool:
    return max(wait.last_asked.ts_ns for wait in waits) - waits[0].asked.ts_ns >= _LEAST_NS


def _stretch(waits: list[Wait]) -> Stretch:
    """From the first SYN to the first SYN-ACK after the last that was not answered; or that, where none came soon."""
    last = max(wait.last_asked for wait in waits)
    opened = [wait.until for wait in waits if wait.until is not None and wait.ended_by == "syn_ack"]
    end = min((moment for moment in opened if moment >= last), default=last)
    moments = [moment for wait in waits for moment in (wait.asked, wait.last_asked)]
    stretch = Stretch(waits[0].host, "not_accepting", waits[0].asked, end, True, len(waits), moments)
    stretch.lead_ns = SECOND_NS
    stretch.last_shown_ns = max(w.asked.ts_ns + (w.last_asked.ts_ns - w.asked.ts_ns) // 2 for w in waits)
    return stretch
