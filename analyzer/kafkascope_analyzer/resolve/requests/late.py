"""Detects late responses: later than any running broker takes."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.stall_limit import LEAST_STALL_MS
from kafkascope_analyzer.scan.apis import COORDINATOR_APIS, PROMPT_APIS, ApiSet, int_column

OVERDUE_US = 5_000_000
"""A response that comes this much later than its request allows is late: clients wait 10 s (connection set-up) to 60 s
(librdkafka)."""
SLOW_US = LEAST_STALL_MS * 1_000
"""A client that waits this long for its coordinator may stall."""
_PROMPT, _COORDINATOR = ApiSet(PROMPT_APIS), ApiSet(COORDINATOR_APIS)


def is_late(requests: pa.Table, api_key: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each request was alone on its connection and answered late."""
    is_alone = _PROMPT.has(api_key) & (int_column(requests, "in_flight", 0) == 1)
    allowed_us = int_column(requests, "max_wait_ms", 0) * 1_000 + OVERDUE_US
    return np.asarray(is_alone & (int_column(requests, "latency_us", -1) > allowed_us), np.bool_)


def is_slow(requests: pa.Table, api_key: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each request went to a coordinator, and was answered half a second later or more."""
    is_slow = int_column(requests, "latency_us", -1) >= SLOW_US
    return np.asarray(is_slow & _COORDINATOR.has(api_key), np.bool_)
