"""State `host_slow`: the clients of a host took several times as long as usual to react (the event slow_host). The
server is not slow then."""

from collections.abc import Iterable, Iterator

from kafkascope_analyzer.dataset.tables.event_kinds.servers import SlowHost
from kafkascope_spark.stories.servers.moments import first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import MS_NS, Stretch, without


def host_slow_stretches(server: ServerRecord, others: Iterable[Stretch]) -> Iterator[Stretch]:
    """Yields the stretches, by host, that have no time in common with others of the same host, which explain more."""
    return without(map(_stretch, server.slow_hosts), others)


def _stretch(slow: SlowHost) -> Stretch:
    begin, end, times = first_of(slow), last_of(slow), slow.times_usual
    found = Stretch(slow.host, "host_slow", begin, end, True, slow.n_clients, [begin, end], times_usual=times)
    # It was slow in most of the first and of the last slice.
    found.lead_ns = found.lag_ns = slow.slice_ms * MS_NS
    found.last_shown_ns = max(begin.ts_ns, end.ts_ns - slow.slice_ms * MS_NS)
    return found
