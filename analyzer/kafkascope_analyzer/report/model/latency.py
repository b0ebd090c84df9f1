"""Percentiles of a stream of latencies in bounded memory, the same whatever the order they come in.

A histogram with 128 steps for each doubling: a percentile is the lower edge of its step, at most 0.8 % below the true
value. (A t-digest would be smaller, but what it says depends on the order of its input.)
"""

import numpy as np
from numpy.typing import NDArray

STEPS_LOG2 = 7
_STEPS = 1 << STEPS_LOG2
N_BUCKETS = (64 - STEPS_LOG2) << STEPS_LOG2
"""Buckets that hold every non-negative int64."""


def bucket_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bucket of each non-negative value, int64; negative ones (a clock that went back) count as 0."""
    values = np.maximum(values, 0)
    _, exponent = np.frexp(values.astype(np.float64))
    shift = np.maximum(exponent.astype(np.int64) - 1 - STEPS_LOG2, 0)
    return (shift << STEPS_LOG2) + (values >> shift)


def lower_edge(bucket: int) -> int:
    """The smallest value in the bucket."""
    if bucket < 2 * _STEPS:
        return bucket
    shift = (bucket >> STEPS_LOG2) - 1
    return (bucket - (shift << STEPS_LOG2)) << shift


class Histogram:
    """Counts of latencies, in microseconds."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.n = 0
        self.max_us: int | None = None

    def add(self, latencies_us: NDArray[np.int64]) -> None:
        """Takes in latencies, int64 microseconds."""
        if not len(latencies_us):
            return
        buckets, counts = np.unique(bucket_of(latencies_us), return_counts=True)
        for bucket, n in zip(buckets.tolist(), counts.tolist(), strict=True):
            self._counts[bucket] = self._counts.get(bucket, 0) + n
        self.n += len(latencies_us)
        self.max_us = max(self.max_us or 0, int(latencies_us.max()))

    def percentile(self, share: float) -> int | None:
        """The latency that this share of all does not exceed, microseconds; None without any."""
        left = share * self.n
        for bucket in sorted(self._counts):
            left -= self._counts[bucket]
            if left <= 0:
                return lower_edge(bucket)
        return None
