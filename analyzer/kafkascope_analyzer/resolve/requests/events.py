"""Events of the kind request: the single requests that decide a story.

Every call that a healthy client makes now and then; of the calls that it makes all the time (STEADY_APIS) those that
failed or were answered late (by a coordinator: half a second later), the first success on each connection after a
failure of the same call on the same group or transactional id, and of what a start makes several times the early ones.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.event_source import EventSource, event_table
from kafkascope_analyzer.resolve.requests.failure_times import NO_SUBJECT, FollowCounter
from kafkascope_analyzer.resolve.requests.late import is_late, is_slow
from kafkascope_analyzer.scan.apis import EARLY_APIS, ApiSet, int_column
from kafkascope_analyzer.scan.failed_requests import has_failed, is_throttled
from kafkascope_parsers.api_keys import STEADY_APIS

EARLY = 32
"""Requests of a connection among which all of EARLY_APIS are events."""
_HOT, _EARLY = ApiSet(STEADY_APIS), ApiSet(EARLY_APIS)


class RequestEvents(EventSource):
    """Makes events of the kind request."""

    KINDS = (Request,)

    def __init__(self, context: BucketContext) -> None:
        self._runs = context.runs
        self._failures = context.shared.request_failures
        self._clients = self._failures.clients(context.connections["client_ip"])
        n = len(self._failures.starts)
        self._after, self._from = FollowCounter(n, 1), FollowCounter(n, 1)
        """Two counters, because it is unknown which was first when a success was sent at the very time of a failure."""

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """The requests that decide a story."""
        chosen = self._chosen(rows)
        if len(chosen):
            rows = self._runs.without_middles(rows.take(pa.array(chosen)))
            if rows.num_rows:
                yield request_events(rows)

    def _chosen(self, rows: pa.Table) -> NDArray[np.int64]:
        api_key, number = int_column(rows, "api_key", -1), int_column(rows, "number", 0)
        is_hot = _HOT.has(api_key)
        failed = has_failed(rows, int_column(rows, "status_code", 0)) | is_throttled(rows)
        early = (number < EARLY) & _EARLY.has(api_key)
        chosen = ~is_hot | failed | early | is_late(rows, api_key) | is_slow(rows, api_key)
        if len(self._failures):
            succeeded = np.flatnonzero(is_hot & ~failed & (number >= 0))
            chosen[self._firsts(rows, succeeded)] = True
        return np.flatnonzero(chosen & (number >= 0))

    def _firsts(self, rows: pa.Table, succeeded: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first request that succeeded after each failure of its subject. succeeded: the rows of requests that
        did."""
        conn = int_column(rows, "conn", 0)[succeeded]
        near = np.flatnonzero(self._clients[conn] != NO_SUBJECT)
        succeeded, conn = succeeded[near], conn[near]
        part = rows.select(["api_key", "group_id", "transactional_id"]).take(pa.array(succeeded))
        subjects = self._failures.subjects(self._clients[conn], list(part.columns))
        known = np.flatnonzero(subjects != NO_SUBJECT)
        succeeded, conn, subjects = succeeded[known], conn[known], subjects[known]
        ts_ns = int_column(rows, "ts_ns", 0)[succeeded]
        follows = np.zeros(len(succeeded), np.bool_)
        for counter, strictly in ((self._from, False), (self._after, True)):
            failures = self._failures.last(subjects, ts_ns, strictly=strictly)
            after = np.flatnonzero(failures != NO_SUBJECT)
            follows[after] |= counter.take(conn[after], subjects[after], failures[after])
        return succeeded[follows]


def request_events(rows: pa.Table) -> pa.Table:
    """Rows of `requests` as events."""
    place = client_place(rows["client_ip"], rows["conn_id"], rows["ts_ns"], rows["request_packet_no"], rows["number"])
    return event_table(Request, place, {name: rows[name] for name in Request.KIND.names})
