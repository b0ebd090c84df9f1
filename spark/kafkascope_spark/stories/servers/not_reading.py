"""State `not_reading`: a server did not read the data of a host. Its receive window stayed closed for a second or
longer, because its process took no data from its kernel. Shorter times are normal for a busy process.

If the process sent nothing to any host in that time, it was frozen: for a host that waits for no response, such as a
producer with acks=0, that is the only evidence. If it served others, it did not read only this connection, also where
nobody else asked it for anything later: a window closes because a process has stopped, and not before."""

from collections.abc import Iterable

from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import SECOND_NS, SOON_NS, Stretch, without
from kafkascope_spark.stories.servers.table import StateName

_LEAST_FROZEN_NS = SECOND_NS


def not_reading_stretches(server: ServerRecord, others: Iterable[Stretch]) -> list[Stretch]:
    """Returns the stretches, by host. others: stretches of states that take precedence."""
    closed = [_stretch(server, wait) for wait in server.waits if wait.layer == "window"]
    known = list(without(closed, others))
    frozen = [stretch for stretch in known if stretch.state == "frozen"]
    alone = [stretch for stretch in known if stretch.state != "frozen"]
    return _joined(frozen) + _joined(without(alone, frozen))


def _stretch(server: ServerRecord, wait: Wait) -> Stretch:
    """Returns the stretch from the segment that closed the window to the one that opened it; for a frozen process, from
    its last payload to the first afterwards, if these are near."""
    begin, end = wait.asked, wait.until
    is_open = wait.ended_by == "ack"
    gap = server.runs("process", "payload").gap_from(begin.ts_ns)
    since, until = max(begin.ts_ns, server.start_ns(gap.before)), min(server.end_ns(end), server.end_ns(gap.after))
    lasted_ns = until - since
    has_served_on = gap.before is not None and gap.before.ts_ns > begin.ts_ns + _LEAST_FROZEN_NS
    is_long = lasted_ns >= _LEAST_FROZEN_NS and 2 * lasted_ns >= server.end_ns(end) - begin.ts_ns
    is_frozen = is_long and not has_served_on
    state: StateName = "frozen" if is_frozen else "not_reading"
    if is_frozen and gap.before is not None and abs(gap.before.ts_ns - begin.ts_ns) <= SECOND_NS:
        begin = gap.before
    if is_frozen and gap.after is not None and gap.after.ts_ns < server.end_ns(end):
        end, is_open = gap.after, True
    moments = [wait.asked, *([] if wait.until is None else [wait.until])]
    found = Stretch(wait.host, state, begin, end, is_open, 1, moments)
    found.unread_ns = server.end_ns(end) - wait.asked.ts_ns
    found.last_shown_ns = min(wait.last_asked.ts_ns, server.end_ns(end))
    return found


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Joins stretches of one state of the same host that overlap or nearly do."""
    found: list[Stretch] = []
    for stretch in sorted(stretches, key=lambda each: (each.host, each.begin)):
        last = found[-1] if found else None
        if last is None or last.host != stretch.host or not _goes_on(last.end, stretch):
            found.append(stretch)
            continue
        n_waiting = last.n_waiting + stretch.n_waiting
        end = None if last.end is None or stretch.end is None else max(last.end, stretch.end)
        shown_ns = max(last.last_shown_ns or 0, stretch.last_shown_ns or 0)
        last.join(stretch)
        last.end, last.n_waiting, last.last_shown_ns = end, n_waiting, shown_ns
    return found


def _goes_on(end: Moment | None, stretch: Stretch) -> bool:
    return end is None or stretch.begin.ts_ns <= end.ts_ns + SOON_NS
