"""Runs of requests that fail with the same errors: a storm of a million equal errors becomes a few rows of `events`.

A run is a sequence of requests of one connection, without other requests in between, that agree in API, version, client
id, group, member and transactional id and whose responses have the same set of errors, were not late and did not
throttle the client. Its first and last EDGE requests are events of their own; those between are its middle, one event
for each error of the set (error_events). Runs are found before any source gets the first row.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.resolve.distinct_rows import group_codes
from kafkascope_analyzer.resolve.requests.late import is_late
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.failed_requests import has_failed
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.unanswered import request_numbers

EDGE = 1_000
"""Requests at the beginning and at the end of a run that are events one by one: together as many as the steps that are
kept of one start, and more than an episode keeps."""
LEAST = 3 * EDGE
"""Shortest run with a middle; all requests of a shorter one are events one by one."""
NO_RUN = -1
_OK = REQUEST_STATUSES.index("ok")
_ERROR_KEYS = ["field_path", "error_code", "topic", "topic_id", "partition", "group_id", "transactional_id"]
_REQUEST_KEYS = ["api_key", "api_version", "client_id", "group_id", "member_id", "group_instance_id"]
_REQUEST_KEYS += ["generation_or_epoch", "transactional_id"]
_REQUEST_COLUMNS = ["conn", "number", "ts_ns", "request_last_ns", "response_ns", "error_code", "n_errors", "status"]
_REQUEST_COLUMNS += ["throttle_ms", "in_flight", "max_wait_ms", *_REQUEST_KEYS]

Longs = NDArray[np.int64]
Kinds = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ErrorRuns:
    """The middles of a bucket's runs, in order of connection and request. first, last: numbers (request_numbers) of the
    first and last request of each; last_ns: first byte of the last response; last_sent_ns: first byte of the last
    request; waited_us: time from request to response, summed over all requests."""

    first: Longs
    last: Longs
    last_ns: Longs
    last_sent_ns: Longs
    waited_us: Longs

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.first)

    def run_of(self, numbers: Longs) -> Longs:
        """Returns the run whose middle contains each request (request_numbers); NO_RUN for others."""
        if not len(self.first):
            return np.full(len(numbers), NO_RUN)
        at = np.searchsorted(self.first, numbers, side="right") - 1
        return np.where((at >= 0) & (numbers <= self.last[at]), at, NO_RUN)

    def without_middles(self, rows: pa.Table) -> pa.Table:
        """Returns the rows (with conn and number) that are not in the middle of a run."""
        if not len(self.first):
            return rows
        return rows.filter(pa.array(self.run_of(request_numbers(rows)) == NO_RUN))


def find_error_runs(spill: Path) -> ErrorRuns:
    """Returns the runs of a scanned bucket. Reads errors and requests only of connections with enough errors; memory:
    about 50 bytes for each of these errors and 80 for each of these requests, while they are sorted."""
    busy = _connections_with_many_errors(spill)
    if not len(busy):
        return ErrorRuns(*(np.empty(0, np.int64) for _ in range(5)))
    errors = _errors(spill, busy)
    requests = _requests(spill, busy)
    same_errors, failing = _repeats_errors(*errors)
    at = np.minimum(np.searchsorted(failing, requests.number), len(failing) - 1)
    fails = failing[at] == requests.number
    goes_on = fails & requests.is_plain & same_errors[at]
    goes_on[1:] &= fails[:-1] & requests.is_plain[:-1]
    goes_on[1:] &= (requests.kind[1:] == requests.kind[:-1]) & (np.diff(requests.number) == 1)
    goes_on[:1] = False
    return _middles(requests, goes_on)


def _connections_with_many_errors(spill: Path) -> Longs:
    """Returns the numbers of connections with enough errors for a run, sorted."""
    counts = np.zeros(0, np.int64)
    for rows in read_spill(spill, "errors", ["conn"]):
        more = np.bincount(rows["conn"].to_numpy())
        n = max(len(more), len(counts))
        counts = np.pad(counts, (0, n - len(counts))) + np.pad(more, (0, n - len(more)))
    return np.flatnonzero(counts >= LEAST)


@dataclass(slots=True)
class _KindNumbers:
    """Numbers for combinations of values, the same in all batches."""

    _numbers: dict[Hashable, int] = field(default_factory=dict)

    def of(self, rows: pa.Table, columns: list[str]) -> Kinds:
        """Returns the number of each row's values in the columns."""
        codes, n = group_codes([rows[name] for name in columns])
        first = np.zeros(n, np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        distinct = rows.select(columns).take(pa.array(first)).to_pylist()
        mine = [self._numbers.setdefault(tuple(row.values()), len(self._numbers)) for row in distinct]
        return np.array(mine, np.int32)[codes]


def _of_connections(spill: Path, name: str, columns: list[str], connections: Longs) -> Iterator[pa.Table]:
    """Yields spilled rows of those connections."""
    for rows in read_spill(spill, name, columns):
        chosen = rows.filter(pc.is_in(rows["conn"], pa.array(connections)))
        if chosen.num_rows:
            yield chosen


def _errors(spill: Path, connections: Longs) -> tuple[Longs, Kinds]:
    """Returns request and kind of each error, sorted."""
    kinds = _KindNumbers()
    numbers, of_kind = [], []
    for rows in _of_connections(spill, "errors", ["conn", "number", *_ERROR_KEYS], connections):
        numbers.append(request_numbers(rows))
        of_kind.append(kinds.of(rows, _ERROR_KEYS))
    number, kind = np.concatenate(numbers), np.concatenate(of_kind)
    order = np.lexsort((kind, number))
    return number[order], kind[order]


def _repeats_errors(number: Longs, kind: Kinds) -> tuple[NDArray[np.bool_], Longs]:
    """Returns whether each request with errors has the same errors as the previous one in the list, and the numbers of
    these requests. number, kind: request and kind of each error, sorted."""
    requests, starts, counts = np.unique(number, return_index=True, return_counts=True)
    same = np.zeros(len(requests), np.bool_)
    same[1:] = counts[1:] == counts[:-1]
    width = np.repeat(counts, counts)
    equal = kind == kind[np.maximum(np.arange(len(kind)) - width, 0)]
    return same & np.logical_and.reduceat(equal, starts), requests


@dataclass(frozen=True, slots=True)
class _Requests:
    """Requests in order: number, kind, whether the response is plain, first byte of request and of response."""

    number: Longs
    kind: Kinds
    is_plain: NDArray[np.bool_]
    sent_ns: Longs
    answered_ns: Longs


def _requests(spill: Path, connections: Longs) -> _Requests:
    kinds = _KindNumbers()
    columns: dict[str, list[NDArray[Any]]] = {each.name: [] for each in fields(_Requests)}
    for rows in _of_connections(spill, "requests", _REQUEST_COLUMNS, connections):
        rows = rows.filter(pc.greater_equal(rows["number"], 0))
        columns["number"].append(request_numbers(rows))
        columns["kind"].append(kinds.of(rows, _REQUEST_KEYS))
        columns["is_plain"].append(_is_plain(rows))
        columns["sent_ns"].append(int_column(rows, "ts_ns", 0))
        columns["answered_ns"].append(int_column(rows, "response_ns", 0))
    order = np.argsort(np.concatenate(columns["number"]))
    return _Requests(**{name: np.concatenate(columns.pop(name))[order] for name in list(columns)})


def _is_plain(requests: pa.Table) -> NDArray[np.bool_]:
    """Whether each request had a response that was an error, not late, and did not throttle the client."""
    status = int_column(requests, "status", 0)
    latency = pc.divide(pc.subtract(requests["response_ns"], requests["request_last_ns"]), 1000)
    late = is_late(requests.append_column("latency_us", latency), int_column(requests, "api_key", -1))
    throttled = int_column(requests, "throttle_ms", 0) != 0
    return np.asarray((status == _OK) & ~throttled & ~late & has_failed(requests, status), np.bool_)


def _middles(requests: _Requests, goes_on: NDArray[np.bool_]) -> ErrorRuns:
    """Returns the middles of the runs. goes_on: whether each request repeats the previous one."""
    starts = np.flatnonzero(~goes_on)
    ends = np.append(starts[1:], len(goes_on))
    is_long = ends - starts >= LEAST
    first, last = starts[is_long] + EDGE, ends[is_long] - EDGE - 1
    waited = [
        ((requests.answered_ns[one:end] - requests.sent_ns[one:end]) // 1000).sum()
        for one, end in zip(first, last + 1, strict=True)
    ]
    return ErrorRuns(
        requests.number[first],
        requests.number[last],
        requests.answered_ns[last],
        requests.sent_ns[last],
        np.array(waited, np.int64),
    )
