"""Events of the kind closed_window: times in which one side did not read the data received on a connection."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.connections import ClosedWindow
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader, event_table


class ClosedWindowEvents(EventSource):
    """Makes events of the kind closed_window from rows that are gathered between the passes (closed_windows)."""

    KINDS = (ClosedWindow,)

    def __init__(self, context: BucketContext) -> None:
        self._rows = context.shared.servers.closed.filter(pc.field("side") == "client")

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields the rows of the bucket's connections."""
        of_bucket = pc.index_in(flat(self._rows["conn_id"]), flat(connections["conn_id"]))
        rows = self._rows.filter(of_bucket.is_valid())
        if rows.num_rows:
            client_ip = flat(connections["client_ip"]).take(of_bucket.drop_null())
            body = {name.replace("_packet", "_packet_no"): rows[name] for name in rows.column_names}
            place = client_place(client_ip, rows["conn_id"], rows["first_ns"], rows["first_packet"])
            yield event_table(ClosedWindow, place, body)
