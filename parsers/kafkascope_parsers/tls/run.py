"""A run of TCP's streams, as records are read from it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.tls.record_cipher import HEADER_BYTES


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """data, view: bytes of the block; start, end: places of the run's in it; offset: of its first byte in TCP's stream;
    gap_kind: GAP_*, before the run; is_last: whether no byte will follow at its end; then end_reason has the reason.
    """

    data: NDArray[np.uint8]
    view: memoryview
    start: int
    end: int
    offset: int
    gap_kind: int
    is_last: bool
    end_reason: str

    def offset_of(self, at: int) -> int:
        """The offset of a place in TCP's stream."""
        return self.offset + at - self.start

    def end_of(self, at: int) -> int | None:
        """The place after the record whose header is at `at`; None if the header is not whole."""
        if self.end - at < HEADER_BYTES:
            return None
        return at + HEADER_BYTES + (self.view[at + 3] << 8 | self.view[at + 4])

    def record(self, at: int) -> memoryview | None:
        """The record whose header is at `at`; None if it is not whole."""
        after = self.end_of(at)
        return None if after is None or after > self.end else self.view[at:after]
