"""Requests that were answered late, by what Kafka's APIs wait for."""

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.resolve.requests.late import is_late, is_slow

FETCH, METADATA, PRODUCE, JOIN_GROUP, HEARTBEAT = 1, 3, 0, 11, 12
SECOND_US = 1_000_000


def request(latency_us: int | None, in_flight: int | None = 1, max_wait_ms: int | None = None) -> pa.Table:
    columns = {"latency_us": latency_us, "in_flight": in_flight, "max_wait_ms": max_wait_ms}
    return pa.table({name: pa.array([value], pa.int64()) for name, value in columns.items()})


@pytest.mark.parametrize(
    ("api_key", "row", "late"),
    [
        (METADATA, request(5 * SECOND_US), False),
        (METADATA, request(5 * SECOND_US + 1), True),
        (METADATA, request(None), False),
        (METADATA, request(9 * SECOND_US, in_flight=2), False),  # it may have waited for the request before it
        (METADATA, request(9 * SECOND_US, in_flight=None), False),
        (FETCH, request(5 * SECOND_US + 500_000, max_wait_ms=500), False),  # a broker may wait so long for records
        (FETCH, request(5 * SECOND_US + 500_001, max_wait_ms=500), True),
        (PRODUCE, request(9 * SECOND_US), False),  # waits for replicas
        (JOIN_GROUP, request(60 * SECOND_US), False),  # waits for members
    ],
)
def test_late_is_five_seconds_beyond_what_the_request_allows(api_key: int, row: pa.Table, late: bool) -> None:
    assert is_late(row, np.array([api_key])).tolist() == [late]


@pytest.mark.parametrize(
    ("api_key", "latency_us", "slow"),
    [(HEARTBEAT, 499_999, False), (HEARTBEAT, 500_000, True), (HEARTBEAT, None, False), (METADATA, 600_000, False)],
)
def test_slow_is_half_a_second_of_a_coordinator(api_key: int, latency_us: int | None, slow: bool) -> None:
    assert is_slow(request(latency_us), np.array([api_key])).tolist() == [slow]
