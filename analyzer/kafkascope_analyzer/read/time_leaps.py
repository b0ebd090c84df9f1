"""Leaps in the times of a file's packets: the clock was set while the file was recorded, or its times are wrong. The
real time across a leap is not known.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

LEAP_NS = 30 * 86_400 * 10**9
"""Shortest leap: a month without packets in a file cannot be real, because clients refresh their metadata every few
minutes, and brokers close connections that are idle for ten."""
Spans = tuple[tuple[int, int], ...]
"""First and last time of each part of a file without a leap, sorted, LEAP_NS or more apart. At most some 1,600 fit into
the possible times of packets."""


def spans_of(ts_ns: NDArray[np.int64], first: int, last: int) -> Spans:
    """Returns the spans of times with a known first and last: one, where they are close to each other."""
    if last - first < LEAP_NS:
        return ((first, last),)
    ordered = np.sort(ts_ns)
    leaps = np.flatnonzero(np.diff(ordered) >= LEAP_NS)
    begins, ends = np.append(0, leaps + 1), np.append(leaps, len(ordered) - 1)
    return tuple(zip(ordered[begins].tolist(), ordered[ends].tolist(), strict=True))


def joined_spans(spans: Iterable[tuple[int, int]]) -> Spans:
    """Returns the spans of several parts of a file, as spans of the whole file."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first - joined[-1][1] < LEAP_NS:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def count_leaps(ts_ns: NDArray[np.int64], first: int, last: int, before_ns: int | None) -> int:
    """Returns how often the time goes forward or back by LEAP_NS or more from one packet to the next. first, last:
    smallest and greatest time; before_ns: time of the packet before these."""
    earlier = ts_ns[0] if before_ns is None else before_ns
    if max(last, earlier) - min(first, earlier) < LEAP_NS:
        return 0
    return int(np.count_nonzero(np.abs(np.diff(ts_ns, prepend=earlier)) >= LEAP_NS))
