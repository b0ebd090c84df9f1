"""Network times of segments between capture points, for each connection and direction.

The differences between the times of both views are counted in classes: the sign, the exponent and the first five bits
of the nanoseconds, so that the middle of a class is at most 3 % away from any value in it. Only classes that occur take
memory, some ten for each direction of a connection that two points have seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MANTISSA_BITS, _CLASS_BITS, _POINT_BITS = 5, 12, 10
_SIGN = 1 << (_CLASS_BITS - 1)

Longs = NDArray[np.int64]

NETWORK_TIMES = pa.schema(
    [
        ("flow", pa.uint64()),
        ("first_ns", pa.int64()),
        ("capture_points", pa.list_(pa.string())),
        ("n_both", pa.int64()),
        ("up_p50_ns", pa.int64()),
        ("up_p99_ns", pa.int64()),
        ("down_p50_ns", pa.int64()),
        ("down_p99_ns", pa.int64()),
    ]
)
"""One row per connection: the hash of its endpoints, its first segment, the points that have seen it (where two have
measured it, the first is the one nearer to the endpoint with the smaller hash), how many segments two points have seen,
and their time from point to point: up is from the endpoint with the smaller hash to the other, down the reverse."""


def class_of(distance_ns: Longs) -> Longs:
    """Returns the class of each difference, a number of _CLASS_BITS bits."""
    size = np.abs(distance_ns)
    exponent = np.maximum(np.frexp(size.astype(np.float64))[1].astype(np.int64) - _MANTISSA_BITS, 0)
    number: Longs = np.where(distance_ns < 0, _SIGN, 0) | exponent << _MANTISSA_BITS | size >> exponent
    return number


def middle_of(number: Longs) -> Longs:
    """Returns the difference in the middle of each class, nanoseconds."""
    size = number & (_SIGN - 1)
    exponent = size >> _MANTISSA_BITS
    middle = ((size & ((1 << _MANTISSA_BITS) - 1)) << exponent) + np.where(exponent > 0, (1 << exponent) >> 1, 0)
    return np.where(number & _SIGN, -middle, middle)


@dataclass(slots=True)
class Distances:
    """Counts by key: connection, point, direction, class."""

    key: Longs
    n: Longs

    def plus(self, other: "Distances") -> "Distances":
        """Returns the sum of both."""
        key, which = np.unique(np.concatenate([self.key, other.key]), return_inverse=True)
        n = np.zeros(len(key), np.int64)
        np.add.at(n, which, np.concatenate([self.n, other.n]))
        return Distances(key, n)


def _none() -> Distances:
    return Distances(np.empty(0, np.int64), np.empty(0, np.int64))


class NetworkTimes:
    """Counts the time differences of copies."""

    def __init__(self) -> None:
        self._total, self._fresh = _none(), _none()

    def take(self, connection: Longs, point: Longs, direction: Longs, distance_ns: Longs) -> None:
        """Takes copies: the connection, the point that has seen the copy, the direction, and the time of the copy minus
        that of the segment, nanoseconds."""
        key = ((connection << _POINT_BITS | point) << 1 | direction) << _CLASS_BITS | class_of(distance_ns)
        self._fresh = self._fresh.plus(Distances(key, np.ones(len(key), np.int64)))
        if len(self._fresh.key) >= len(self._total.key):  # so that adding stays cheap as counts grow
            self._total, self._fresh = self._total.plus(self._fresh), _none()

    def table(self, flows: NDArray[np.void], names: Sequence[str]) -> pa.Table:
        """Returns NETWORK_TIMES. flows: FLOW_ROW by connection; names: names of the points."""
        total = self._total.plus(self._fresh)
        series, which = np.unique(total.key >> _CLASS_BITS, return_inverse=True)
        value = middle_of(total.key & ((1 << _CLASS_BITS) - 1))
        order = np.lexsort((value, which))
        p50 = _percentile(which[order], value[order], total.n[order], (len(series), 0.50))
        p99 = _percentile(which[order], value[order], total.n[order], (len(series), 0.99))
        p01 = _percentile(which[order], value[order], total.n[order], (len(series), 0.01))
        n = np.bincount(which, total.n, len(series)).astype(np.int64)
        rows = _Measured(series, n, p50, p01, p99).rows(flows, names)
        return pa.Table.from_pylist(rows, NETWORK_TIMES)


def _percentile(which: Longs, value: Longs, n: Longs, wanted: tuple[int, float]) -> Longs:
    """Returns the value that a share of each series does not exceed. Rows are sorted by series and value; wanted: the
    number of series, and the share."""
    n_series, share = wanted
    ends = np.cumsum(n)
    before = np.concatenate([[0], ends])[np.searchsorted(which, np.arange(n_series))]
    total = np.bincount(which, n, n_series).astype(np.int64)
    rank = before + np.maximum(np.ceil(share * total).astype(np.int64), 1)
    wanted_value: Longs = value[np.searchsorted(ends, rank)]
    return wanted_value


@dataclass(frozen=True, slots=True)
class _Measured:
    """By series (connection, point, direction): number of copies, and percentiles of their differences."""

    series: Longs
    n: Longs
    p50: Longs
    p01: Longs
    p99: Longs

    def rows(self, flows: NDArray[np.void], names: Sequence[str]) -> list[dict[str, object]]:
        """Returns rows of NETWORK_TIMES."""
        by_connection: dict[int, dict[tuple[int, int], int]] = {}
        for at, series in enumerate(self.series.tolist()):
            connection, point, direction = series >> (_POINT_BITS + 1), series >> 1 & 1023, series & 1
            by_connection.setdefault(connection, {})[point, direction] = at
        return [self._row(flows[i], by_connection.get(i, {}), names) for i in range(len(flows))]

    def _row(self, flow: np.void, found: dict[tuple[int, int], int], names: Sequence[str]) -> dict[str, object]:
        """Returns the row of a connection. found: its series by point and direction. Of several points, the one that is
        furthest from the connection's first point counts."""
        views = flow["views"][: flow["n_views"]].tolist()
        row: dict[str, object] = {"flow": int(flow["flow"]), "first_ns": int(flow["first_ns"]), "n_both": 0}
        row["capture_points"] = [names[view] for view in sorted(views)]
        both = {point for point, _ in found if (point, 0) in found and (point, 1) in found}
        if not both:
            return row
        home = int(flow["home"])
        point = max(both, key=lambda p: (abs(int(self.p50[found[p, 0]]) - int(self.p50[found[p, 1]])), -p))
        up, down = found[point, 0], found[point, 1]
        goes_up = self.p50[up] >= self.p50[down]  # the first point is nearer to the endpoint with the lesser hash
        ends = [home, point] if goes_up else [point, home]
        row["capture_points"] = [names[ends[0]], *(names[v] for v in sorted(views) if v not in ends), names[ends[1]]]
        row["n_both"] = int(self.n[up] + self.n[down])
        later, sooner = (up, down) if goes_up else (down, up)
        name_later, name_sooner = ("up", "down") if goes_up else ("down", "up")
        row |= {f"{name_later}_p50_ns": int(self.p50[later]), f"{name_later}_p99_ns": int(self.p99[later])}
        row |= {f"{name_sooner}_p50_ns": -int(self.p50[sooner]), f"{name_sooner}_p99_ns": -int(self.p01[sooner])}
        return row
