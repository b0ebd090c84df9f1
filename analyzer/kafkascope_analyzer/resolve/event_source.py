"""What makes events of one kind: it is shown the bucket's finished rows, batch by batch, and gives rows of `events`."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables.events import EVENTS, KINDS, RANKS

MessageReader = Callable[[str, list[str]], Iterator[pa.RecordBatch]]
"""Takes a message (`JoinGroup/request`) or a table that is finished (`partitions`), and columns; gives the bucket's
rows of it, batch by batch."""


class EventSource:
    """Makes events of one or several kinds. It sees rows in this order: errors, requests, partitions, the end; all
    rows of a connection are in one bucket. Rows have two columns beside the contract's: conn, the number of the
    connection in the bucket, and number, that of the request on its connection (below zero for a response without a
    request). Memory: what its own kinds need, never all rows. A source overrides the methods for the rows that it
    needs; of others it makes no events."""

    def take_errors(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Events from a batch of finished rows of `errors`; with sent_ns, the first byte of the request."""
        return iter(())

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Events from a batch of finished rows of `requests`; with status_code, the place of the status in
        REQUEST_STATUSES."""
        return iter(())

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Events from a batch of finished rows of `partitions`, all of one message."""
        return iter(())

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """The events that need all rows. connections: the bucket's finished rows of `connections`."""
        return iter(())


def event_table(kind: str, keys: dict[str, pa.Array], body: pa.StructArray) -> pa.Table:
    """Rows of `events` of one kind. keys: key_kind, key, client_ip, section, ts_ns, packet_no, conn_id and seq."""
    n = len(body)
    columns = dict(keys)
    columns["ts"] = pc.divide(keys["ts_ns"], 1000).cast(EVENTS.column("ts").type)
    columns["rank"] = pa.repeat(pa.scalar(RANKS[kind], pa.int8()), n)
    columns["kind"] = pa.repeat(kind, n)
    columns[kind] = body.cast(KINDS[kind])
    arrays = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(n, f.type) for f in EVENTS.schema]
    return pa.Table.from_arrays(arrays, schema=EVENTS.schema)
