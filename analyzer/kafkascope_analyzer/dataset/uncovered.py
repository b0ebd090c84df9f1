"""`Uncovered`: times between the first and the last packet of a capture that no file covers.

A file of a rotated series is missing, the capturing program was not running, or the clock was set. Nothing is known
about such a time: a wait or request that was open at its beginning may have ended in it. Code that follows something
over time uses this class to find where it has to stop.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Uncovered:
    """times: begin and end of each, the last packet before it and the first after it, nanoseconds since the epoch;
    sorted, without overlaps."""

    times: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, times: Iterable[Sequence[int]]) -> "Uncovered":
        """Returns the times from pairs of numbers, as a manifest has them."""
        return cls(tuple(sorted((int(begin), int(end)) for begin, end in times)))

    def __bool__(self) -> bool:
        """Whether there is any such time."""
        return bool(self.times)

    def goes_on(self, before: tuple[tuple[int, int], ...], last_ns: int) -> bool:
        """Whether nothing has changed until last_ns since these were the times: later ones may have been added."""
        added = self.times[len(before) :]
        return self.times[: len(before)] == before and all(end > last_ns for _, end in added)

    def first_in(self, from_ns: int, to_ns: int) -> int | None:
        """Returns the beginning of the first one between two times; None where there is none."""
        return next((begin for begin, end in self.times if from_ns <= begin and end <= to_ns), None)

    def lie_in(self, from_ns: "NDArray[np.int64]", to_ns: "NDArray[np.int64]") -> "NDArray[np.bool_]":
        """Whether there is one between each two times."""
        import numpy as np

        if not self.times:
            return np.zeros(len(from_ns), np.bool_)
        begins, ends = (np.array(edge, np.int64) for edge in zip(*self.times, strict=True))
        at = np.searchsorted(begins, from_ns)
        return np.asarray((at < len(begins)) & (ends[np.minimum(at, len(ends) - 1)] <= to_ns), np.bool_)

    def covered(self, capture_ns: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        """Returns the times that are covered, in order. capture_ns: first and last packet of the capture."""
        begins = [capture_ns[0], *(end for _, end in self.times)]
        ends = [*(begin for begin, _ in self.times), capture_ns[1]]
        return tuple(zip(begins, ends, strict=True))


NOTHING_UNCOVERED = Uncovered()
"""For a capture whose files cover all of its time."""
