"""Usage of each connection: one row per connection and kind of request, with the first request of the kind."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.distinct_rows import group_codes
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.saved_state import table_bytes, table_of
from kafkascope_parsers.api_keys import FIRST_RESERVED_CORRELATION_ID, GROUP_HEARTBEATS, LEAVE_GROUP

_KEYS = (
    "client_id",
    "api_key",
    "api_name",
    "api_version",
    "group_id",
    "member_id",
    "group_instance_id",
    "transactional_id",
    "coordinator_type",
    "coordinator_key",
    "software_name",
    "software_version",
    "status",
)
"""Columns of `requests` that distinguish kinds of requests of a connection."""
_OF_FIRST = (
    "node_id",
    "correlation_id",
    "ts_ns",
    "request_last_ns",
    "response_ns",
    "response_last_ns",
    "latency_us",
    "broker_us",
    "generation_or_epoch",
    "n_records",
)
"""Columns of `requests` whose values an event takes from the first request of its kind."""
_FLAGS = ("is_replica", "returned_records", "failed", "has_records", "is_unacknowledged")
"""Boolean keys; bit i of the column `flags` is the i-th of them."""
_FOLLOWING = ("api_name", "status")
"""Keys that are determined by another column (api_key, status_code), so that they do not distinguish kinds."""
_TEXT_KEYS = ("status_code", *(name for name in _KEYS if name not in _FOLLOWING))
_FIRST = (*_FOLLOWING, "client_ip", "conn_id", *_OF_FIRST, "number")
_KEPT = ["conn", *_TEXT_KEYS, *_FIRST]
_REDUCED = ("max_wait_ms", "min_bytes", "producer_id", "record_bytes", "n_partitions", "fetch_session_epoch")
USAGE_COLUMNS = [*_KEPT, *_REDUCED, "acks", "replica_id", "error_code", "n_errors"]
"""The columns of `requests` that are needed, including conn and number."""
_SUMS = ("n", "total_records", "total_record_bytes", "total_partitions", "n_new_fetch_sessions", "n_leaves")
_LARGEST = ("last_ns", "last_answered_ns", "max_wait_ms", "last_correlation_id", "producer_id", "highest_generation")
_LEAST = ("least_wait_ms", "least_min_bytes", "lowest_generation")
"""Smallest values over all requests of a kind. They are kept negated, so that all extremes are maxima."""
_UNKNOWN = np.iinfo(np.int64).min
_MOST_ROWS = 1 << 16
"""Most rows that are collected before they are aggregated."""


class UsageTable:
    """Aggregates requests, batch by batch. Memory: a row per connection and kind of request."""

    def __init__(self) -> None:
        self._parts: list[pa.Table] = []
        self._n_rows = self._n_added = 0

    def add(self, requests: pa.Table, failed: NDArray[np.bool_]) -> None:
        """Adds rows of `requests`. failed: whether each request failed (failed_requests.has_failed)."""
        rows = requests.select(_KEPT).append_column("flags", pa.array(_flags(requests, failed)))
        values = _values(requests)
        self._parts.append(_added_up(rows, values))
        self._n_rows += self._parts[-1].num_rows
        if self._n_rows > 2 * self._n_added + _MOST_ROWS:
            self._add_up()

    def state(self) -> bytes | None:
        """Returns the aggregated rows, to be saved; None without a request."""
        self._add_up()
        return table_bytes(self._parts[0]) if self._parts else None

    def resume(self, state: bytes | None) -> None:
        """Continues from a saved state; called before the first request."""
        self._parts = [] if state is None else [table_of(state)]
        self._n_rows = self._n_added = sum(part.num_rows for part in self._parts)

    def _add_up(self) -> None:
        if len(self._parts) > 1:
            rows = pa.concat_tables(self._parts)
            self._parts = [_added_up(rows, {name: rows[name].to_numpy() for name in (*_SUMS, *_LARGEST, *_LEAST)})]
        self._n_rows = self._n_added = sum(part.num_rows for part in self._parts)

    def rows(self) -> pa.Table | None:
        """Returns all rows: the keys of a kind, the first request's values (its number as first_number), and _SUMS,
        _LARGEST and _LEAST over all requests of the kind; None without a request."""
        self._add_up()
        if not self._parts:
            return None
        rows = self._parts[0].rename_columns({"number": "first_number"})
        flags = rows["flags"].to_numpy()
        for bit, name in enumerate(_FLAGS):
            rows = rows.append_column(name, pa.array((flags >> bit & 1).astype(np.bool_)))
        for name in (*_LARGEST, *_LEAST):
            values = rows[name].to_numpy()
            known = -values if name in _LEAST else values
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(known, mask=values == _UNKNOWN))
        return rows.drop_columns(["flags"])


def _flags(requests: pa.Table, failed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns the flags of each request, one bit each, in the order of _FLAGS."""
    n_records = int_column(requests, "n_records", 0)
    flags = (
        int_column(requests, "replica_id", -1) >= 0,
        (n_records > 0) & ~failed,
        failed,
        (n_records > 0) | (int_column(requests, "record_bytes", 0) > 0),
        int_column(requests, "acks", -1) == 0,
    )
    code = np.zeros(requests.num_rows, np.int64)
    for bit, flag in enumerate(flags):
        code |= flag.astype(np.int64) << bit
    return code


def _values(requests: pa.Table) -> dict[str, NDArray[np.int64]]:
    """Returns the contribution of each request to _SUMS, _LARGEST and _LEAST."""
    correlation_id = int_column(requests, "correlation_id", FIRST_RESERVED_CORRELATION_ID)
    producer_id = int_column(requests, "producer_id", -1)
    generation = int_column(requests, "generation_or_epoch", 0)
    return {
        "n": np.ones(requests.num_rows, np.int64),
        "total_records": int_column(requests, "n_records", 0),
        "total_record_bytes": int_column(requests, "record_bytes", 0),
        "total_partitions": int_column(requests, "n_partitions", 0),
        "n_new_fetch_sessions": (int_column(requests, "fetch_session_epoch", -1) == 0).astype(np.int64),
        "n_leaves": _leaves(requests, generation).astype(np.int64),
        "last_ns": int_column(requests, "ts_ns", 0),
        "last_answered_ns": int_column(requests, "response_last_ns", _UNKNOWN),
        "max_wait_ms": int_column(requests, "max_wait_ms", _UNKNOWN),
        "last_correlation_id": np.where(correlation_id < FIRST_RESERVED_CORRELATION_ID, correlation_id, _UNKNOWN),
        "producer_id": np.where(producer_id >= 0, producer_id, _UNKNOWN),
        "highest_generation": np.where(generation > 0, generation, _UNKNOWN),
        "least_wait_ms": _negated(int_column(requests, "max_wait_ms", _UNKNOWN)),
        "least_min_bytes": _negated(int_column(requests, "min_bytes", _UNKNOWN)),
        "lowest_generation": np.where(generation > 0, -generation, _UNKNOWN),
    }


def _leaves(requests: pa.Table, epoch: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each request leaves a group: LeaveGroup, or a heartbeat with an epoch below 0 (KIP-848)."""
    api_key = int_column(requests, "api_key", -1)
    return np.asarray((api_key == LEAVE_GROUP) | (np.isin(api_key, list(GROUP_HEARTBEATS)) & (epoch < 0)))


def _negated(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the values negated; unknown values stay unknown."""
    return np.where(values == _UNKNOWN, _UNKNOWN, -values)


def _added_up(rows: pa.Table, values: dict[str, NDArray[np.int64]]) -> pa.Table:
    """Returns one row per kind of request: the one with the smallest number, with the sums and the maxima
    of `values`."""
    columns = [flat(rows[name]) for name in _TEXT_KEYS]
    codes, n = group_codes([int_column(rows, "conn", 0), int_column(rows, "flags", 0), *columns])
    number = int_column(rows, "number", 0)
    least = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(least, codes, number)
    hit = np.flatnonzero(least[codes] == number)
    first = np.zeros(n, np.int64)
    first[codes[hit]] = hit
    out = rows.take(pa.array(first))
    for name, each in values.items():
        total = _sum(codes, each, n) if name in _SUMS else _largest(codes, each, n)
        out = out.drop_columns([name]) if name in out.column_names else out
        out = out.append_column(name, pa.array(total))
    return out


def _sum(codes: NDArray[np.int64], values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Returns the sum of the values of each code from 0 to n - 1. As double: sums stay below 2**53."""
    return np.bincount(codes, weights=values, minlength=n).astype(np.int64)


def _largest(codes: NDArray[np.int64], values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Returns the largest known value of each code; _UNKNOWN where it has none."""
    largest = np.full(n, _UNKNOWN)
    chosen = np.flatnonzero(values != _UNKNOWN)
    np.maximum.at(largest, codes[chosen], values[chosen])
    return largest
