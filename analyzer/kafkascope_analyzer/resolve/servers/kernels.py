"""Kernels over retransmitted packets, waits, and time slices."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel


@kernel
def mark_unreported(
    direction: NDArray[np.int64], is_report: NDArray[np.bool_], waiting: NDArray[np.int64], lost: NDArray[np.bool_]
) -> None:
    """Marks in `lost` the retransmitted packets that the receiver has not reported as duplicates. Rows are sorted by
    direction and time; each report is about the last packet before it that is not reported yet. waiting: work space,
    one number for each row."""
    n = 0
    for i in range(len(direction)):
        if i > 0 and direction[i] != direction[i - 1]:
            n = 0
        lost[i] = not is_report[i]
        if lost[i]:
            waiting[n] = i
            n += 1
        elif n > 0:
            n -= 1
            lost[waiting[n]] = False


@kernel
def mark_times(
    subject: NDArray[np.int64],
    from_ns: NDArray[np.int64],
    to_ns: NDArray[np.int64],
    apart_ns: int,
    begins: NDArray[np.bool_],
    in_turn: NDArray[np.bool_],
) -> None:
    """Marks in `begins` the first row of each span: the first of its subject, or after a pause of more than apart_ns;
    and in `in_turn` the rows that begin after the previous row marked so in their span has ended. Rows are sorted by
    subject and from_ns."""
    until, turn_ends = np.int64(0), np.int64(0)
    for i in range(len(subject)):
        begins[i] = i == 0 or subject[i] != subject[i - 1] or from_ns[i] > until + apart_ns
        if begins[i]:
            until, turn_ends = from_ns[i], from_ns[i]
        if from_ns[i] >= turn_ends:
            in_turn[i] = True
            turn_ends = to_ns[i]
        until = max(until, to_ns[i])


@kernel
def slow_stretches(own: NDArray[np.float64], limits: tuple[float, float, float], found: NDArray[np.int64]) -> int:
    """Writes the spans of slices in which a process was slow: process, first and last slice. Returns their number.

    own[process, slice]: doublings above the usual, NaN where they are not known. limits: doublings that are usual, the
    most that count in a slice, and the sum that those of a span have to reach. A span ends with the slice at which the
    sum is highest; it continues over quick slices as long as they do not reduce the sum by a third.
    """
    usual, most, least = limits
    n = 0
    for process in range(own.shape[0]):
        total, best, first, last = 0.0, 0.0, 0, 0
        for at in range(own.shape[1] + 1):
            value = own[process, at] if at < own.shape[1] else -np.inf
            if value != value:
                continue
            if total <= 0.0:
                total, best, first = 0.0, 0.0, at
            total += min(value, most) - usual
            if total > best:
                best, last = total, at
            if total <= 0.0 or total < best - max(best, least) / 3.0:
                if best >= least:
                    found[n, 0], found[n, 1], found[n, 2] = process, first, last
                    n += 1
                total = 0.0
    return n
