"""Histograms of latencies that can be added: the number of records by latency class.

A class is named by the lowest latency that belongs to it, in microseconds. Up to 16 µs every class is 1 µs wide; above,
there are eight classes between a power of two and the next, so that a class is at most an eighth as wide as its lowest
latency. A percentile is the middle of its class: at most 6.25 % away from the true value.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

STEPS_LOG2 = 3
N_CLASSES = 36 << STEPS_LOG2
"""Number of classes: up to 2**38 µs, which are three days; longer latencies count in the last class."""
HISTOGRAM = pa.list_(pa.struct([("from_us", pa.int64()), ("n", pa.int64())]))
"""A histogram as a column: the lowest latency of each class that has records, and their number, ascending."""


@dataclass(slots=True)
class LatencyClass:
    """A class of a histogram that has records: its lowest latency, microseconds, and the number of records."""

    from_us: int
    n: int


def lowest_us(number: int) -> int:
    """Returns the lowest latency of a class by its number, microseconds."""
    if number < 2 << STEPS_LOG2:
        return number
    shift = (number >> STEPS_LOG2) - 1
    return (number - (shift << STEPS_LOG2)) << shift


def width_us(from_us: int) -> int:
    """Returns the width of the class with that lowest latency, microseconds."""
    return 1 << max(from_us.bit_length() - 1 - STEPS_LOG2, 0)


MIDDLE_SQL = f"""(case when {{from_us}} < {2 << STEPS_LOG2} then {{from_us}}
    else {{from_us}} + (1::bigint << (floor(log2({{from_us}}))::integer - {STEPS_LOG2})) // 2 end)"""
"""SQL for the middle of the class with that lowest latency, the same as in percentile_us."""


def percentile_us(counts: Mapping[int, int], share: float) -> int | None:
    """Returns the latency that this share of the records does not exceed, microseconds; None without records. counts:
    by the lowest latency of the class."""
    left = share * sum(counts.values())
    for from_us in sorted(counts):
        left -= counts[from_us]
        if left <= 0:
            return from_us + width_us(from_us) // 2
    return None


def added_up(histograms: Iterable[Iterable[LatencyClass] | None]) -> Counter[int]:
    """Returns the number of records of each class in all histograms, by its lowest latency. None is a histogram without
    records."""
    counts: Counter[int] = Counter()
    for histogram in histograms:
        for each in histogram or ():
            counts[each.from_us] += each.n
    return counts


def histogram_of(counts: Mapping[int, int]) -> tuple[LatencyClass, ...]:
    """Returns counts as a histogram, ascending."""
    return tuple(LatencyClass(from_us, counts[from_us]) for from_us in sorted(counts))
