"""Events about connections as a whole that need only the final state of ingest: connection, learned; and DNS look-ups,
which have no connection.
"""

from collections.abc import Iterator

import pyarrow as pa

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.connections import ConnectionEvent, Learned, Lookup
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.cluster.message_facts import learned_rows, spilled_ids
from kafkascope_analyzer.resolve.connections.near_closes import with_near_closes
from kafkascope_analyzer.resolve.event_source import EventPlace, EventSource, MessageReader, event_table


class ConnectionEvents(EventSource):
    """Makes events of the kinds connection and learned."""

    KINDS = (ConnectionEvent, Learned)

    def __init__(self, context: BucketContext) -> None:
        self._closes = context.shared.near_closes
        self._spill = context.spill

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields one row per connection, and one more for each connection with learned facts."""
        rows = with_near_closes(connections, self._closes)
        yield event_table(ConnectionEvent, _whole(rows), {name: rows[name] for name in ConnectionEvent.KIND.names})
        learned = learned_rows(read_messages, spilled_ids(self._spill, flat(connections["conn_id"])))
        if learned.num_rows:
            at = pa.compute.index_in(flat(learned["conn_id"]), flat(connections["conn_id"]))
            about = connections.select(["client_ip", "conn_id", "first_ns"]).take(at)
            yield event_table(Learned, _whole(about), {name: learned[name] for name in learned.column_names[1:]})


def lookup_events(dns: pa.Table) -> pa.Table:
    """Returns rows of `dns` as events."""
    no_connection = pa.repeat("", dns.num_rows)
    place = client_place(dns["client_ip"], no_connection, dns["ts_ns"], dns["packet_no"])
    return event_table(Lookup, place, {name: dns[name] for name in Lookup.KIND.names})


def _whole(connections: pa.Table) -> EventPlace:
    """Returns the place of facts about connections as a whole."""
    return client_place(connections["client_ip"], connections["conn_id"], connections["first_ns"])
