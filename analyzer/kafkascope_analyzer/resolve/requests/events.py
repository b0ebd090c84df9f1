"""Events of the kind request: the single requests that matter for a client's story.

These are all requests of APIs that a healthy client calls now and then. Of APIs that it calls continuously
(STEADY_APIS): requests that failed or were answered late (by a coordinator: after half a second), and the first success
on each connection after a failure of the same API for the same group or transactional id. Of APIs that a client calls
several times during its start (EARLY_APIS): the early ones.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.event_source import EventSource, event_table
from kafkascope_analyzer.resolve.requests.failure_times import NO_SUBJECT, FollowCounter, KnownFailures
from kafkascope_analyzer.resolve.requests.late import is_late, is_slow
from kafkascope_analyzer.scan.apis import EARLY_APIS, ApiSet, int_column
from kafkascope_analyzer.scan.failed_requests import has_failed, is_throttled
from kafkascope_parsers.api_keys import STEADY_APIS

EARLY = 32
"""Number of first requests of a connection among which all requests of EARLY_APIS are events."""
_HOT, _EARLY = ApiSet(STEADY_APIS), ApiSet(EARLY_APIS)


class RequestEvents(EventSource):
    """Makes events of the kind request."""

    KINDS = (Request,)

    def __init__(self, context: BucketContext) -> None:
        self._runs = context.runs
        self._failures = context.shared.request_failures
        self._clients = self._failures.clients(context.connections["client_ip"])
        self._client_ips = np.asarray(flat(context.connections["client_ip"]).fill_null("").to_pylist(), object)
        self._known, self._taken = KnownFailures(), np.empty(0, np.int64)
        n = len(self._failures.starts)
        self._after, self._from = FollowCounter(n, 1), FollowCounter(n, 1)
        """Two sets of counters, because the order is unknown when a success was sent at the very time of a failure."""

    def keeps(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each request is one of these events."""
        kept = np.zeros(rows.num_rows, np.bool_)
        kept[self._taken] = True
        return kept

    def needs_all_requests(self) -> NDArray[np.bool_]:
        """Whether each connection belongs to a client of which a failure is known now that was not known when its
        requests were added to the totals: other requests are then the first successes after it."""
        return np.asarray(np.isin(self._client_ips, self._known.newly_failed(self._failures)), np.bool_)

    def added_up(self) -> dict[str, Any]:
        """Returns the failures that were known when requests were added to the totals."""
        return self._known.state(self._failures)

    def resume(self, added_up: dict[str, Any]) -> None:
        """Takes the failures that earlier runs knew."""
        self._known.resume(added_up)

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Yields the requests that are events."""
        chosen = self._taken = self._chosen(rows)
        self._known.note(int_column(rows, "ts_ns", 0))
        if len(chosen):
            rows = self._runs.without_middles(rows.take(pa.array(chosen)))
            if rows.num_rows:
                yield request_events(rows)

    def _chosen(self, rows: pa.Table) -> NDArray[np.int64]:
        number, chosen = int_column(rows, "number", 0), _decide_alone(rows)
        if len(self._failures):
            is_hot = _HOT.has(int_column(rows, "api_key", -1))
            succeeded = np.flatnonzero(is_hot & ~_went_wrong(rows) & (number >= 0))
            chosen[self._firsts(rows, succeeded)] = True
        return np.flatnonzero(chosen & (number >= 0))

    def _firsts(self, rows: pa.Table, succeeded: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the first successful request after each failure of its subject. succeeded: the rows of successful
        requests."""
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


def _decide_alone(rows: pa.Table) -> NDArray[np.bool_]:
    """Whether each of some finished rows of `requests`, with status_code, is an event regardless of the
    other requests."""
    api_key, number = int_column(rows, "api_key", -1), int_column(rows, "number", 0)
    early = (number < EARLY) & _EARLY.has(api_key)
    chosen = ~_HOT.has(api_key) | _went_wrong(rows) | early | is_late(rows, api_key) | is_slow(rows, api_key)
    return np.asarray(chosen, np.bool_)


def _went_wrong(rows: pa.Table) -> NDArray[np.bool_]:
    return has_failed(rows, int_column(rows, "status_code", 0)) | is_throttled(rows)


def request_events(rows: pa.Table) -> pa.Table:
    """Returns rows of `requests` as events."""
    place = client_place(rows["client_ip"], rows["conn_id"], rows["ts_ns"], rows["request_packet_no"], rows["number"])
    return event_table(Request, place, {name: rows[name] for name in Request.KIND.names})
