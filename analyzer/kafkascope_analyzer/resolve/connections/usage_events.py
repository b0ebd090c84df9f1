"""Events of the kinds usage and samples: totals of the requests of each connection, and samples of their correlation
ids."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.connections import Samples, Usage
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.connections.correlation_samples import CorrelationSamples, TextCodes
from kafkascope_analyzer.resolve.connections.usage_table import USAGE_COLUMNS, UsageTable
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader, event_table
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.failed_requests import has_failed


class UsageEvents(EventSource):
    """Makes events of the kinds usage and samples."""

    KINDS = (Usage, Samples)

    def __init__(self, context: BucketContext) -> None:
        n = context.connections.num_rows
        self._usage = UsageTable()
        self._clients = TextCodes()
        self._requests, self._responses = CorrelationSamples(n), CorrelationSamples(n)

    def add_up(self, rows: pa.Table) -> None:
        """Adds the requests to the totals; responses without a request only count for the samples."""
        rows = rows.select(USAGE_COLUMNS)
        number = int_column(rows, "number", 0)
        is_response = number < 0
        if is_response.any():
            orphans = rows.filter(pa.array(is_response))
            numbers = -1 - number[is_response]
            self._responses.add(orphans, numbers, np.zeros(len(numbers), np.int64))
            rows, number = rows.filter(pa.array(~is_response)), number[~is_response]
        if rows.num_rows:
            self._usage.add(rows, has_failed(rows, int_column(rows, "status_code", 0)))
            self._requests.add(rows, number, self._clients.of(rows["client_id"]))

    def added_up(self) -> dict[str, Any]:
        """Returns the usage and the samples of all connections."""
        return {
            "usage": self._usage.state(),
            "clients": self._clients.state(),
            "requests": self._requests.state(),
            "responses": self._responses.state(),
        }

    def resume(self, added_up: dict[str, Any]) -> None:
        """Continues from the totals of an earlier run."""
        self._usage.resume(added_up["usage"])
        self._clients.resume(added_up["clients"])
        self._requests.resume(added_up["requests"])
        self._responses.resume(added_up["responses"])

    def take_claimed(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Adds the requests to the totals; they have no correlation ids to sample."""
        if rows.num_rows:
            self._usage.add(rows.select(USAGE_COLUMNS), has_failed(rows, int_column(rows, "status_code", 0)))
        yield from ()

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields one row per connection and kind of request, and the samples of each connection."""
        used = self._usage.rows()
        if used is not None:
            place = client_place(used["client_ip"], used["conn_id"], used["ts_ns"], seq=used["first_number"])
            yield event_table(Usage, place, {name: used[name] for name in used.column_names})
        about = connections.select(["client_ip", "conn_id"])
        for samples, of_answers in ((self._requests, False), (self._responses, True)):
            conn, times, ids = samples.lists()
            if len(conn):
                rows = about.take(pa.array(conn))
                first = flat(times).flatten().take(flat(times).offsets[:-1])
                body = {"times": times, "correlation_ids": ids, "of_answers": pa.repeat(of_answers, len(conn))}
                yield event_table(Samples, client_place(rows["client_ip"], rows["conn_id"], first), body)
