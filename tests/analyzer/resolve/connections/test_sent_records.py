"""Records sent in spans of time, against counting them one by one."""

import numpy as np

from kafkascope_analyzer.resolve.connections.sent_records import SentRecords

S = 1_000_000_000


def test_spans_that_overlap_count_what_lies_in_each() -> None:
    rng = np.random.default_rng(7)
    start = 1_795_000_000 * S
    conn, first = rng.integers(0, 5, 60), start + rng.integers(0, 90_000, 60) * 1_000_000
    last = first + rng.integers(0, 20_000, 60) * 1_000_000
    sent = SentRecords(conn, first, last)
    requests = np.stack([rng.integers(0, 6, 900), start + rng.integers(-5_000, 120_000, 900) * 1_000_000])
    n = rng.integers(0, 9, 900)
    for some in np.array_split(np.arange(900), 4):
        sent.take(requests[0, some], requests[1, some], n[some])
    inside = (requests[0] == conn[:, None]) & (first[:, None] <= requests[1]) & (requests[1] < last[:, None])
    assert sent.counts().to_pylist() == (inside * n).sum(1).tolist()


def test_no_spans_count_nothing() -> None:
    nothing = np.empty(0, np.int64)
    sent = SentRecords(nothing, nothing, nothing)
    sent.take(np.array([1]), np.array([S]), np.array([3]))
    assert sent.counts().to_pylist() == []
