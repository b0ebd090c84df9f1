"""Samples of correlation ids, against the rule written out in plain Python over all requests at once."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.resolve.connections.correlation_samples import CorrelationSamples, TextCodes

SECOND = 10**9
RESERVED = 0x7FFFFFF8


def expected(requests):
    """requests: (connection, client id, number, time, correlation id)."""
    kept = defaultdict(list)
    seconds = defaultdict(list)
    for conn, client, number, ts_ns, correlation_id in requests:
        if correlation_id >= RESERVED:
            continue
        if number < 64:
            kept[conn, client].append((ts_ns, correlation_id))
        else:
            seconds[conn, client, ts_ns // SECOND].append((number, ts_ns, correlation_id))
    for (conn, client, _), later in seconds.items():
        kept[conn, client].append((min(ts for _, ts, _ in later), min(later)[2]))
    found = []
    for (conn, _), samples in kept.items():
        samples.sort()
        worth = [
            sample
            for i, sample in enumerate(samples)
            if i < 64
            or sample[0] - samples[0][0] < 600 * SECOND
            or sample[0] // (60 * SECOND) != samples[i - 1][0] // (60 * SECOND)
        ]
        found.append((conn, [ts for ts, _ in worth], [correlation_id for _, correlation_id in worth]))
    return sorted(found)


@settings(max_examples=30)
@given(st.data())
def test_the_samples_are_those_of_the_rule_whatever_the_batches(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    numbers, requests, now = defaultdict(int), [], 0
    step = data.draw(st.sampled_from([SECOND // 50, SECOND, 20 * SECOND]))
    for _ in range(data.draw(st.integers(0, 600))):
        now += int(rng.integers(0, 2 * step))
        conn = int(rng.integers(0, 2))
        number = numbers[conn]
        numbers[conn] += 1
        correlation_id = RESERVED + number % 8 if number < 3 or rng.random() < 0.01 else number
        requests.append((conn, f"client-{conn}", number, now, correlation_id))
    samples, codes = CorrelationSamples(2), TextCodes()
    size = data.draw(st.integers(1, 200))
    for at in range(0, len(requests), size):
        columns = zip(*requests[at : at + size], strict=True)
        conn, client, number, ts_ns, correlation_id = (list(column) for column in columns)
        rows = pa.table({"conn": conn, "ts_ns": ts_ns, "correlation_id": pa.array(correlation_id, pa.int32())})
        samples.add(rows, np.array(number, np.int64), codes.of(pa.chunked_array([client])))
    conn, times, ids = samples.lists()
    assert sorted(zip(conn.tolist(), times.to_pylist(), ids.to_pylist(), strict=True)) == expected(requests)
