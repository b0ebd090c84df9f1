"""Stream bytes of one block, in order, per direction, which TCP gives to framing.

A direction is numbered 2 * connection + 0 for the side that sent the first SYN (or, without one, the first segment
seen) and 2 * connection + 1 for its peer. A run is a stretch of one direction without a hole. Runs are sorted by
direction, then by stream offset; the bytes of run i are data[start[i]:end[i]]. The unread rest of the last run of a
direction (a partial frame: TcpStreams.keep_rest) comes again at the start of the direction's first run in the next
block in which the connection has payload in either direction.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

GAP_NONE, GAP_LOST, GAP_SNAPLEN = 0, 1, 2
"""Why bytes are missing before a run: none are missing, packets were not captured, packets were cut by the snap
length."""


class Streams(NamedTuple):
    """Columns of one block; a named tuple, because kernels can take it.

    data           uint8    bytes of all runs, one after the other
    direction      int64    per run
    start, end     int64    per run: its bytes in data
    stream_offset  int64    per run: 64-bit offset of its first byte in the direction's stream (0 is the first byte
                            after the SYN, or the first byte seen where the capture has no SYN)
    gap_before     int64    per run: bytes missing between the previous run of the direction (also of an earlier
                            block) and this one
    gap_kind       uint8    per run: GAP_*
    gap_after      uint8    per run: GAP_* where it is the last of its direction and bytes are known to be missing
                            behind it, though nothing that follows them was seen yet
    piece_start    int64    per piece (stretch of one packet in data), ascending: its first byte in data
    piece_ts_ns    int64    per piece: time of the packet
    piece_packet   int64    per piece: number of the packet
    """

    data: NDArray[np.uint8]
    direction: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    stream_offset: NDArray[np.int64]
    gap_before: NDArray[np.int64]
    gap_kind: NDArray[np.uint8]
    gap_after: NDArray[np.uint8]
    piece_start: NDArray[np.int64]
    piece_ts_ns: NDArray[np.int64]
    piece_packet: NDArray[np.int64]
