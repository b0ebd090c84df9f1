"""Chooses the segments of a capture point by which clocks are compared.

Two points have to choose the same segments without knowing of each other, so a hash of the segment decides (trajectory
sampling, RFC 5475): direction, sequence number, and whether it is a SYN. Only SYNs and segments with payload are
chosen; the length does not count, because network cards divide and join segments, and their first byte stays. Where
there are more than the limit, those stay whose hash has one more zero bit.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.link.segments import Segments
from kafkascope_parsers.tcp.flows import Ends, flow_hashes
from kafkascope_parsers.tcp.state import RST, SYN

_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SYN_BIT = 32


class Sample(NamedTuple):
    """Segments: uint64 key, uint64 flow hash, uint8 direction, int64 time by the point's clock."""

    key: NDArray[np.uint64]
    flow: NDArray[np.uint64]
    direction: NDArray[np.uint8]
    ts_ns: NDArray[np.int64]

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Sample":
        """Returns the chosen segments."""
        return Sample(self.key[chosen], self.flow[chosen], self.direction[chosen], self.ts_ns[chosen])


def joined(samples: Sequence[Sample]) -> Sample:
    """Concatenates samples."""
    return Sample(
        np.concatenate([each.key for each in samples]),
        np.concatenate([each.flow for each in samples]),
        np.concatenate([each.direction for each in samples]),
        np.concatenate([each.ts_ns for each in samples]),
    )


def ends_of(s: Segments) -> Ends:
    """Returns the endpoints of segments."""
    return Ends(s.source, s.destination, s.source_port, s.destination_port)


def hashed(flow: NDArray[np.uint64], direction: NDArray[np.uint8], *numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns a 64-bit hash of rows of numbers (the finalizer of splitmix64 over each)."""
    x = flow + direction.astype(np.uint64)
    for number in numbers:
        x = (x ^ (x >> np.uint64(30)) ^ number) * _FACTORS[0]
        x = (x ^ (x >> np.uint64(27))) * _FACTORS[1]
    return x ^ (x >> np.uint64(31))


class SegmentSampler:
    """Chooses segments of one capture point. Memory: `limit` rows of 25 bytes, and the additions of one block."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._n_bits = 0
        nothing = np.empty(0, np.uint64)
        self._chosen = Sample(nothing, nothing, nothing.astype(np.uint8), nothing.astype(np.int64))

    def take(self, s: Segments) -> None:
        """Takes the segments of a block."""
        is_syn = s.flags & SYN != 0
        rows = np.flatnonzero((is_syn | (s.length > 0)) & (s.flags & RST == 0))
        flow, direction = flow_hashes(ends_of(s))
        flow, direction = flow[rows], direction[rows]
        what = s.seq[rows].astype(np.uint64) | is_syn[rows].astype(np.uint64) << np.uint64(_SYN_BIT)
        fresh = self._thinned(Sample(hashed(flow, direction, what), flow, direction, s.ts_ns[rows]))
        self._chosen = joined([self._chosen, fresh])
        while len(self._chosen.key) > self._limit:
            self._n_bits += 1
            self._chosen = self._thinned(self._chosen)

    def sample(self) -> Sample:
        """Returns the chosen segments, without those that the point has seen more than once."""
        _, first, times = np.unique(self._chosen.key, return_index=True, return_counts=True)
        return self._chosen.only(first[times == 1])

    def _thinned(self, rows: Sample) -> Sample:
        every = np.uint64((1 << self._n_bits) - 1)
        return rows.only(rows.key & every == 0)
