"""State `flows_lost`: all connections of the host that were in use ended without being closed, and the host connected
again (the event lost_flows)."""

from collections.abc import Iterable, Iterator

from kafkascope_analyzer.dataset.tables.event_kinds.servers import LostFlows
from kafkascope_spark.stories.servers.moments import Moment, first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import Stretch, without


def flows_lost_stretches(server: ServerRecord, others: Iterable[Stretch]) -> Iterator[Stretch]:
    """Yields the stretches, by host, that have no time in common with others of the same host: a server that was down
    or silent loses its connections, too."""
    return without(map(_stretch, server.lost_flows), others)


def _stretch(lost: LostFlows) -> Stretch:
    begin, end = first_of(lost), last_of(lost)
    end = max(end, Moment(begin.ts_ns + 1, begin.packet_no))
    found = Stretch(lost.host, "flows_lost", begin, end, True, lost.n_connections, [begin, end])
    found.lead_ns = begin.ts_ns - lost.before_ns
    return found
