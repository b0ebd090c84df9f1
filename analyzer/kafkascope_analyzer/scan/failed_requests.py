"""Picks the failed requests of the data plane during the scan, for the times at which each subject failed.

The first success after a failure matters for a client's story. The failure may be on another connection, so all buckets
get the times of all failures.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.dataset.tables.event_kinds.requests import LONG_THROTTLE_MS
from kafkascope_analyzer.scan.apis import ApiSet, int_column
from kafkascope_parsers.api_keys import STEADY_APIS

FAILED_REQUESTS = "facts.failed_requests"
_COLUMNS = ["conn", "api_key", "group_id", "transactional_id", "ts_ns"]
_FAILED_STATUSES = np.isin(REQUEST_STATUSES, ("unanswered", "undecoded"))
_ORPHAN = REQUEST_STATUSES.index("orphan_response")
_HOT = ApiSet(STEADY_APIS)


def has_failed(requests: pa.Table, status: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each request failed: an error anywhere in the response, no response, or not decoded. status: index in
    REQUEST_STATUSES."""
    failed = (int_column(requests, "error_code", 0) != 0) | (int_column(requests, "n_errors", 0) != 0)
    return np.asarray(failed | _FAILED_STATUSES[status], np.bool_)


def is_throttled(requests: pa.Table) -> NDArray[np.bool_]:
    """Whether the response of each request throttles the client for LONG_THROTTLE_MS or longer."""
    return int_column(requests, "throttle_ms", 0) >= LONG_THROTTLE_MS


def pick_failed_requests(settled: pa.Table) -> pa.Table | None:
    """Returns the completed requests of STEADY_APIS that failed or throttled the client: conn, api_key, group_id,
    transactional_id, ts_ns."""
    if not settled.num_rows:
        return None
    status = int_column(settled, "status", 0)
    chosen = has_failed(settled, status) | is_throttled(settled)
    if not chosen.any():
        return None
    chosen &= _HOT.has(int_column(settled, "api_key", -1)) & (status != _ORPHAN)
    return settled.select(_COLUMNS).filter(pa.array(chosen)) if chosen.any() else None
