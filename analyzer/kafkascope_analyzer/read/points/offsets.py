"""Estimates the differences between the clocks of capture points, from segments that two points have seen.

A segment that goes from point A to point B arrives after it was sent, so the difference of its times (B's time minus
A's) is an upper bound of the difference of the clocks; for a segment from B to A it is a lower bound. The smallest
upper and the largest lower bound limit the difference of the clocks: the estimate is the middle, and half of the width
is its uncertainty. The way of a segment between the points is determined for each connection: segments of the one
direction show larger differences than those of the other. SYN and SYN-ACK alone are enough; for a connection that was
open before the capture, segments with payload are used.

Where no constant fits all segments, the clocks drift. Then the straight line with the greatest distance from all bounds
is fitted, and where none fits, the middle of the bounds in each of N_PIECES spans of time. Points without a connection
in common with the reference are compared through other points; uncertainties add up.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.read.points.clock import CONSTANT, DRIFT, STEPS, PointClock
from kafkascope_analyzer.read.points.samples import Sample, joined

N_PIECES = 32
"""Number of spans of time in which bounds are searched: enough to follow a clock that was set, few enough that each has
segments in both directions."""

DRIFT_LIMIT = 1e-3
"""Drift beyond which a clock is broken: a quartz drifts by 100 parts in a million at the most."""

NEIGHBOUR_NS = 1_000_000_000
"""Largest time between two segments that are compared without a third: a clock may drift by some 20 us meanwhile."""

_SEARCH_STEPS = 80

Longs = NDArray[np.int64]


class Bounds(NamedTuple):
    """Bounds of the difference of two clocks: at (time by the first clock), int64 nanoseconds each. upper_at may differ
    from lower_at; both have one row per span of time."""

    upper_at: Longs
    upper: Longs
    lower_at: Longs
    lower: Longs


class Distance(NamedTuple):
    """How far the second of two clocks is ahead of the first, at times of the first; as in PointClock."""

    kind: str
    at_ns: Longs
    ahead_ns: Longs
    uncertainty_ns: int

    def reversed(self) -> "Distance":
        """Returns how far the first clock is ahead of the second."""
        return self._replace(at_ns=self.at_ns + self.ahead_ns, ahead_ns=-self.ahead_ns)


def estimate_clocks(names: Sequence[str], samples: Sequence[Sample]) -> list[PointClock]:
    """Returns the clock of each point. Of points that are connected by comparisons, the first is the reference."""
    distances = _all_distances(samples)
    clocks: dict[int, PointClock] = {}
    for first, name in enumerate(names):
        if first in clocks:
            continue
        clocks[first] = PointClock(name, name)
        _follow(first, names, distances, clocks)
    return [clocks[i] for i in range(len(names))]


def _follow(
    reference: int, names: Sequence[str], distances: dict[tuple[int, int], Distance], clocks: dict[int, PointClock]
) -> None:
    """Adds the clocks of all points that are connected to the reference, through the differences with the least
    uncertainty."""
    while True:
        steps = [
            (clocks[known].uncertainty_ns + distance.uncertainty_ns, known, point)
            for (known, point), distance in distances.items()
            if known in clocks and clocks[known].reference == names[reference] and point not in clocks
        ]
        if not steps:
            return
        uncertainty, known, point = min(steps)
        clocks[point] = _chained(names[point], clocks[known], distances[known, point], uncertainty)


def _chained(name: str, known: PointClock, distance: Distance, uncertainty_ns: int) -> PointClock:
    """Returns the clock of a point from its difference to a point whose clock is known."""
    at = distance.at_ns
    if len(known.at_ns) > 1:
        at = np.union1d(at, np.array(known.at_ns, np.int64))
    ahead = PointClock("", "", at_ns=tuple(distance.at_ns.tolist()), ahead_ns=tuple(distance.ahead_ns.tolist())).ahead(
        at
    )
    kinds = (CONSTANT, DRIFT, STEPS)
    kind = max(distance.kind, known.kind if known.kind in kinds else CONSTANT, key=kinds.index)
    total = ahead + known.ahead(at)
    return PointClock(name, known.reference, kind, tuple((at + ahead).tolist()), tuple(total.tolist()), uncertainty_ns)


def _all_distances(samples: Sequence[Sample]) -> dict[tuple[int, int], Distance]:
    """Returns the difference between each two points that have seen the same segments in both directions, for both
    orders."""
    point = np.concatenate([np.full(len(sample.key), i) for i, sample in enumerate(samples)])
    rows = joined(samples)
    order = np.lexsort((point, rows.key))
    rows, point = rows.only(order), point[order]
    same = np.flatnonzero(rows.key[1:] == rows.key[:-1])
    pairs = point[same] * len(samples) + point[same + 1]
    found: dict[tuple[int, int], Distance] = {}
    for pair in np.unique(pairs).tolist():
        chosen = same[pairs == pair]
        shown = rows.ts_ns[chosen + 1] - rows.ts_ns[chosen]
        bounds = _bounds(rows.only(chosen), shown)
        if bounds is not None:
            distance = _fitted(bounds)
            one, other = divmod(pair, len(samples))
            found[one, other], found[other, one] = distance, distance.reversed()
    return found


def _bounds(rows: Sample, shown: Longs) -> Bounds | None:
    """Returns the bounds of the difference from segments; None where no connection has both directions."""
    order = np.lexsort((rows.ts_ns, rows.flow))
    rows, shown = rows.only(order), shown[order]
    goes_there = _from_first_to_second(rows, shown)
    there, back = goes_there > 0, goes_there < 0
    if not (there.any() and back.any()):
        return None
    first, last = int(rows.ts_ns.min()), int(rows.ts_ns.max())
    piece = (rows.ts_ns - first) * N_PIECES // (last - first + 1)
    upper, lower = _extremes(piece, shown, there), _extremes(piece, -shown, back)
    both = np.intersect1d(piece[upper], piece[lower])
    if not len(both):  # too few segments for spans of time
        upper, lower = upper[[shown[upper].argmin()]], lower[[shown[lower].argmax()]]
    else:
        upper, lower = upper[np.isin(piece[upper], both)], lower[np.isin(piece[lower], both)]
    return Bounds(rows.ts_ns[upper], shown[upper], rows.ts_ns[lower], shown[lower])


def _from_first_to_second(rows: Sample, shown: Longs) -> Longs:
    """Returns the way of each segment: 1 from the first point to the second, -1 for the reverse, 0 where its connection
    does not show it. Segments are sorted by connection and time.

    Each segment between two of the other direction has a vote: it is compared with the line between them, so that a
    drift does not matter, and a clock that is set spoils only one vote. For connections without such a segment, two
    consecutive segments decide, such as SYN and SYN-ACK."""
    flows, which = np.unique(rows.flow, return_inverse=True)
    votes = np.zeros(len(flows), np.int64)
    turns = (rows.flow[1:] == rows.flow[:-1]) & (rows.direction[1:] != rows.direction[:-1])
    middle = np.flatnonzero(turns[1:] & turns[:-1]) + 1
    before = (rows.ts_ns[middle] - rows.ts_ns[middle - 1]).astype(np.float64)
    between = np.maximum(rows.ts_ns[middle + 1] - rows.ts_ns[middle - 1], 1)
    rise = (shown[middle + 1] - shown[middle - 1]) * (before / between)
    np.add.at(votes, which[middle], _vote((shown[middle] - shown[middle - 1]) - rise, rows.direction[middle]))
    first = np.flatnonzero(turns & (rows.ts_ns[1:] - rows.ts_ns[:-1] <= NEIGHBOUR_NS))
    first = first[~np.isin(which[first], which[middle])]
    np.add.at(votes, which[first], _vote(shown[first] - shown[first + 1], rows.direction[first]))
    sign: Longs = np.sign(votes)[which]
    towards: Longs = np.where(rows.direction == 0, sign, -sign)
    return towards


def _vote(more: NDArray[Any], direction: NDArray[np.uint8]) -> Longs:
    """Returns 1 where segments of direction 0 go from the first point to the second. more: how much larger a difference
    a segment of a direction shows than those of the other."""
    votes: Longs = np.where(direction == 0, np.sign(more), -np.sign(more)).astype(np.int64)
    return votes


def _extremes(piece: Longs, shown: Longs, chosen: NDArray[np.bool_]) -> Longs:
    """Returns the row with the smallest value of each span of time among the chosen rows."""
    rows = np.flatnonzero(chosen)
    rows = rows[np.lexsort((shown[rows], piece[rows]))]
    return rows[np.unique(piece[rows], return_index=True)[1]]


def _fitted(bounds: Bounds) -> Distance:
    """Returns the difference that the bounds allow: constant, else a line, else steps."""
    first = min(int(bounds.upper_at.min()), int(bounds.lower_at.min()))
    last = max(int(bounds.upper_at.max()), int(bounds.lower_at.max()))
    base = int(bounds.upper.min())  # the remaining values are small, and exact in floating point
    line = _Line(bounds, first, base)
    if line.margin(0.0) >= 0:
        return Distance(CONSTANT, np.array([first]), base + line.values(0.0, [0]), _up(line.margin(0.0)))
    slope = line.best_slope()
    if line.margin(slope) >= 0:
        ahead = base + line.values(slope, [0, last - first])
        return Distance(DRIFT, np.array([first, last]), ahead, _up(line.margin(slope)))
    return _steps(bounds)


def _up(value: float) -> int:
    return int(np.ceil(value))


class _Line:
    """Lines through bounds: for each slope, the one that is as far from the upper bounds as from the lower."""

    def __init__(self, bounds: Bounds, first_ns: int, base_ns: int) -> None:
        self._upper_at = (bounds.upper_at - first_ns).astype(np.float64)
        self._lower_at = (bounds.lower_at - first_ns).astype(np.float64)
        self._upper = (bounds.upper - base_ns).astype(np.float64)
        self._lower = (bounds.lower - base_ns).astype(np.float64)

    def _room(self, slope: float) -> tuple[float, float]:
        """Returns the smallest and the largest value that a line of this slope may have at the start."""
        return float((self._lower - slope * self._lower_at).max()), float((self._upper - slope * self._upper_at).min())

    def margin(self, slope: float) -> float:
        """Returns the distance of the line from the bounds; below zero where it does not fit."""
        least, largest = self._room(slope)
        return (largest - least) / 2

    def values(self, slope: float, since: list[int]) -> Longs:
        """Returns the line's values at some times since the start."""
        least, largest = self._room(slope)
        return np.round((least + largest) / 2 + slope * np.array(since, np.float64)).astype(np.int64)

    def best_slope(self) -> float:
        """Returns the slope with the largest margin, which is concave in the slope."""
        low, high = -DRIFT_LIMIT, DRIFT_LIMIT
        for _ in range(_SEARCH_STEPS):
            one, other = low + (high - low) / 3, high - (high - low) / 3
            if self.margin(one) < self.margin(other):
                low = one
            else:
                high = other
        return (low + high) / 2


def _steps(bounds: Bounds) -> Distance:
    """Returns the middle of the bounds of each span of time. Between two spans the clock may have changed
    either way."""
    at = (bounds.upper_at + bounds.lower_at) // 2
    middle = (bounds.upper + bounds.lower) // 2
    widths = np.abs(bounds.upper - bounds.lower)
    jumps = np.abs(np.diff(middle))
    return Distance(STEPS, at, middle, int(widths.max() + (jumps.max() if len(jumps) else 0)) // 2 + 1)
