"""When long packets between a server and a host were lost, all of them, while shorter ones arrived: a link on the path
takes no packets of that length, and nobody tells the sender (RFC 2923: a black hole of path MTU discovery)."""

from collections.abc import Iterable, Iterator

from kafkascope_analyzer.dataset.tables.event_kinds.servers import PacketLoss
from kafkascope_spark.stories.servers.lossy import MOST_TRIES
from kafkascope_spark.stories.servers.moments import first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, stretches_by_host

_LEAST_BYTES = 536
"""Any IPv4 link takes packets with so much payload (576 bytes, RFC 1122)."""


def mtu_stretches(server: ServerRecord) -> list[Stretch]:
    """The stretches, by host."""
    return [_stretch(server, loss) for loss in server.losses if _is_of_length(loss)]


def without_mtu(stretches: Iterable[Stretch], mtu: Iterable[Stretch]) -> Iterator[Stretch]:
    """The stretches of other states that have no time in common with one of these: what looks silent on a connection
    whose next packet is a long one is explained by it."""
    explained = stretches_by_host(mtu)
    for stretch in stretches:
        until = stretch.begin.ts_ns if stretch.end is None else stretch.end.ts_ns
        if not explained[stretch.host].overlap(stretch.begin.ts_ns, max(until, stretch.begin.ts_ns + 1)):
            yield stretch


def _is_of_length(loss: PacketLoss) -> bool:
    is_long = loss.least_bytes >= _LEAST_BYTES and 0 < loss.arrived_bytes < loss.least_bytes
    return is_long and loss.n_lost > MOST_TRIES * loss.n_segments


def _stretch(server: ServerRecord, loss: PacketLoss) -> Stretch:
    """From the first packet that was sent again to the last, which may have arrived. TCP doubles the time between its
    attempts (RFC 6298, 5.5): the one before the last came half way or later, and the next would come as much later.
    Where that is after the end of the capture, it may not be over."""
    begin, end = first_of(loss), last_of(loss)
    stretch = Stretch(loss.host, "mtu", begin, end, True, loss.n_connections, [begin, end], lead_ns=SECOND_NS)
    stretch.last_shown_ns = begin.ts_ns + (end.ts_ns - begin.ts_ns) // 2
    lasted_ns = end.ts_ns - begin.ts_ns
    if _has_arrived(server, loss):
        return stretch
    if end.ts_ns + lasted_ns < server.capture_ns[1]:
        stretch.lag_ns = lasted_ns
    else:
        stretch.end, stretch.resumed = None, False
    return stretch


def _has_arrived(server: ServerRecord, loss: PacketLoss) -> bool:
    """Whether a wait for an acknowledgment ended at about the time of the last attempt: then some of it arrived, and
    what else is sent again follows at once."""
    waits = (wait for wait in server.waits_of(loss.host) if wait.asked.ts_ns <= loss.last_ns)
    return any(abs(server.end_ns(wait.until) - loss.last_ns) <= SECOND_NS for wait in waits if wait.ended_by == "ack")
