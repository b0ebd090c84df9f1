"""Writes the events of one bucket: passes the bucket's rows to all sources of events and writes the events that they
return."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.contract import CLUSTER
from kafkascope_analyzer.dataset.writer_set import WriterSet
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.cluster_column import coded
from kafkascope_analyzer.resolve.connections.closed_window_events import ClosedWindowEvents
from kafkascope_analyzer.resolve.connections.events import ConnectionEvents
from kafkascope_analyzer.resolve.connections.loop_events import LoopEvents
from kafkascope_analyzer.resolve.connections.silence_events import SilenceEvents
from kafkascope_analyzer.resolve.connections.usage_events import UsageEvents
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader
from kafkascope_analyzer.resolve.flow.events import FlowEvents
from kafkascope_analyzer.resolve.flow.service_events import ServiceEvents
from kafkascope_analyzer.resolve.groups.commit_events import CommitEvents
from kafkascope_analyzer.resolve.groups.events import GroupEvents
from kafkascope_analyzer.resolve.requests.error_events import ErrorEvents
from kafkascope_analyzer.resolve.requests.events import RequestEvents
from kafkascope_analyzer.resolve.requests.partition_events import PartitionEvents
from kafkascope_analyzer.resolve.servers.events import ServerEvents
from kafkascope_analyzer.resolve.transactions.source import TransactionEvents
from kafkascope_analyzer.scan.partitions import CODED_TEXT

SOURCES: tuple[Callable[[BucketContext], EventSource], ...] = (
    ConnectionEvents,
    UsageEvents,
    LoopEvents,
    SilenceEvents,
    ClosedWindowEvents,
    RequestEvents,
    ErrorEvents,
    PartitionEvents,
    GroupEvents,
    TransactionEvents,
    ServiceEvents,
    ServerEvents,
    FlowEvents,
    CommitEvents,
)
"""The sources of events, for one or several kinds each."""


class BucketEvents:
    """The events of one bucket. Tables of rows have the contract's columns, and two more: conn (the number of the
    connection in the bucket) and number (the number of the request on its connection)."""

    def __init__(self, context: BucketContext, cluster: str, writers: WriterSet[str]) -> None:
        """cluster: the cluster of all events; writers: a writer for each kind of event."""
        self._sources = [make(context) for make in SOURCES]
        self._cluster, self._writers = cluster, writers
        self._n_connections = context.connections.num_rows

    def take_errors(self, rows: pa.Table) -> None:
        """Takes a batch of `errors`."""
        self._write(events for source in self._sources for events in source.take_errors(rows))

    def take_requests(self, rows: pa.Table) -> None:
        """Takes a batch of `requests`, which may be in the totals already; all batches of `errors` came before."""
        self._write(events for source in self._sources for events in source.take_requests(rows))

    def add_up(self, rows: pa.Table) -> None:
        """Adds a batch of `requests` to the totals; no earlier run has added them."""
        for source in self._sources:
            source.add_up(rows)

    def keeps(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether some source keeps each request of the batch that was last taken."""
        return _any(rows.num_rows, (source.keeps(rows) for source in self._sources))

    def needs_all_requests(self) -> NDArray[np.bool_]:
        """Whether some source has to see all requests of each connection. All batches of `errors` came before."""
        return _any(self._n_connections, (source.needs_all_requests() for source in self._sources))

    def added_up(self) -> dict[str, Any]:
        """The totals of the sources over the requests that were taken, to be saved."""
        found = {type(source).__name__: source.added_up() for source in self._sources}
        return {name: added_up for name, added_up in found.items() if added_up is not None}

    def resume(self, added_up: Mapping[str, Any]) -> None:
        """Continues from the totals of an earlier run."""
        for source in self._sources:
            if type(source).__name__ in added_up:
                source.resume(added_up[type(source).__name__])

    def take_claimed(self, rows: pa.Table) -> None:
        """Takes a batch of `requests` of encrypted connections, with the API that each seems to belong to."""
        self._write(events for source in self._sources for events in source.take_claimed(rows))

    def wants_partitions(self, api_key: int, direction: str) -> NDArray[np.bool_]:
        """Returns whether some source needs the partitions of a message, for each connection. Called after all batches
        of `requests`."""
        return _any(self._n_connections, (wanted for _, wanted in self._wanting(api_key, direction)))

    def wants_all_partitions(self, api_key: int, direction: str) -> NDArray[np.bool_]:
        """Returns whether some source needs all partitions of a message of earlier runs too, for each connection."""
        return _any(self._n_connections, (source.wants_all_partitions(api_key, direction) for source in self._sources))

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> None:
        """Takes a batch of `partitions` of one message: the rows of the wanted connections, and perhaps others."""
        wanting = self._wanting(api_key, direction)
        self._write(events for source, _ in wanting for events in source.take_partitions(rows, api_key, direction))

    def keeps_partitions(self, rows: pa.Table, api_key: int, direction: str) -> NDArray[np.bool_]:
        """Whether some source keeps each of the rows of `partitions` that were last taken."""
        wanting = self._wanting(api_key, direction)
        return _any(rows.num_rows, (source.keeps_partitions(rows) for source, _ in wanting))

    def _wanting(self, api_key: int, direction: str) -> Iterator[tuple[EventSource, NDArray[np.bool_]]]:
        """Yields the sources that need the partitions of a message, with what they want of each connection."""
        for source in self._sources:
            wanted = source.wants_partitions(api_key, direction)
            if wanted is not None and wanted.any():
                yield source, wanted

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> None:
        """Writes the events that need all rows."""
        self._write(events for source in self._sources for events in source.finish(connections, read_messages))

    def _write(self, tables: Iterable[pa.Table]) -> None:
        for table in tables:
            write_events(self._writers, table, self._cluster)


def _any(n: int, masks: Iterable[NDArray[np.bool_] | None]) -> NDArray[np.bool_]:
    """Returns for each of n positions whether any of the masks is set there."""
    found = np.zeros(n, np.bool_)
    for mask in masks:
        if mask is not None:
            found |= mask
    return found


def write_events(writers: WriterSet[str], events: pa.Table, cluster: str) -> None:
    """Writes rows made by event_source.event_table, which belong to that cluster."""
    kind = events.column_names[-1]
    column = CLUSTER.field.with_type(CODED_TEXT)
    writers.write(kind, events.add_column(0, column, coded(cluster, events.num_rows)))
