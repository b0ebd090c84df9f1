"""Events of the kinds produce_slice and fetch_slice: what flowed through topic-partitions, slice by slice of time.

Everything is counted before, for the connections of all buckets (flow_facts); here the counts of the bucket are
written.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.events import MOMENT
from kafkascope_analyzer.dataset.tables.flow_events import FLOW_KINDS
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader, event_table
from kafkascope_analyzer.resolve.flow_counts import FETCH_SLICES, PRODUCE_SLICES
from kafkascope_analyzer.scan.spill import read_spill


class FlowEvents(EventSource):
    """EventSource of the kinds produce_slice and fetch_slice."""

    def __init__(self, context: BucketContext) -> None:
        self._spill = context.spill
        self._connections = context.connections.select(["conn_id", "client_ip", "node_id"])

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """The slices of the connections of this bucket."""
        for kind, name in (("produce_slice", PRODUCE_SLICES), ("fetch_slice", FETCH_SLICES)):
            for rows in read_spill(self._spill, name):
                yield self._events(kind, rows)

    def _events(self, kind: str, rows: pa.Table) -> pa.Table:
        n = rows.num_rows
        columns = {name: flat(rows[name]) for name in rows.column_names}
        known = self._connections.take(columns["conn"])
        columns |= {name: flat(known[name]) for name in known.column_names}
        keys = {
            "key_kind": pa.repeat("flow", n),
            "key": pc.binary_join_element_wise(columns["topic"], columns["partition"].cast(pa.string()), "-"),
            "client_ip": columns["client_ip"],
            "section": pa.repeat(pa.scalar(MOMENT, pa.int8()), n),
            "ts_ns": columns["ts_ns"],
            "packet_no": pa.array(np.zeros(n, np.int64)),
            "conn_id": columns["conn_id"],
            "seq": pa.array(np.zeros(n, np.int32)),
        }
        fields = list(FLOW_KINDS[kind])
        body = pa.StructArray.from_arrays([columns[each.name].cast(each.type) for each in fields], fields=fields)
        return event_table(kind, keys, body)
