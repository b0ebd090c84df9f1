"""Measures how soon each side of a connection acknowledges the segments of the other, by slices of time.

One segment of a direction is timed at a time, from where it was captured to the first acknowledgment that covers it, as
TCP times its round trips (RFC 6298). A segment that is sent again meanwhile is not timed, because it is unknown which
of the two was acknowledged (Karn's algorithm). Kernels acknowledge without the application: within 40 ms (Linux) to 200
ms, and sooner if they have data to send or several segments came.

Arguments are records: seg a SEGMENT_ROW, n the COUNTERS, row a row of ACK_TIMES, mine and theirs rows of LIVENESS of
the layer PACKETS.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.lifecycle import distance
from kafkascope_parsers.tcp.spans import ACKED, SLICE_NS
from kafkascope_parsers.tcp.state import ACK, FIN, RST, SYN

_MASK32 = 0xFFFFFFFF


@kernel
def end_slice(row: Any, d: int, n: Any, spans: NDArray[np.void]) -> None:
    """Writes the slice of the row as a span."""
    span = spans[n.spans]
    n.spans += 1
    span.direction, span.kind, span.n_quick = d, ACKED, row.n
    span.first_ns, span.first_packet = row.first_ns, row.first_packet
    span.last_ns, span.last_packet = row.last_ns, row.last_packet
    span.until_ns, span.until_packet, span.ended_by = 0, 0, 0
    span.least_ns, span.most_ns = row.least_ns, row.most_ns
    row.n = 0


@kernel
def note_acknowledged(seg: Any, row: Any, d: int, n: Any, spans: NDArray[np.void]) -> None:
    """Notes that the segment acknowledges the timed one of direction d."""
    took = max(seg.ts_ns - row.asked_ns, 0)
    if row.n > 0 and row.asked_ns // SLICE_NS != row.first_ns // SLICE_NS:
        end_slice(row, d, n, spans)
    if row.n == 0:
        row.first_ns, row.first_packet = row.asked_ns, row.asked_packet
        row.least_ns, row.most_ns = took, 0
    row.n += 1
    row.least_ns = min(row.least_ns, took)
    if seg.length == 0:
        row.most_ns = max(row.most_ns, took)
    row.last_ns, row.last_packet = seg.ts_ns, seg.packet_no
    row.asked_packet = 0


@kernel
def time_segment(seg: Any, row: Any, mine: Any) -> None:
    """Times the segment if it is new; a segment that is sent again cancels the current timing."""
    size = np.int64(seg.length) + (1 if seg.tcp_flags & SYN else 0) + (1 if seg.tcp_flags & FIN else 0)
    if size == 0:
        return
    behind = np.uint32((np.int64(seg.seq) + size) & _MASK32)
    if mine.based and distance(behind, mine.high_seq) <= 0:
        row.asked_packet = 0
    elif row.asked_packet == 0:
        row.asked_ns, row.asked_packet, row.behind = seg.ts_ns, seg.packet_no, behind


@kernel
def follow_acknowledgments(
    seg: Any, d: int, mine: Any, ack_times: NDArray[np.void], n: Any, spans: NDArray[np.void]
) -> None:
    """Takes the next segment, of direction d, before its numbers are kept in mine."""
    row, other = ack_times[d], ack_times[d ^ 1]
    if seg.tcp_flags & RST:
        row.asked_packet, other.asked_packet = 0, 0
        return
    if seg.tcp_flags & ACK and other.asked_packet > 0 and distance(seg.ack, other.behind) >= 0:
        note_acknowledged(seg, other, d ^ 1, n, spans)
    time_segment(seg, row, mine)
