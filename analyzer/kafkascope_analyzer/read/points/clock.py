"""How far the clock of a capture point is ahead of that of its reference point."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

REFERENCE, CONSTANT, DRIFT, STEPS = "reference", "constant", "drift", "steps"
CLOCK_KINDS = (REFERENCE, CONSTANT, DRIFT, STEPS)


@dataclass(frozen=True, slots=True)
class PointClock:
    """The clock of a capture point.

    reference: name of the point whose clock it is compared with; its own where nothing ties it to another. kind: one of
    CLOCK_KINDS: how the distance changes. at_ns: times by this clock, ascending; ahead_ns: how far it is ahead of the
    reference at each of them, with straight lines between them. uncertainty_ns: by how much that may be wrong.
    """

    point: str
    reference: str
    kind: str = REFERENCE
    at_ns: tuple[int, ...] = (0,)
    ahead_ns: tuple[int, ...] = (0,)
    uncertainty_ns: int = 0

    def ahead(self, ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far the clock is ahead at these times of its own, nanoseconds."""
        if len(self.at_ns) == 1:
            return np.full(len(ts_ns), self.ahead_ns[0], np.int64)
        since = np.array([at - self.at_ns[0] for at in self.at_ns], np.float64)  # exact, as times since 1970 are not
        more = np.array([ahead - self.ahead_ns[0] for ahead in self.ahead_ns], np.float64)
        change = np.interp((ts_ns - self.at_ns[0]).astype(np.float64), since, more)
        return self.ahead_ns[0] + np.round(change).astype(np.int64)

    def corrected(self, ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times of this clock as times of the reference."""
        return ts_ns - self.ahead(ts_ns)

    def as_json(self) -> dict[str, Any]:
        """What the manifest says of the clock."""
        return {"reference": self.reference, "kind": self.kind, "at_ns": self.at_ns, "ahead_ns": self.ahead_ns}


def clock_from_json(point: str, entry: dict[str, Any]) -> PointClock:
    """The clock that `as_json` has described."""
    return PointClock(point, entry["reference"], entry["kind"], tuple(entry["at_ns"]), tuple(entry["ahead_ns"]))
