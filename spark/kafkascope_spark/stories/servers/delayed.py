"""State `delayed`: packets between a server and a host were delayed (event packet_delay), by a long queue or a detour
on the path, or because a kernel processes its packets late."""

from collections.abc import Iterator
from operator import attrgetter

from kafkascope_analyzer.dataset.tables.event_kinds.servers import PacketDelay
from kafkascope_spark.stories.servers.moments import first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import Stretch, possible_pause_ns

_LAYER_OF_SENDER = {"host": "packet", "server": "delivery"}


def delayed_stretches(server: ServerRecord) -> Iterator[Stretch]:
    """Yields the stretches, by host. Overlapping stretches of both directions are one."""
    last: Stretch | None = None
    for delay in sorted(server.delays, key=attrgetter("host", "first_ns")):
        stretch = _stretch(delay)
        if last is None or last.host != stretch.host or last.end is None or stretch.begin > last.end:
            if last is not None:
                yield last
            last = stretch
        else:
            stretch.end = max(last.end, stretch.end or last.end)
            last.join(stretch)
    if last is not None:
        yield last


def _stretch(delay: PacketDelay) -> Stretch:
    """Returns the stretch from the first packet that was acknowledged late to the last late acknowledgment. The last
    packet that is known to be delayed was sent by the delay earlier."""
    begin, end = first_of(delay), last_of(delay)
    stretch = Stretch(delay.host, "delayed", begin, end, True, delay.n_connections, [begin, end])
    stretch.layers = {_LAYER_OF_SENDER[delay.sender]}
    stretch.late_ms = delay.middle_ms
    stretch.last_shown_ns = max(delay.last_ns - delay.middle_ms * 1_000_000, delay.first_ns)
    pause_ns = possible_pause_ns(delay.n_late, delay.last_ns - delay.first_ns)
    stretch.lead_ns = stretch.lag_ns = max(pause_ns, delay.slice_ms * 1_000_000)
    return stretch
