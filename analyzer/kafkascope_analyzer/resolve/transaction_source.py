"""Events of transactional ids: what producers ask their coordinators, what they write, what leaders and coordinators
say of it, and which consumers a transaction blocks."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import MessageReader
from kafkascope_analyzer.resolve.transaction_brokers import leaders_requests, markers
from kafkascope_analyzer.resolve.transaction_requests import CoordinatorRequests
from kafkascope_analyzer.resolve.transaction_rows import SLICE_ROWS, events_of_kind, with_seq
from kafkascope_analyzer.resolve.transaction_written import WrittenStretches


class TransactionEvents:
    """Source of the events of transactional ids (EventSource)."""

    def __init__(self, context: BucketContext) -> None:
        self._blocked = context.shared.transactions.blocked
        self._conn_ids = context.connections["conn_id"].combine_chunks()
        self._facts = context.shared.transactions
        self._requests = CoordinatorRequests()
        self._written = WrittenStretches(self._facts, self._conn_ids)

    def take_errors(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Keeps the errors in answers about transactions."""
        self._requests.take_errors(rows)
        yield from ()

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Keeps the requests of transactional producers."""
        if rows["transactional_id"].null_count < rows.num_rows:
            self._requests.take_requests(rows)
            self._written.take_requests(rows)
        yield from ()

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Keeps what transactional producers write."""
        self._written.take_partitions(rows, api_key, direction)
        yield from ()

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """All events."""
        tables = {
            "transaction_request": self._requests.rows(read_messages),
            "transaction_markers": markers(read_messages, self._facts),
            "transaction_seen": leaders_requests(read_messages),
            "transaction_written": self._written.rows(),
            "transaction_blocked_by_lso": self._blocked_rows(),
        }
        for kind, rows in tables.items():
            for first in range(0, rows.num_rows, SLICE_ROWS):
                yield events_of_kind(kind, rows.slice(first, SLICE_ROWS).combine_chunks(), connections)

    def _blocked_rows(self) -> pa.Table:
        """Consumers of this bucket that a last stable offset blocks."""
        conn = pc.index_in(self._blocked["conn_id"], self._conn_ids)
        here = self._blocked.filter(conn.is_valid())
        numbers = here["number"].to_numpy()
        ids = request_ids(self._conn_ids, conn.drop_null().to_numpy().astype(np.int64), numbers)
        here = here.append_column("request_id", ids).append_column("key", here["transactional_id"])
        return with_seq(here, ["partition", "last_stable_offset"])
