"""The difference between the clock of a capture point and that of its reference point."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

REFERENCE, CONSTANT, DRIFT, STEPS = "reference", "constant", "drift", "steps"
CLOCK_KINDS = (REFERENCE, CONSTANT, DRIFT, STEPS)


@dataclass(frozen=True, slots=True)
class PointClock:
    """The clock of a capture point.

    reference: name of the point with whose clock it is compared; its own name where it has no connection in common with
    another point. kind: one of CLOCK_KINDS: how the difference changes. at_ns: times by this clock, ascending;
    ahead_ns: how far it is ahead of the reference at each of them, with straight lines between them. uncertainty_ns:
    possible error of that.
    """

    point: str
    reference: str
    kind: str = REFERENCE
    at_ns: tuple[int, ...] = (0,)
    ahead_ns: tuple[int, ...] = (0,)
    uncertainty_ns: int = 0

    def ahead(self, ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns how far the clock is ahead at these times of its own, nanoseconds."""
        if len(self.at_ns) == 1:
            return np.full(len(ts_ns), self.ahead_ns[0], np.int64)
        since = np.array([at - self.at_ns[0] for at in self.at_ns], np.float64)  # small enough to be exact
        more = np.array([ahead - self.ahead_ns[0] for ahead in self.ahead_ns], np.float64)
        change = np.interp((ts_ns - self.at_ns[0]).astype(np.float64), since, more)
        return self.ahead_ns[0] + np.round(change).astype(np.int64)

    def corrected(self, ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns times of this clock as times of the reference."""
        return ts_ns - self.ahead(ts_ns)

    def as_json(self) -> dict[str, Any]:
        """Returns the manifest's entry about the clock."""
        return {"reference": self.reference, "kind": self.kind, "at_ns": self.at_ns, "ahead_ns": self.ahead_ns}


def clock_from_json(point: str, entry: dict[str, Any]) -> PointClock:
    """Returns the clock from the result of `as_json`."""
    return PointClock(point, entry["reference"], entry["kind"], tuple(entry["at_ns"]), tuple(entry["ahead_ns"]))
