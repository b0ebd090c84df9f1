"""`Stretches`: many spans of time, with a fast search for those that another span meets.

A long capture may have thousands of incidents, and as many events that may be their consequences. The spans are sorted
by their starts, as leaves of a binary tree whose nodes have the latest end and the greatest length of the spans below
them: branches without a match are skipped, so that each span of a result takes logarithmic time.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from heapq import heappop, heappush
from operator import itemgetter
from typing import Generic, TypeVar

T = TypeVar("T")

NEAR_NS = 1_000_000_000
"""An event this shortly before or after an incident may be its consequence: brokers end some connections a moment
before the first packet that shows that they are down."""
FOREVER = 1 << 62
"""Later than any time in nanoseconds."""


class Stretches(Generic[T]):
    """Spans of time, each with its owner. listed: first and last nanosecond, FOREVER where it has no end, and the
    owner."""

    def __init__(self, listed: Iterable[tuple[int, int, T]]) -> None:
        self._ordered = sorted(enumerate(listed), key=lambda placed: placed[1][0])
        self._starts = [start_ns for _, (start_ns, _, _) in self._ordered]
        self._n_leaves = 1 << max(len(self._ordered) - 1, 0).bit_length()
        self._latest_end = self._tree([end_ns for _, (_, end_ns, _) in self._ordered], max, -FOREVER)
        """By node: the latest end below it. Node 1 is the root, nodes 2 n and 2 n + 1 are below node n, and the leaves
        come last, in order of their starts."""

    def _tree(self, leaves: list[int], best: Callable[[int, int], int], missing: int) -> list[int]:
        tree = [missing] * self._n_leaves + leaves + [missing] * (self._n_leaves - len(leaves))
        for node in range(self._n_leaves - 1, 0, -1):
            tree[node] = best(tree[2 * node], tree[2 * node + 1])
        return tree

    @cached_property
    def _longest(self) -> list[int]:
        """By node: the length of the longest span below it."""
        return self._tree([end_ns - start_ns for _, (start_ns, end_ns, _) in self._ordered], max, -FOREVER)

    @cached_property
    def _first_place(self) -> list[int]:
        """By node: the index in `listed` of the span below it that was listed first."""
        return self._tree([place for place, _ in self._ordered], min, len(self._ordered))

    def cover(self, ts_ns: int) -> bool:
        """Whether a time is in one of the spans."""
        return self.meet(ts_ns, ts_ns)

    def overlap(self, start_ns: int, end_ns: int) -> bool:
        """Whether one of the spans begins before the end of this one, and ends after its start."""
        return self.meet(start_ns + 1, end_ns - 1)

    def meet(self, start_ns: int, end_ns: int) -> bool:
        """Whether one of the spans begins at end_ns or before, and ends at start_ns or later."""
        return next(self._meeting(start_ns, end_ns), None) is not None

    def meeting(self, start_ns: int, end_ns: int) -> Iterator[T]:
        """Yields the owners of the spans that begin at end_ns or before and end at start_ns or later, in the order in
        which they were listed."""
        found = sorted((self._ordered[at] for at in self._meeting(start_ns, end_ns)), key=itemgetter(0))
        return (whose for _, (_, _, whose) in found)

    def first(self, start_ns: int, end_ns: int) -> T | None:
        """Returns the first listed owner of a span that meets this time; None where there is none."""
        queue = [(0, 1)]
        while queue:
            _, node = heappop(queue)
            first = self._first_leaf(node)
            if self._latest_end[node] < start_ns or first >= len(self._starts) or self._starts[first] > end_ns:
                continue
            if node >= self._n_leaves:
                return self._ordered[first][1][2]
            for below in (2 * node, 2 * node + 1):
                heappush(queue, (self._first_place[below], below))
        return None

    def latest(self, start_ns: int, end_ns: int) -> Iterator[T]:
        """Yields the owners of the spans that meet this time, latest beginning first; for equal beginnings in the order
        in which they were listed."""
        at_once: list[int] = []
        for at in self._meeting(start_ns, end_ns):
            if at_once and self._starts[at] != self._starts[at_once[-1]]:
                yield from (self._ordered[each][1][2] for each in reversed(at_once))
                at_once.clear()
            at_once.append(at)
        yield from (self._ordered[each][1][2] for each in reversed(at_once))

    def after(self, ts_ns: int) -> Iterator[tuple[int, T]]:
        """Yields the beginnings of the spans that begin later, each with its owner, in order of time."""
        for at in range(bisect_right(self._starts, ts_ns), len(self._ordered)):
            yield self._starts[at], self._ordered[at][1][2]

    def longest(
        self,
        start_ns: int,
        end_ns: int,
        is_able: Callable[[T], bool] = lambda _: True,
        begun_by_ns: int = FOREVER,
    ) -> tuple[int, T] | None:
        """Returns the owner of the span with the longest overlap with this one, of those that are able and begin at
        begun_by_ns or before, and the length of the overlap in nanoseconds: negative where they are up to NEAR_NS
        apart. Of equally long ones the first listed; None where no span is that near.

        Branches that may hold the longest are searched first, so that the others can be skipped.
        """
        queue: list[tuple[int, int, int]] = []
        nodes = [1]
        while True:
            for node in nodes:
                common_ns = self._most_in_common(node, start_ns, end_ns, begun_by_ns)
                if common_ns >= -NEAR_NS:
                    heappush(queue, (-common_ns, self._first_place[node], node))
            if not queue:
                return None
            shorter, _, node = heappop(queue)
            nodes = [2 * node, 2 * node + 1] if node < self._n_leaves else []
            if not nodes and is_able(whose := self._ordered[node - self._n_leaves][1][2]):
                return -shorter, whose

    def _most_in_common(self, node: int, start_ns: int, end_ns: int, begun_by_ns: int) -> int:
        """Returns the longest overlap that a span below a node may have with this one; for a leaf, its overlap."""
        first = self._first_leaf(node)
        if first >= len(self._starts) or self._starts[first] > begun_by_ns:
            return -FOREVER
        common_ns = min(self._latest_end[node], end_ns) - max(self._starts[first], start_ns)
        return min(common_ns, max(self._longest[node], 0))

    def _first_leaf(self, node: int) -> int:
        """Returns the number of the first leaf below a node."""
        return (node << (self._n_leaves.bit_length() - node.bit_length())) - self._n_leaves

    def _meeting(self, start_ns: int, end_ns: int) -> Iterator[int]:
        """Yields the leaves of the spans that begin at end_ns or before and end at start_ns or later, the
        last first."""
        n_begun = bisect_right(self._starts, end_ns)
        nodes = [1]
        while nodes:
            node = nodes.pop()
            if self._latest_end[node] < start_ns or self._first_leaf(node) >= n_begun:
                continue
            if node >= self._n_leaves:
                yield node - self._n_leaves
            else:
                nodes += (2 * node, 2 * node + 1)
