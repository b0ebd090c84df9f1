"""The state machine over a server: its events in, rows of `broker_states` out.

down       its connections ended within moments, new ones are refused, and nobody is served (down)
silent     no packet comes while the host waits for one (silent)
host_silent  the host sends nothing to anybody, though the server sends again (host_silent)
refusing   the host's connections are refused while others are served (refusing), or the process works (down)
turned_away  the host's connections are accepted, and closed at once (turned_away)
not_accepting  the host's attempts to connect are not answered, while older connections work (not_accepting)
lossy      packets come, several of them late because they had to be sent again (lossy)
delayed    packets come, all of them late (delayed)
mtu        long packets are lost, and shorter ones arrive (mtu)
frozen     packets come, and nothing of the process, while somebody waits for it (frozen, not_reading)
not_reading  the receive window of one connection stays closed, while the process serves others (not_reading)
flow_dead  one connection is dead, while others of the host work (dead_flow)
slow       responses come, on several connections at once much later than usual (slow)
serving, unknown   the rest (rows)

Memory is that of the server's events, which are few: only those of times in which somebody waited for it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kafkascope_analyzer.dataset.tables.event_kinds.servers import ServerHost
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.servers.record import ServerEvent, ServerRecord
from kafkascope_spark.stories.servers.rows import states_of
from kafkascope_spark.stories.servers.table import BrokerState


class Server:
    """One server, in each of the times of the capture that its files cover: nothing is known of it in between, so that
    no state goes on from one to the next. covered: begin and end of each time, in order."""

    def __init__(self, covered: Sequence[tuple[int, int]]) -> None:
        self._parts = [ServerRecord(times) for times in covered]

    def take(self, event: ServerEvent, origin: Origin) -> None:
        """Takes the next event: that of a host concerns all parts, others the part in which they began; a connection
        that in which it ended."""
        if isinstance(event, ServerHost):
            for part in self._parts:
                part.take(origin.packet_no, origin.conn_id, _host_in(part, event))
        else:
            at = bisect_right(self._parts, event.part_ns, key=_begin_ns) - 1
            self._parts[max(at, 0)].take(origin.packet_no, origin.conn_id, event)

    def finish(self) -> Iterator[BrokerState]:
        """The states of all parts. One that lasts to the end of its part ends there, but for the last one."""
        for part in self._parts[:-1]:
            for state in states_of(part):
                state.to_ns = to_ns = state.to_ns or part.capture_ns[1]
                if state.from_ns < to_ns:
                    yield state
        yield from states_of(self._parts[-1])


def _begin_ns(part: ServerRecord) -> int:
    return part.capture_ns[0]


def _host_in(part: ServerRecord, event: ServerHost) -> ServerHost:
    """What is known of a host in a part: packets of the server to it go from the begin of the part on where they began
    before it, and none where they begin after it or end before it."""
    begin_ns, end_ns = part.capture_ns
    first_ns, last_ns = event.first_ns, event.last_ns
    if first_ns is None or begin_ns <= first_ns <= end_ns:
        return event
    if first_ns > end_ns or (last_ns or 0) < begin_ns:
        return replace(event, first_ns=None)
    return replace(event, first_ns=begin_ns)
