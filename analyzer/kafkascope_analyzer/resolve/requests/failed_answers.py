"""Finds the requests that name a topic-partition for which their own response has an error, with nothing in between:
the error is an event, and represents both.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import distinct_sorted
from kafkascope_analyzer.resolve.requests.failure_times import NO_SUBJECT, FailureTimes
from kafkascope_analyzer.scan.apis import PARTITION_APIS, ApiSet, int_column
from kafkascope_analyzer.scan.unanswered import is_one_of, request_numbers

_NAMING = ApiSet(PARTITION_APIS)
_NEVER = np.iinfo(np.int64).max


class FailedAnswers:
    """Notes errors of topic-partitions (40 bytes each), then finds the requests to which they are the responses.
    clients: the client of each connection, as FailureTimes numbers them."""

    def __init__(self, failures: FailureTimes, clients: NDArray[np.int64]) -> None:
        self._failures, self._clients = failures, clients
        self._parts: list[NDArray[np.int64]] = []
        self._numbers, self._next_ns = np.empty(0, np.int64), np.empty(0, np.int64)
        self._keys, self._answer_ns = np.empty(0, np.int64), np.empty(0, np.int64)

    def add_errors(self, errors: pa.Table) -> None:
        """Takes rows of `errors`."""
        named = pc.and_(pc.is_valid(errors["topic"]), pc.is_valid(errors["partition"]))
        rows = errors.select(["conn", "number", "api_key", "ts_ns", "topic", "partition"]).filter(named)
        conn = int_column(rows, "conn", 0)
        subjects = self._failures.subjects(self._clients[conn], [rows["topic"], rows["partition"]])
        chosen = (subjects != NO_SUBJECT) & _NAMING.has(int_column(rows, "api_key", -1))
        columns = [request_numbers(rows), subjects, int_column(rows, "ts_ns", 0)]
        if chosen.any():
            self._parts.append(np.column_stack(columns)[chosen])

    def add_requests(self, requests: pa.Table) -> None:
        """Takes rows of `requests`, after all errors: notes when the next request after each failed one was sent."""
        self._sort()
        if len(self._numbers):
            before = request_numbers(requests) - 1
            hit = np.flatnonzero(is_one_of(before, self._numbers))
            at = np.searchsorted(self._numbers, before[hit])
            self._next_ns[at] = int_column(requests, "ts_ns", 0)[hit]

    def state(self) -> list[NDArray[np.int64]]:
        """Returns the failed requests, and when the next ones were sent, to be saved."""
        return [self._numbers, self._next_ns]

    def resume(self, state: list[NDArray[np.int64]]) -> None:
        """Takes the notes of an earlier run, after all errors."""
        self._sort()
        numbers, next_ns = state
        at = np.flatnonzero(is_one_of(self._numbers, numbers))
        self._next_ns[at] = next_ns[np.searchsorted(numbers, self._numbers[at])]

    def without_next(self) -> NDArray[np.int64]:
        """The failed requests (request_numbers) for which the time of the next request is not known."""
        self._sort()
        return np.asarray(self._numbers[self._next_ns == _NEVER], np.int64)

    def _sort(self) -> None:
        if not self._parts:
            return
        rows = np.concatenate(self._parts)
        self._parts = []
        self._numbers = distinct_sorted(rows[:, 0])
        self._next_ns = np.full(len(self._numbers), _NEVER)
        keys = self._key(np.searchsorted(self._numbers, rows[:, 0]), rows[:, 1])
        order = np.argsort(keys, kind="stable")
        self._keys, self._answer_ns = keys[order], rows[order, 2]

    def _key(self, request: NDArray[np.int64], subjects: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns one number for a failed request (its index) and a subject."""
        return request * len(self._failures.starts) + subjects

    def fail_next(self, rows: pa.Table, subjects: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the next row of the topic-partition that each request names is the error in its response: nothing
        else is sent on its connection, and no error occurs on any, in between. rows: rows of `partitions` of requests;
        subjects: the topic-partitions that they name."""
        fails = np.zeros(len(subjects), np.bool_)
        numbers = request_numbers(rows)
        mine = np.flatnonzero(is_one_of(numbers, self._numbers) & (subjects != NO_SUBJECT))
        request = np.searchsorted(self._numbers, numbers[mine])
        keys = self._key(request, subjects[mine])
        known = is_one_of(keys, self._keys)
        mine, request, keys = mine[known], request[known], keys[known]
        if not len(mine):
            return fails
        answer_ns = self._answer_ns[np.searchsorted(self._keys, keys)]
        before = self._failures.last(subjects[mine], answer_ns, strictly=True)
        nothing_failed = before == self._failures.last(subjects[mine], int_column(rows, "ts_ns", 0)[mine])
        fails[mine] = nothing_failed & (self._next_ns[request] > answer_ns)
        return fails
