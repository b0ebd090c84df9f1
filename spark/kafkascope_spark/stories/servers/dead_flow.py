"""State `flow_dead`: a connection was dead while another one between the same two hosts worked. Data on it was no
longer acknowledged, even after retransmissions. A device between the hosts has forgotten the connection, as firewalls,
load balancers and NAT do with connections that were idle for long."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.tables.event_kinds.servers import PacketLoss
from kafkascope_spark.stories.findings.thresholds import IDLE_LEAST_MS
from kafkascope_spark.stories.servers.moments import Moment, first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.silent import ACKNOWLEDGED, SCOPES, last_unanswered_ns
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, stretches_by_host, times_of

_LEAST_TRIES = 3
"""Fewest retransmissions of each segment without an arrival."""
_AFTER_NS = SECOND_NS // 5
"""Packets of the server up to this time after the begin may be on the dead connection: its first retransmission comes
200 ms later at the earliest."""


def dead_flow_stretches(server: ServerRecord, others: Iterable[Stretch]) -> list[Stretch]:
    """Returns the stretches in which a connection was dead, by host. others: stretches of all other states, which take
    precedence."""
    explained = stretches_by_host(others)
    found = filter(_is_never_acknowledged, server.losses)
    return [
        _stretch(loss)
        for loss in found
        if not explained[loss.host].overlap(loss.first_ns, loss.last_ns)
        and _others_work(server, loss.host, loss.first_ns, loss.last_ns)
    ]


def with_forgotten(server: ServerRecord, silent: Iterable[Stretch]) -> Iterator[Stretch]:
    """Yields the silent stretches, changed to dead connections in two cases: only one connection, which had been idle,
    got no acknowledgment, never got one later, and the host's next connection was accepted; or data of the stretch was
    not acknowledged for long after its end, although packets came on other connections. silent: stretches of all
    hosts."""
    stretches = [_outlasted(server, each) for each in silent]
    others = times_of(stretches)
    for each in stretches:
        until_ns = FOREVER if each.end is None else each.end.ts_ns
        is_dead = (
            each.state == "silent"
            and _is_forgotten(server, each)
            and len(list(islice(others.latest(each.begin.ts_ns, until_ns), 2))) == 1
        )
        yield replace(each, state="flow_dead") if is_dead else each


def _outlasted(server: ServerRecord, stretch: Stretch) -> Stretch:
    """Returns the silent stretch, or a stretch of dead connections if data of the stretch was retransmitted without
    success after its end. The latter lasts until the acknowledgment, if one came, else until the last attempt."""
    if stretch.end is None or not stretch.resumed:
        return stretch
    end_ns = stretch.end.ts_ns
    of_packets = (wait for wait in server.waits_of(stretch.host) if wait.layer in SCOPES)
    waits = [wait for wait in of_packets if wait.asked.ts_ns < end_ns < server.end_ns(wait.until)]
    dead = [wait for wait in waits if last_unanswered_ns(server, wait) > end_ns + _AFTER_NS]
    shown_ns = max((last_unanswered_ns(server, wait) for wait in dead), default=0)
    if not dead or not _others_work(server, stretch.host, end_ns, shown_ns):
        return stretch
    end, lag_ns = max(map(_end_of_attempts, dead))
    return replace(
        stretch,
        state="flow_dead",
        end=end,
        n_waiting=len({wait.conn_id for wait in waits}),
        moments=[*stretch.moments, *(moment for wait in waits for moment in (wait.asked, wait.last_asked))],
        layers=set(),
        last_shown_ns=shown_ns,
        lag_ns=lag_ns,
    )


def _end_of_attempts(wait: Wait) -> tuple[Moment, int]:
    """Returns the acknowledgment of a wait, if one came; else the last attempt, and the time after which the next may
    have come."""
    if wait.until is not None and wait.ended_by in ACKNOWLEDGED:
        return wait.until, 0
    return wait.last_asked, wait.last_asked.ts_ns - wait.asked.ts_ns


def _is_never_acknowledged(loss: PacketLoss) -> bool:
    return loss.n_lost >= _LEAST_TRIES * loss.n_segments


def _is_forgotten(server: ServerRecord, stretch: Stretch) -> bool:
    """Whether the only waiting connection had been idle for as long as middleboxes keep one, and was given up before
    another was accepted."""
    if stretch.n_waiting != 1 or not stretch.resumed or stretch.end is None:
        return False
    heard = server.runs("host", "packet", stretch.host).gap_from(stretch.begin.ts_ns).before
    if heard is None or stretch.begin.ts_ns - heard.ts_ns < IDLE_LEAST_MS * 1_000_000:
        return False
    end_ns = stretch.end.ts_ns
    waits = [w for w in server.waits_of(stretch.host) if stretch.begin.ts_ns <= w.asked.ts_ns < end_ns]
    return bool(waits) and not any(wait.ended_by in ACKNOWLEDGED for wait in waits)


def _others_work(server: ServerRecord, host: str, from_ns: int, to_ns: int) -> bool:
    """Whether packets of the server came to the host during that time, which must be on other connections."""
    return server.runs("host", "packet", host).has_packets(from_ns + _AFTER_NS, to_ns)


def _stretch(loss: PacketLoss) -> Stretch:
    """Returns the stretch from the first retransmitted packet to the last one. TCP doubles the time between attempts,
    so the end is uncertain by the same length."""
    begin, end = first_of(loss), last_of(loss)
    stretch = Stretch(loss.host, "flow_dead", begin, end, True, loss.n_connections, [begin, end], lead_ns=SECOND_NS)
    stretch.lag_ns = end.ts_ns - begin.ts_ns
    return stretch
