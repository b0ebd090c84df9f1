"""`Stretches`: of many stretches of time, the one that has the longest time in common with another.

A long capture may have thousands of incidents, and as many events that may follow from them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from operator import itemgetter
from typing import Generic, TypeVar

T = TypeVar("T")

NEAR_NS = 1_000_000_000
"""What happened so shortly before or after an incident may follow from it: brokers end some connections a moment before
the first packet that shows that they are down."""


class Stretches(Generic[T]):
    """listed: first and last nanosecond of each stretch, and whose stretch it is."""

    def __init__(self, listed: Iterable[tuple[int, int, T]]) -> None:
        self._ordered = sorted(enumerate(listed), key=_start_ns)
        self._latest_ends = list(accumulate((end_ns for _, (_, end_ns, _) in self._ordered), max))

    def longest(
        self, start_ns: int, end_ns: int, is_able: Callable[[T], bool] = lambda _: True
    ) -> tuple[int, T] | None:
        """Whose stretch, of those that are able, has the longest time in common with this one, and how many nanoseconds
        that is: below zero where they are up to NEAR_NS apart. Of equally long ones the one that was listed first; None
        where no stretch is so near.
        """
        best: tuple[int, T] | None = None
        for first_ns, last_ns, whose in self._near(start_ns, end_ns):
            common_ns = min(last_ns, end_ns) - max(first_ns, start_ns)
            is_longer = best is None or common_ns > best[0]
            if common_ns >= -NEAR_NS and is_longer and is_able(whose):
                best = common_ns, whose
        return best

    def _near(self, start_ns: int, end_ns: int) -> list[tuple[int, int, T]]:
        """The stretches that begin NEAR_NS after this one or sooner, without those before the first that lasts to
        NEAR_NS before it or longer, in the order in which they were listed."""
        first = bisect_left(self._latest_ends, start_ns - NEAR_NS)
        last = bisect_right(self._ordered, end_ns + NEAR_NS, key=_start_ns)
        return [stretch for _, stretch in sorted(self._ordered[first:last], key=itemgetter(0))]


def _start_ns(placed: tuple[int, tuple[int, int, T]]) -> int:
    return placed[1][0]
