"""Base class of the sources of events: a source gets the bucket's finished rows, batch by batch, and returns rows of
`events`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.contract import CLUSTER
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event
from kafkascope_analyzer.dataset.tables.events import file_schema
from kafkascope_analyzer.dataset.timestamps import microseconds

Column: TypeAlias = pa.Array | pa.ChunkedArray

MessageReader = Callable[[str, list[str]], Iterator[pa.RecordBatch]]
"""Function that takes a message (`JoinGroup/request`) and columns, and yields the bucket's rows of it,
batch by batch."""


class EventSource:
    """Makes events of one or several kinds. It gets rows in this order: errors, requests, claimed requests, partitions,
    the end; all rows of a connection are in one bucket. Rows have two columns besides the contract's: conn, the number
    of the connection in the bucket, and number, the number of the request on its connection (below zero for a response
    without a request). Memory: only as much as its kinds need, never all rows. A source overrides the methods for the
    rows that it needs; other rows produce no events.

    Where captures are appended, not all requests of earlier runs are passed again. So a source that takes requests says
    which of them it `keeps`; what it has to count once for each request it does in `add_up`, and saves the totals
    (`added_up`)."""

    KINDS: ClassVar[tuple[type[Event], ...]]
    """The kinds of events that the source makes."""

    def take_errors(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Yields events from a batch of finished rows of `errors`; with sent_ns, the time of the first byte of the
        request."""
        return iter(())

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Yields events from a batch of finished rows of `requests`; with status_code, the index of the status in
        REQUEST_STATUSES. Of the requests of earlier runs it gets those that some source keeps, and all requests of
        connections for which a source needs all."""
        return iter(())

    def add_up(self, rows: pa.Table) -> None:
        """Adds the rows that `take_requests` last got to the totals; not called for requests of earlier runs."""

    def added_up(self) -> Any:
        """Returns the totals over the requests that were taken, to be saved; None where the source has none."""
        return None

    def resume(self, added_up: Any) -> None:
        """Continues from the totals of an earlier run; called before the first request."""

    def keeps(self, rows: pa.Table) -> "NDArray[np.bool_] | None":
        """Whether each of the requests that were last taken has to be passed in later runs too. None for none."""
        return None

    def needs_all_requests(self) -> "NDArray[np.bool_] | None":
        """Whether the source has to get all requests of each connection again, because something was learned about the
        connection that earlier runs did not know. None for none."""
        return None

    def take_claimed(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Yields events from a batch of rows of `requests` of encrypted connections, with status_code, and with the API
        that each seems to belong to. All columns that come from the content of messages are null."""
        return iter(())

    def wants_partitions(self, api_key: int, direction: str) -> "NDArray[np.bool_] | None":
        """Whether `take_partitions` needs the rows of that message, for each connection; None if it needs none. Called
        when all requests were taken. If it needs some, it may get rows of other connections too."""
        return None

    def wants_all_partitions(self, api_key: int, direction: str) -> "NDArray[np.bool_] | None":
        """Whether `take_partitions` needs all rows of that message of earlier runs too, for each connection. By default
        it needs those that it wants; None where the rows that it `keeps_partitions` are enough."""
        return self.wants_partitions(api_key, direction)

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Yields events from a batch of finished rows of `partitions`, all of one message that the source wants."""
        return iter(())

    def keeps_partitions(self, rows: pa.Table) -> "NDArray[np.bool_] | None":
        """Whether each of the rows of `partitions` that were last taken has to be passed in later runs too. None for
        none."""
        return None

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields the events that need all rows. connections: the bucket's finished rows of `connections`."""
        return iter(())


@dataclass(frozen=True, slots=True)
class EventPlace:
    """The key, the connection and the order of events of a kind: columns of equal length, named as in the table
    `events`. packet_no and seq are 0 where there is no column."""

    key: Column
    client_ip: Column
    conn_id: Column
    ts_ns: Column
    packet_no: Column | None = None
    seq: Column | None = None


def event_table(event: type[Event], place: EventPlace, body: Mapping[str, Column]) -> pa.Table:
    """Returns rows of a file of events of one kind (file_schema), without the cluster. event: the class of the kind;
    body: the columns of its struct, possibly among others; missing ones are null."""
    n = len(place.ts_ns)
    zero = pa.array(np.zeros(n, np.int64))
    kind = event.KIND
    fields = list(kind.struct)
    parts = [flat(body[f.name]).cast(f.type) if f.name in body else pa.nulls(n, f.type) for f in fields]
    columns = {
        "key": flat(place.key),
        "client_ip": flat(place.client_ip),
        "ts": microseconds(flat(place.ts_ns)),
        "ts_ns": flat(place.ts_ns),
        "packet_no": zero if place.packet_no is None else flat(place.packet_no).fill_null(0),
        "conn_id": flat(place.conn_id),
        "seq": zero if place.seq is None else flat(place.seq).fill_null(0),
        kind.name: pa.StructArray.from_arrays(parts, fields=fields),
    }
    schema = pa.schema([field for field in file_schema(kind.name) if field.name != CLUSTER.name])
    arrays = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(n, f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
