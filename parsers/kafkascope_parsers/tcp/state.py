"""What TCP keeps: one CONNECTION row each, two SIDE rows (2 * connection + side), and the rows that a block makes.

Side 0 sent the first SYN; without one, the SYN-ACK's destination, else the sender of the first segment seen. Stream
offsets are 64-bit: 0 is the first byte after the SYN, or the first byte seen. A time of 0 means never.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type
from kafkascope_parsers.link.kernel import SEGMENT_ROW

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16

CLOSE_KINDS = ("open", "fin_0", "fin_1", "rst_0", "rst_1", "refused", "unanswered")
OPEN, CLOSED_BY_FIN, CLOSED_BY_RST, REFUSED, UNANSWERED = 0, 1, 3, 5, 6
"""Indices into CLOSE_KINDS; by FIN and by RST add the side. The first FIN or RST counts."""

EVENT_KINDS = (
    "syn",
    "syn_retry",
    "syn_ack",
    "refused",
    "rst",
    "fin",
    "retransmit",
    "zero_window",
    "keepalive",
    "gap",
)
E_SYN, E_SYN_RETRY, E_SYN_ACK, E_REFUSED, E_RST, E_FIN, E_RETRANSMIT, E_ZERO_WINDOW, E_KEEPALIVE, E_GAP = range(10)
NO_EVENT = -1
_FIRST_ROOM = 1024

EVENTS_PER_SEGMENT = 4
"""SYN or RST, FIN, zero window, and one of retransmit, keep-alive."""

WINDOW_LIMIT = 1 << 30
"""Largest TCP window (RFC 7323): sequence numbers further apart are not of one window."""

CONNECTION_LIMIT = 1 << 20
"""Connections of one bucket; some 400 bytes each. Segments of flows beyond it are counted and left out."""

CONNECTION = record_type(
    [
        ("syn_ts_ns", np.int64),
        ("synack_ts_ns", np.int64),
        ("first_ts_ns", np.int64),
        ("last_ts_ns", np.int64),
        ("first_packet", np.int64),
        ("close_ts_ns", np.int64),
        ("close_idle_ns", np.int64),
        ("n_syn", np.int32),
        ("opened_by_syn", np.uint8),
        ("close_kind", np.uint8),
        ("slow", np.uint8),
    ],
)
"""close_ts_ns: the first FIN or RST; close_idle_ns: since the last payload before it, -1 where there was none; slow: in
the reassembler."""

SIDE = record_type(
    [
        ("address_high", np.uint64),
        ("address_low", np.uint64),
        ("next", np.int64),
        ("given", np.int64),
        ("acked", np.int64),
        ("fin_at", np.int64),
        ("segments", np.int64),
        ("bytes", np.int64),
        ("stream_bytes", np.int64),
        ("missing_bytes", np.int64),
        ("cut_bytes", np.int64),
        ("retransmitted", np.int64),
        ("out_of_order", np.int64),
        ("keepalives", np.int64),
        ("after_fin", np.int64),
        ("fin_ts_ns", np.int64),
        ("rst_ts_ns", np.int64),
        ("first_data_ts_ns", np.int64),
        ("last_data_ts_ns", np.int64),
        ("slot", np.int64),
        ("next_seq", np.uint32),
        ("isn", np.uint32),
        ("port", np.uint16),
        ("syn", np.uint8),
        ("based", np.uint8),
        ("gap_kind", np.uint8),
        ("zero_window", np.uint8),
    ],
)
"""One direction, named after its sender.

next, next_seq  stream offset and sequence number of the next byte in order; based: whether they are known
given           stream offset handed out so far, = stream_bytes + missing_bytes + cut_bytes
acked, fin_at   highest stream offset that the peer acknowledged, offset of the FIN; -1: none
segments        all segments; bytes: payload on the wire, each byte once (bytes that a snap length cut included)
stream_bytes, missing_bytes, cut_bytes   handed out, lost, cut by the snap length
retransmitted, out_of_order, keepalives, after_fin   segments that: brought bytes again, filled a hole, were
                keep-alives, brought data after the FIN
gap_kind        why bytes before the next chunk are missing; slot: place in the current block's layout, -1 outside of it
"""

EVENT = record_type(
    [
        ("connection", np.int64),
        ("ts_ns", np.int64),
        ("packet_no", np.int64),
        ("stream_offset", np.int64),
        ("bytes", np.int64),
        ("side", np.uint8),
        ("kind", np.uint8),
    ],
)
"""A row of tcp_events: who did it (side; for a gap: whose bytes are missing), where in the sender's stream, how many
bytes."""

FROM_BLOCK, FROM_PENDING, FROM_TAIL = 0, 1, 2
CHUNK = record_type(
    [
        ("direction", np.int64),
        ("stream_offset", np.int64),
        ("at", np.int64),
        ("ts_ns", np.int64),
        ("packet_no", np.int64),
        ("length", np.int64),
        ("source", np.uint8),
        ("gap_kind", np.uint8),
    ],
)
"""A stretch of one packet's payload, in order: `length` bytes at `at` of the block, of pending bytes, or of the last
block's tails."""

COUNTERS = record_type(
    [(name, np.int64) for name in ("connections", "chunks", "events", "slow", "always_slow", "over_limit")]
)
"""One row: how many of each there are. always_slow: every segment goes to the reassembler; over_limit: see
CONNECTION_LIMIT."""


class Tables(NamedTuple):
    """State for kernels. slots: open addressing, connection or -1; n: one COUNTERS row; scratch: one SEGMENT_ROW."""

    slots: NDArray[np.int64]
    connections: NDArray[np.void]
    sides: NDArray[np.void]
    n: NDArray[np.void]
    scratch: NDArray[np.void]


class Taken(NamedTuple):
    """What a block makes: chunks in capture order, events, and rows (segment, direction) for the reassembler."""

    chunks: NDArray[np.void]
    events: NDArray[np.void]
    slow: NDArray[np.int64]


def room_for(n_segments: int) -> Taken:
    """Room for all that n_segments can make, and one row that kernels may point to but not write."""
    return Taken(
        np.empty(n_segments + 1, CHUNK),
        np.empty(EVENTS_PER_SEGMENT * n_segments + 1, EVENT),
        np.empty((n_segments, 2), np.int64),
    )


def empty_tables(always_slow: bool) -> Tables:
    """No connections. always_slow: every segment goes to the reassembler."""
    n = np.zeros(1, COUNTERS)
    n["always_slow"] = always_slow
    slots = np.full(2 * _FIRST_ROOM, -1, np.int64)
    connections, sides = np.zeros(_FIRST_ROOM, CONNECTION), np.zeros(2 * _FIRST_ROOM, SIDE)
    return Tables(slots, connections, sides, n, np.zeros(1, SEGMENT_ROW))
