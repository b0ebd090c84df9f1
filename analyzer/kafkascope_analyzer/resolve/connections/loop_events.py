"""Events of the kind loop: percentiles of the time between requests of one loop on one connection.

Times are counted by whole milliseconds, so that memory for a connection is bounded by its number of distinct times, and
the percentiles are exact.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.dataset.tables.event_kinds.connections import LoopStatistics
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader, event_table
from kafkascope_analyzer.resolve.requests.kernels import MILLISECOND, NONE, loop_gaps
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_parsers.api_keys import (
    FETCH,
    GROUP_HEARTBEATS,
    HEARTBEAT,
    OFFSET_COMMIT,
    PRODUCE,
    SHARE_FETCH,
    TXN_OFFSET_COMMIT,
)

CADENCES = ("heartbeat", "fetch", "commit", "poll_gap", "in_flight")
_HEARTBEAT, _FETCH, _COMMIT, _POLL_GAP, _IN_FLIGHT = range(len(CADENCES))
_N_LOOPS = 3
_LOOP_OF = np.full(128, -1, np.int64)
_LOOP_OF[[HEARTBEAT, *GROUP_HEARTBEATS]] = _HEARTBEAT
_LOOP_OF[[FETCH, SHARE_FETCH]] = _FETCH
_LOOP_OF[[OFFSET_COMMIT, TXN_OFFSET_COMMIT]] = _COMMIT
_MOST_KEPT = 1 << 20
"""Most counts that are kept before they are aggregated."""
_ZERO = 1 << 35
"""Offset that makes values non-negative, so that a value fits into one number with its connection and cadence:
milliseconds of a year, either way."""
_TWO_SHARES = (0.5, 0.99)


class LoopEvents(EventSource):
    """Makes events of the kind loop. Keeps two times per connection and loop, and a count per connection, cadence and
    number of milliseconds."""

    KINDS = (LoopStatistics,)

    def __init__(self, context: BucketContext) -> None:
        self._last = np.full((context.connections.num_rows * _N_LOOPS, 2), NONE, np.int64)
        self._counts = _Counts()
        self._uncovered = context.shared.uncovered

    def add_up(self, rows: pa.Table) -> None:
        """Counts the requests of a batch; requests of a connection come in the order in which they were sent."""
        api_key, conn = int_column(rows, "api_key", -1), int_column(rows, "conn", 0)
        is_request = int_column(rows, "number", 0) >= 0
        self._count_depths(rows, conn, (api_key == PRODUCE) & is_request)
        loop = _LOOP_OF[np.clip(api_key, -1, len(_LOOP_OF) - 1)]
        chosen = np.flatnonzero((loop >= 0) & is_request)
        if len(chosen):
            self._count_gaps(rows, chosen, conn[chosen], loop[chosen])

    def added_up(self) -> dict[str, Any]:
        """Returns the times of the last requests, and the counts."""
        return {"last": self._last, "counts": self._counts.state()}

    def resume(self, added_up: dict[str, Any]) -> None:
        """Continues from the totals of an earlier run."""
        self._last[: len(added_up["last"])] = added_up["last"]
        self._counts.resume(added_up["counts"])

    def take_claimed(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Counts these requests like other ones."""
        self.add_up(rows)
        yield from ()

    def _count_depths(self, rows: pa.Table, conn: NDArray[np.int64], is_produce: NDArray[np.bool_]) -> None:
        depth = int_column(rows, "in_flight", -1)
        known = np.flatnonzero(is_produce & (depth >= 0))
        if len(known):
            self._counts.add(conn[known], _IN_FLIGHT, depth[known])

    def _count_gaps(
        self, rows: pa.Table, chosen: NDArray[np.int64], conn: NDArray[np.int64], loop: NDArray[np.int64]
    ) -> None:
        sent = int_column(rows, "ts_ns", 0)[chosen]
        answered, first_byte = (int_column(rows, name, NONE)[chosen] for name in ("response_last_ns", "response_ns"))
        answered = np.where(answered == NONE, first_byte, answered)
        out = np.empty((len(chosen), 2), np.int64)
        loop_gaps(conn * _N_LOOPS + loop, sent, answered, self._last, out)
        gap, pause = np.ascontiguousarray(out[:, 0]), np.ascontiguousarray(out[:, 1])
        if self._uncovered:  # a round of the loop may be missing in a time that no file covers
            since = sent - np.where(gap == NONE, 0, gap + 1) * MILLISECOND
            unknown = self._uncovered.lie_in(since, sent)
            gap[unknown], pause[unknown] = NONE, NONE
        for which in range(_N_LOOPS):
            mine = np.flatnonzero((loop == which) & (gap != NONE))
            self._counts.add(conn[mine], which, gap[mine])
        polls = np.flatnonzero((loop == _FETCH) & (pause != NONE))
        self._counts.add(conn[polls], _POLL_GAP, np.maximum(pause[polls], 0))

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields one row per connection and cadence."""
        if not self._counts:
            return
        conn, cadence, numbers = self._counts.percentiles()
        about = connections.select(["client_ip", "conn_id", "first_ns"]).take(pa.array(conn))
        seq = pa.array(cadence)
        place = client_place(about["client_ip"], about["conn_id"], about["first_ns"], seq=seq)
        body = {name: pa.array(values) for name, values in numbers.items()}
        yield event_table(LoopStatistics, place, {"cadence": pa.array(CADENCES).take(seq), **body})


class _Counts:
    """The number of occurrences of each value, by connection and cadence."""

    def __init__(self) -> None:
        self._keys, self._n = np.empty(0, np.int64), np.empty(0, np.int64)
        self._waiting: list[NDArray[np.int64]] = []
        self._n_waiting = 0

    def __len__(self) -> int:
        """The number of counted values, or some number above zero once they were aggregated."""
        return len(self._keys) + self._n_waiting

    def add(self, conn: NDArray[np.int64], cadence: int, values: NDArray[np.int64]) -> None:
        """Counts values."""
        if len(conn):
            values = np.clip(values + _ZERO, 0, 2 * _ZERO - 1)
            self._waiting.append((conn * len(CADENCES) + cadence) * (2 * _ZERO) + values)
            self._n_waiting += len(conn)
            if self._n_waiting >= _MOST_KEPT:
                self._add_up()

    def _add_up(self) -> None:
        counted = pa.chunked_array([pa.array(keys) for keys in self._waiting], pa.int64()).value_counts()
        keys = np.concatenate([self._keys, counted.field("values").to_numpy()])
        counts = np.concatenate([self._n, counted.field("counts").to_numpy()])
        order = np.argsort(keys)
        keys, counts = keys[order], counts[order]
        starts = np.flatnonzero(first_of_runs(keys))
        self._keys = keys[starts]
        self._n = np.add.reduceat(counts, starts) if len(starts) else counts
        self._waiting, self._n_waiting = [], 0

    def state(self) -> list[NDArray[np.int64]]:
        """Returns the counts, to be saved."""
        self._add_up()
        return [self._keys, self._n]

    def resume(self, state: list[NDArray[np.int64]]) -> None:
        """Continues from these counts."""
        self._keys, self._n = state

    def percentiles(self) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Returns connection and cadence of each distribution, and its n, p50, p99 and max. A percentile is
        interpolated linearly between the two neighbouring values and rounded down (like Spark's `percentile` and
        floor)."""
        self._add_up()
        key, value = self._keys // (2 * _ZERO), self._keys % (2 * _ZERO) - _ZERO
        starts = np.flatnonzero(first_of_runs(key))
        ends = np.append(starts[1:], len(key))
        until = np.cumsum(self._n)
        before = until[starts] - self._n[starts]
        n = until[ends - 1] - before
        parts = []
        for share in _TWO_SHARES:
            position = (n - 1) * share
            lower, higher = np.floor(position).astype(np.int64), np.ceil(position).astype(np.int64)
            low, high = (value[np.searchsorted(until, before + at, side="right")] for at in (lower, higher))
            between = (higher - position) * low + (position - lower) * high
            parts.append(np.where((lower == higher) | (low == high), low, np.floor(between)).astype(np.int64))
        found = {"n": n, "p50": parts[0], "p99": parts[1], "max": value[ends - 1]}
        return key[starts] // len(CADENCES), key[starts] % len(CADENCES), found
