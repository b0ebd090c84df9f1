"""Events of transactional ids: requests of producers to their coordinators, the batches that they write, messages of
leaders and coordinators about them, and the consumers that a transaction blocks."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event
from kafkascope_analyzer.dataset.tables.event_kinds.transactions import (
    TransactionBlockedByLso,
    TransactionMarkers,
    TransactionRequest,
    TransactionSeen,
    TransactionWritten,
)
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader
from kafkascope_analyzer.resolve.transactions.brokers import leaders_requests, markers
from kafkascope_analyzer.resolve.transactions.requests import CoordinatorRequests
from kafkascope_analyzer.resolve.transactions.rows import SLICE_ROWS, events_of_kind, with_seq
from kafkascope_analyzer.resolve.transactions.written import WrittenStretches


class TransactionEvents(EventSource):
    """Makes the events of transactional ids."""

    KINDS = (
        TransactionRequest,
        TransactionMarkers,
        TransactionSeen,
        TransactionWritten,
        TransactionBlockedByLso,
    )

    def __init__(self, context: BucketContext) -> None:
        self._facts = context.shared.transactions
        self._conn_ids = context.connections["conn_id"].combine_chunks()
        self._requests = CoordinatorRequests()
        self._written = WrittenStretches(self._facts, self._conn_ids)

    def take_errors(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Keeps the errors in responses about transactions."""
        self._requests.take_errors(rows)
        yield from ()

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Yields events of requests to coordinators. Keeps those that need a message, and the Produce requests of
        transactional producers."""
        if rows["transactional_id"].null_count < rows.num_rows:
            yield from _in_slices(TransactionRequest, [self._requests.take_requests(rows)], None)
            self._written.take_requests(rows)

    def keeps(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each request is about a transaction."""
        return np.asarray(pc.is_valid(rows["transactional_id"]), np.bool_)

    def wants_partitions(self, api_key: int, direction: str) -> NDArray[np.bool_] | None:
        """Whether each connection has transactional producers, for messages with their batches."""
        return self._written.wants_partitions(api_key)

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Keeps the batches of transactional producers."""
        self._written.take_partitions(rows, api_key, direction)
        yield from ()

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields all other events."""
        tables: dict[type[Event], Iterable[pa.Table]] = {
            TransactionRequest: self._requests.finish(read_messages),
            TransactionMarkers: markers(read_messages, self._facts),
            TransactionSeen: leaders_requests(read_messages),
            TransactionWritten: [self._written.rows()],
            TransactionBlockedByLso: [self._blocked_rows()],
        }
        for kind, parts in tables.items():
            yield from _in_slices(kind, parts, connections)

    def _blocked_rows(self) -> pa.Table:
        """Returns consumers of this bucket that a last stable offset blocks."""
        blocked = self._facts.blocked
        conn = pc.index_in(blocked["conn_id"], self._conn_ids)
        here = blocked.filter(conn.is_valid())
        ids = request_ids(self._conn_ids, conn.drop_null().to_numpy().astype(np.int64), here["number"].to_numpy())
        here = here.append_column("request_id", ids).append_column("key", here["transactional_id"])
        return with_seq(here, ["partition", "last_stable_offset"])


def _in_slices(kind: type[Event], tables: Iterable[pa.Table], connections: pa.Table | None) -> Iterator[pa.Table]:
    """Yields rows of `events` of one kind, at most SLICE_ROWS at a time."""
    for rows in tables:
        for first in range(0, rows.num_rows, SLICE_ROWS):
            yield events_of_kind(kind, rows.slice(first, SLICE_ROWS).combine_chunks(), connections)
