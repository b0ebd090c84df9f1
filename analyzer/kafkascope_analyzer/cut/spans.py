"""Spans of time of flows, and a lookup of the span that contains a time: sorted arrays, no step per packet.

Owners are numbers from 0: rows of connections, or flows. Both ends of a span belong to it. Nanoseconds since the epoch.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans, one per row: owner, start_ns, end_ns, all int64. Those of `merged` are disjoint, by owner and start."""

    owner: Ints
    start_ns: Ints
    end_ns: Ints

    def __len__(self) -> int:
        return len(self.owner)

    def of_owners(self, new_owner: Ints) -> "Spans":
        """Returns the same spans with owner i renumbered to new_owner[i]."""
        return merged([Spans(new_owner[self.owner], self.start_ns, self.end_ns)])


NO_SPANS = Spans(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


def spans(owner: object, start_ns: object, end_ns: object) -> Spans:
    """Returns spans from anything that makes int64 arrays of one length."""
    return Spans(np.asarray(owner, np.int64), np.asarray(start_ns, np.int64), np.asarray(end_ns, np.int64))


def merged(parts: list[Spans]) -> Spans:
    """Returns all spans, with touching ones joined and empty ones (end before start) left out."""
    owner = np.concatenate([part.owner for part in parts])
    start = np.concatenate([part.start_ns for part in parts])
    end = np.concatenate([part.end_ns for part in parts])
    order = np.lexsort((start, owner))
    order = order[end[order] >= start[order]]
    owner, start, end = owner[order], start[order], end[order]
    if not len(owner):
        return NO_SPANS
    # the latest end so far of the same owner: ranks are small enough to carry the owner in the bits above them
    ends, rank = np.unique(end, return_inverse=True)
    greatest = ends[np.maximum.accumulate(owner * len(ends) + rank) % len(ends)]
    begins = np.ones(len(owner), np.bool_)
    begins[1:] = (owner[1:] != owner[:-1]) | (start[1:] > greatest[:-1])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(owner)) - 1
    return Spans(owner[first], start[first], greatest[last])


class SpanIndex:
    """Finds the span of an owner that contains a time."""

    def __init__(self, disjoint: Spans) -> None:
        self._spans = disjoint
        self._starts = np.unique(disjoint.start_ns)
        self._keys = disjoint.owner * (len(self._starts) + 1) + np.searchsorted(self._starts, disjoint.start_ns) + 1

    def find(self, owner: Ints, ts_ns: Ints) -> Ints:
        """Returns for each (owner, time) the row of its span; -1 where there is none. An owner of -1 has none."""
        if not len(self._spans):
            return np.full(len(owner), -1, np.int64)
        keys = owner * (len(self._starts) + 1) + np.searchsorted(self._starts, ts_ns, side="right")
        row = np.searchsorted(self._keys, keys, side="right") - 1
        at = np.maximum(row, 0)
        inside = (row >= 0) & (self._spans.owner[at] == owner) & (ts_ns <= self._spans.end_ns[at])
        return np.where(inside, at, -1)

    @property
    def bounds(self) -> tuple[int, int]:
        """The first start and the last end; an empty span where there are none."""
        if not len(self._spans):
            return 0, -1
        return int(self._spans.start_ns.min()), int(self._spans.end_ns.max())
