"""The machine over a server: makes rows of `broker_states` from its events.

down       its connections ended within moments, new ones are refused, and nobody is served (down)
silent     no packet comes while the host waits for one (silent)
host_silent  the host sends nothing to any server, although the server retransmits (host_silent)
flows_lost  all connections of the host in use were lost without being closed, and it connected again (flows_lost)
host_slow  the clients of the host react late, while those of other hosts do not (host_slow)
refusing   the host's connections are refused while others are served (refusing), or the process works (down)
turned_away  the host's connections are accepted, and closed at once (turned_away)
not_accepting  the host's attempts to connect are not answered, while older connections work (not_accepting)
lossy      packets come, several of them late because they had to be retransmitted (lossy)
delayed    packets come, all of them late (delayed)
mtu        long packets are lost, and shorter ones arrive (mtu)
frozen     packets come, but none of the process, while a host waits for it (frozen, not_reading)
not_reading  the receive window of one connection stays closed, while the process serves others (not_reading)
flow_dead  one connection is dead, while others of the host work (dead_flow)
slow       responses come, on several connections at once much later than usual (slow)
serving, unknown   the rest (rows)

Memory is that of the server's events, which are few: only those of times in which a host waited for it.
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
    """One server. Each time that the files of the capture cover is a separate part: nothing is known between parts, so
    no state continues from one to the next. covered: begin and end of each time, in order."""

    def __init__(self, covered: Sequence[tuple[int, int]]) -> None:
        self._parts = [ServerRecord(times) for times in covered]

    def take(self, event: ServerEvent, origin: Origin) -> None:
        """Takes the next event. Events of hosts concern all parts, connections the part in which they ended, others the
        part in which they began."""
        if isinstance(event, ServerHost):
            for part in self._parts:
                part.take(origin.packet_no, origin.conn_id, _host_in(part, event))
        else:
            at = bisect_right(self._parts, event.part_ns, key=_begin_ns) - 1
            self._parts[max(at, 0)].take(origin.packet_no, origin.conn_id, event)

    def finish(self) -> Iterator[BrokerState]:
        """Yields the states of all parts. A state that lasts to the end of its part ends there, except in the last
        part."""
        for part in self._parts[:-1]:
            for state in states_of(part):
                state.to_ns = to_ns = state.to_ns or part.capture_ns[1]
                if state.from_ns < to_ns:
                    yield state
        yield from states_of(self._parts[-1])


def _begin_ns(part: ServerRecord) -> int:
    return part.capture_ns[0]


def _host_in(part: ServerRecord, event: ServerHost) -> ServerHost:
    """Returns the host limited to a part: if packets of the server to it began before the part, they begin with the
    part; if they begin after it or end before it, there are none."""
    begin_ns, end_ns = part.capture_ns
    first_ns, last_ns = event.first_ns, event.last_ns
    if first_ns is None or begin_ns <= first_ns <= end_ns:
        return event
    if first_ns > end_ns or (last_ns or 0) < begin_ns:
        return replace(event, first_ns=None)
    return replace(event, first_ns=begin_ns)
