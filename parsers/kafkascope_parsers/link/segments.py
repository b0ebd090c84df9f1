"""TCP segments of one block, as columns over the block's bytes, and the current segment of a kernel."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type

DSACK = 256
"""Flag of a segment whose first SACK block reports bytes that its sender has received before (RFC 2883)."""


@dataclass(frozen=True, slots=True)
class Segments:
    """One row per TCP segment, in capture order.

    ts_ns        int64    nanoseconds since the epoch
    packet_no    int64    number of the packet in its file
    source       uint64[n, 2]  source address, high and low half; IPv4 as ::ffff:a.b.c.d
    destination  uint64[n, 2]  destination address
    source_port, destination_port  uint16
    seq, ack     uint32   as on the wire
    flags        uint16   as on the wire: FIN 1, SYN 2, RST 4, PSH 8, ACK 16; and DSACK, where the options say that a
                          segment came twice
    window       uint16   as on the wire, unscaled
    offset       int64    first captured payload byte in the block
    captured     int32    payload bytes in the capture
    length       int32    payload bytes on the wire (more than captured where the snap length cut it)
    skipped      int32    the count of the segments right before it that are left out (tcp.shares); 0 in a capture
    """

    ts_ns: NDArray[np.int64]
    packet_no: NDArray[np.int64]
    source: NDArray[np.uint64]
    destination: NDArray[np.uint64]
    source_port: NDArray[np.uint16]
    destination_port: NDArray[np.uint16]
    seq: NDArray[np.uint32]
    ack: NDArray[np.uint32]
    flags: NDArray[np.uint16]
    window: NDArray[np.uint16]
    offset: NDArray[np.int64]
    captured: NDArray[np.int32]
    length: NDArray[np.int32]
    skipped: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ts_ns)


SEGMENT_COLUMNS: dict[str, tuple[np.dtype[np.generic], int]] = {
    "ts_ns": (np.dtype(np.int64), 1),
    "packet_no": (np.dtype(np.int64), 1),
    "source": (np.dtype(np.uint64), 2),
    "destination": (np.dtype(np.uint64), 2),
    "source_port": (np.dtype(np.uint16), 1),
    "destination_port": (np.dtype(np.uint16), 1),
    "seq": (np.dtype(np.uint32), 1),
    "ack": (np.dtype(np.uint32), 1),
    "flags": (np.dtype(np.uint16), 1),
    "window": (np.dtype(np.uint16), 1),
    "offset": (np.dtype(np.int64), 1),
    "captured": (np.dtype(np.int32), 1),
    "length": (np.dtype(np.int32), 1),
    "skipped": (np.dtype(np.int32), 1),
}
"""Type and width of each column of `Segments`, in their order."""


def room_for_segments(n: int) -> "SegmentArrays":
    """Columns of n rows, not filled."""
    return SegmentArrays(
        *(np.empty((n, width) if width > 1 else n, dtype) for dtype, width in SEGMENT_COLUMNS.values())
    )


class SegmentArrays(NamedTuple):
    """The columns of `Segments`, for kernels."""

    ts_ns: NDArray[np.int64]
    packet_no: NDArray[np.int64]
    source: NDArray[np.uint64]
    destination: NDArray[np.uint64]
    source_port: NDArray[np.uint16]
    destination_port: NDArray[np.uint16]
    seq: NDArray[np.uint32]
    ack: NDArray[np.uint32]
    flags: NDArray[np.uint16]
    window: NDArray[np.uint16]
    offset: NDArray[np.int64]
    captured: NDArray[np.int32]
    length: NDArray[np.int32]
    skipped: NDArray[np.int32]


SEGMENT_ROW = record_type(
    [
        ("ts_ns", np.int64),
        ("packet_no", np.int64),
        ("source_high", np.uint64),
        ("source_low", np.uint64),
        ("destination_high", np.uint64),
        ("destination_low", np.uint64),
        ("offset", np.int64),
        ("captured", np.int64),
        ("length", np.int64),
        ("mark", np.uint64),
        ("seq", np.uint32),
        ("ack", np.uint32),
        ("source_port", np.uint16),
        ("destination_port", np.uint16),
        ("window", np.uint16),
        ("tcp_flags", np.uint16),
    ],
)
"""The current segment. Kernels pass on one such record: it costs a pointer, while each column would cost a reference
count. mark: see `duplicates`."""
