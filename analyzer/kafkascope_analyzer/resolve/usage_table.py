"""How each connection was used: one row per connection and kind of request, with the first request of the kind."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.events import USAGE_FIRST, USAGE_KEYS
from kafkascope_analyzer.resolve.apis import int_column
from kafkascope_analyzer.resolve.client_event import flat
from kafkascope_analyzer.resolve.group_codes import group_codes

FIRST_RESERVED_CORRELATION_ID = 0x7FFFFFF8
"""From here the Java client numbers its SASL requests, apart from its counter (KAFKA-9854)."""
_FLAGS = ("is_replica", "returned_records", "failed")
_FOLLOWING = ("api_name", "status")
"""Keys that follow from another column (api_key, status_code), by which they need not be told apart again."""
_KEYS = ("conn", "status_code", *(name for name in USAGE_KEYS if name not in _FOLLOWING), *_FLAGS)
_FIRST = (*_FOLLOWING, "client_ip", "conn_id", *USAGE_FIRST, "number")
_KEPT = [*(name for name in _KEYS if name not in _FLAGS), *_FIRST]
USAGE_COLUMNS = [*_KEPT, "max_wait_ms", "producer_id", "replica_id", "error_code", "n_errors"]
"""The columns of `requests` that are needed, conn and number among them."""
_UNKNOWN = np.iinfo(np.int64).min
_MOST_ROWS = 1 << 16
"""Rows that wait to be added up."""


class UsageTable:
    """Adds up requests, batch by batch. Memory: a row per connection and kind of request."""

    def __init__(self) -> None:
        self._parts: list[pa.Table] = []
        self._n_rows = self._n_added = 0

    def add(self, requests: pa.Table, failed: NDArray[np.bool_]) -> None:
        """Adds rows of `requests`. failed: whether each went wrong (failed_requests.has_failed)."""
        correlation_id = int_column(requests, "correlation_id", FIRST_RESERVED_CORRELATION_ID)
        producer_id = int_column(requests, "producer_id", -1)
        returned_records = (int_column(requests, "n_records", 0) > 0) & ~failed
        n = requests.num_rows
        flags = {
            "is_replica": pa.array(int_column(requests, "replica_id", -1) >= 0),
            "returned_records": pa.array(returned_records),
            "failed": pa.array(failed),
        }
        sums = {
            "n": np.ones(n, np.int64),
            "last_ns": int_column(requests, "ts_ns", 0),
            "max_wait_ms": int_column(requests, "max_wait_ms", _UNKNOWN),
            "last_correlation_id": np.where(correlation_id < FIRST_RESERVED_CORRELATION_ID, correlation_id, _UNKNOWN),
            "producer_id": np.where(producer_id >= 0, producer_id, _UNKNOWN),
        }
        rows = requests.select(_KEPT)
        for name, values in flags.items():
            rows = rows.append_column(name, values)
        self._parts.append(_added_up(rows, sums))
        self._n_rows += self._parts[-1].num_rows
        if self._n_rows > 2 * self._n_added + _MOST_ROWS:
            self._add_up()

    def _add_up(self) -> None:
        if len(self._parts) > 1:
            rows = pa.concat_tables(self._parts)
            self._parts = [_added_up(rows, {name: rows[name].to_numpy() for name in _SUMS})]
        self._n_rows = self._n_added = sum(part.num_rows for part in self._parts)

    def rows(self) -> pa.Table | None:
        """All rows: the keys of a kind, the first request's values, and n, first_number, last_ns, max_wait_ms,
        last_correlation_id, producer_id; None without a request."""
        self._add_up()
        if not self._parts:
            return None
        rows = self._parts[0].rename_columns({"number": "first_number"})
        for name in ("max_wait_ms", "last_correlation_id", "producer_id"):
            values = rows[name].to_numpy()
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(values, mask=values == _UNKNOWN))
        return rows


_SUMS = ("n", "last_ns", "max_wait_ms", "last_correlation_id", "producer_id")


def _added_up(rows: pa.Table, sums: dict[str, NDArray[np.int64]]) -> pa.Table:
    """One row per kind of request: that with the least number, with n added up and the largest of the others of
    `sums`."""
    columns = [flat(rows[name]) for name in _KEYS[1:]]
    codes, n = group_codes([int_column(rows, "conn", 0), *columns])
    number = int_column(rows, "number", 0)
    least = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(least, codes, number)
    hit = np.flatnonzero(least[codes] == number)
    first = np.zeros(n, np.int64)
    first[codes[hit]] = hit
    out = rows.take(pa.array(first))
    for name, values in sums.items():
        if name == "n":
            total = np.bincount(codes, weights=values, minlength=n).astype(np.int64)
        else:
            total = np.full(n, _UNKNOWN)
            chosen = np.flatnonzero(values != _UNKNOWN)
            np.maximum.at(total, codes[chosen], values[chosen])
        out = out.drop_columns([name]) if name in out.column_names else out
        out = out.append_column(name, pa.array(total))
    return out
