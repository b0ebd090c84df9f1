"""Events of the kinds produce_slice and fetch_slice: records passing through topic-partitions, by time slice.

The counting is done before, for the connections of all buckets (flow.facts). This source writes the counts of the
bucket.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event
from kafkascope_analyzer.dataset.tables.event_kinds.flow import FetchSlice, ProduceSlice
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import EventPlace, EventSource, MessageReader, event_table
from kafkascope_analyzer.resolve.flow.added_slices import produce_slices
from kafkascope_analyzer.resolve.flow.counts import slice_tables
from kafkascope_analyzer.scan.spill import read_spill


class FlowEvents(EventSource):
    """EventSource of the kinds produce_slice and fetch_slice."""

    KINDS = (ProduceSlice, FetchSlice)

    def __init__(self, context: BucketContext) -> None:
        self._spill = context.spill
        self._connections = context.connections.select(["conn_id", "client_ip", "node_id"])

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields the slices of the connections of this bucket."""
        for rows in produce_slices(self._spill):
            yield self._events(ProduceSlice, rows)
        for name in slice_tables(self._spill):
            for rows in read_spill(self._spill, name):
                yield self._events(FetchSlice, rows)

    def _events(self, kind: type[Event], rows: pa.Table) -> pa.Table:
        columns = {name: flat(rows[name]) for name in rows.column_names}
        known = self._connections.take(columns["conn"])
        columns |= {name: flat(known[name]) for name in known.column_names}
        key = pc.binary_join_element_wise(columns["topic"], columns["partition"].cast(pa.string()), "-")
        place = EventPlace(key, columns["client_ip"], columns["conn_id"], columns["ts_ns"])
        return event_table(kind, place, columns)
