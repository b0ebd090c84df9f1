"""`Stretches`: many stretches of time, which say at once which of them another one meets.

A long capture may have thousands of incidents, and as many events that may follow from them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from operator import itemgetter
from typing import Generic, TypeVar

T = TypeVar("T")

NEAR_NS = 1_000_000_000
"""What happened so shortly before or after an incident may follow from it: brokers end some connections a moment before
the first packet that shows that they are down."""
FOREVER = 1 << 62
"""Later than any time in nanoseconds."""


class Stretches(Generic[T]):
    """Stretches of time, each with its owner. listed: first and last nanosecond, FOREVER where it has no end, and the
    owner."""

    def __init__(self, listed: Iterable[tuple[int, int, T]]) -> None:
        self._ordered = sorted(enumerate(listed), key=lambda placed: placed[1][0])
        self._starts = [start_ns for _, (start_ns, _, _) in self._ordered]
        self._latest_ends = list(accumulate((end_ns for _, (_, end_ns, _) in self._ordered), max))
        """The latest end among each stretch and those that begin before it."""

    def cover(self, ts_ns: int) -> bool:
        """Whether a time is in one of them."""
        return self.meet(ts_ns, ts_ns)

    def overlap(self, start_ns: int, end_ns: int) -> bool:
        """Whether one of them begins before the end of this stretch, and lasts longer than to its start."""
        return self.meet(start_ns + 1, end_ns - 1)

    def meet(self, start_ns: int, end_ns: int) -> bool:
        """Whether one of them begins at end_ns or before, and lasts to start_ns or longer."""
        n_begun = bisect_right(self._starts, end_ns)
        return n_begun > 0 and self._latest_ends[n_begun - 1] >= start_ns

    def meeting(self, start_ns: int, end_ns: int) -> Iterator[T]:
        """The owners of the stretches that begin at end_ns or before and last to start_ns or longer, in the order in
        which they were listed."""
        return (whose for _, _, whose in self._meeting(start_ns, end_ns))

    def longest(
        self, start_ns: int, end_ns: int, is_able: Callable[[T], bool] = lambda _: True
    ) -> tuple[int, T] | None:
        """Whose stretch, of those that are able, has the longest time in common with this one, and how many nanoseconds
        that is: below zero where they are up to NEAR_NS apart. Of equally long ones the one that was listed first; None
        where no stretch is so near.
        """
        best: tuple[int, T] | None = None
        for first_ns, last_ns, whose in self._meeting(start_ns - NEAR_NS, end_ns + NEAR_NS):
            common_ns = min(last_ns, end_ns) - max(first_ns, start_ns)
            is_longer = best is None or common_ns > best[0]
            if is_longer and is_able(whose):
                best = common_ns, whose
        return best

    def _meeting(self, start_ns: int, end_ns: int) -> list[tuple[int, int, T]]:
        begun = self._ordered[bisect_left(self._latest_ends, start_ns) : bisect_right(self._starts, end_ns)]
        return [stretch for _, stretch in sorted(begun, key=itemgetter(0)) if stretch[1] >= start_ns]
