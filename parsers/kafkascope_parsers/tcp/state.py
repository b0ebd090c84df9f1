"""The state of TCP: one CONNECTION row and two SIDE rows (2 * connection + side) for each connection, and the rows that
a block makes.

Side 0 sent the first SYN; without one, the SYN-ACK's destination, else the sender of the first segment seen. Stream
offsets are 64-bit: 0 is the first byte after the SYN, or the first byte seen. A time of 0 means never.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type
from kafkascope_parsers.link.segments import SEGMENT_ROW
from kafkascope_parsers.row_copies import copy_rows
from kafkascope_parsers.tcp.spans import ACK_TIMES, LIVENESS, SPAN, SPANS_PER_SEGMENT

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
    "retransmit_differs",
    "buffer_limit",
    "dsack",
    "window_open",
)
E_SYN, E_SYN_RETRY, E_SYN_ACK, E_REFUSED, E_RST, E_FIN, E_RETRANSMIT, E_ZERO_WINDOW, E_KEEPALIVE, E_GAP = range(10)
E_DIFFERS, E_LIMIT, E_DSACK, E_WINDOW_OPEN = 10, 11, 12, 13
"""Indices into EVENT_KINDS. retransmit_differs comes beside a retransmit, buffer_limit before the gap it forces;
dsack where a receiver reports that a segment came twice; zero_window where a side closes its receive window,
window_open where it opens it again."""

NO_EVENT = -1
_FIRST_ROOM = 1024

WINDOW_LIMIT = 1 << 30
"""Largest TCP window (RFC 7323): an acknowledgment further ahead is ignored."""

FAR_LIMIT = 1 << 26
"""Distance from the next byte, in bytes, beyond which a segment is not accepted at once: ten times the usual largest
window (6 MiB on Linux)."""

FAR_SEGMENTS = 16
"""Number of segments in a row beyond FAR_LIMIT after which they are accepted, as the capture has then lost many
packets."""

WAITING_BYTES = 8 << 20
"""Bytes that wait behind a hole in one direction: more than the usual limit of a receive window (6 MiB on Linux)."""

WAITING_SEGMENTS = 8192
"""Parts that wait behind a hole in one direction: WAITING_BYTES in segments of 1 kB."""

WAITING_BYTES_IN_ALL = 128 << 20
"""Bytes that wait behind holes in all directions of a bucket, unless less is asked for. This is the only limit that is
not for a single direction."""

ACKED_SEGMENTS = 16
"""Segments of the connection, from the one that acknowledges all of a hole on, after which the hole is given up even if
the peer sends no payload: the capture may show an acknowledgment before the acknowledged bytes."""

FIRST_COPY_BYTES = 4 << 20
"""A retransmission is compared with first copies among the last FIRST_COPY_BYTES of payload of the whole capture."""

FIRST_COPY_COST = 64
"""Bytes in FIRST_COPY_BYTES that a segment without payload counts as, so that rows are limited too."""

FIRST_COPY_STEPS = 256
"""Number of its direction's latest parts with which a retransmission is compared."""

CONNECTION_LIMIT = 1 << 20
"""Connections of one bucket; some 870 bytes each, with their slots. Segments of flows beyond it are counted and left
out."""

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
    ],
)
"""close_ts_ns: the first FIN or RST; close_idle_ns: since the last payload before it, -1 where there was none."""

SIDE = record_type(
    [
        ("address_high", np.uint64),
        ("address_low", np.uint64),
        ("next", np.int64),
        ("acked", np.int64),
        ("fin_at", np.int64),
        ("segments", np.int64),
        ("bytes", np.int64),
        ("stream_bytes", np.int64),
        ("missing_bytes", np.int64),
        ("cut_bytes", np.int64),
        ("retransmitted", np.int64),
        ("out_of_order", np.int64),
        ("keepalives", np.int32),
        ("after_fin", np.int32),
        ("last_data_ts_ns", np.int64),
        ("slot", np.int32),
        ("last_chunk", np.int64),
        ("waiting_bytes", np.int64),
        ("waiting", np.int32),
        ("first_waiting", np.int32),
        ("last_waiting", np.int32),
        ("next_seq", np.uint32),
        ("isn", np.uint32),
        ("port", np.uint16),
        ("syn", np.uint8),
        ("based", np.uint8),
        ("gap_kind", np.uint8),
        ("zero_window", np.uint8),
        ("fin", np.uint8),
        ("far", np.uint8),
        ("acked_for", np.uint8),
    ],
)
"""One direction, named after its sender.

next, next_seq  stream offset and sequence number of the next byte in order; based: whether they are known
acked, fin_at   highest stream offset that the peer acknowledged, offset of the FIN; -1: none; fin: a FIN was seen
segments        all segments; bytes: payload on the wire, each byte once (bytes that a snap length cut included)
stream_bytes, missing_bytes, cut_bytes   handed out, lost, cut by the snap length; in the end their sum is next
retransmitted, out_of_order, keepalives, after_fin   segments that: brought bytes again, filled a hole, were
                keep-alives, brought data after the FIN
gap_kind, slot  why bytes before the next chunk are missing; place in the current block's layout, -1 outside of it
last_chunk      number of the latest chunk, counted from the start of the capture; -1: none
waiting, waiting_bytes, first_waiting, last_waiting   parts behind a hole: how many, their bytes, rows of PART or -1
far, acked_for  segments in a row further than FAR_LIMIT; segments since all of the first hole was acknowledged
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
"""A row of tcp_events: side (for a gap, the side whose bytes are missing), place in the sender's stream, number of
bytes."""

FROM_BLOCK, FROM_WAITING, FROM_COPIES, FROM_TAIL, NOWHERE, UNUSED = range(6)
"""The place of bytes: in the block; kept from earlier blocks, because they wait, as first copies, or as the rest that
framing left; not in the capture. UNUSED marks a free row of PART."""

CHUNK = record_type(
    [
        ("direction", np.int64),
        ("stream_offset", np.int64),
        ("at", np.int64),
        ("ts_ns", np.int64),
        ("packet_no", np.int64),
        ("length", np.int64),
        ("position", np.int64),
        ("previous", np.int64),
        ("source", np.uint8),
        ("gap_kind", np.uint8),
    ],
)
"""A stretch of one packet's payload, in order: `length` bytes at `at` of its source. position: as in COUNTERS, of its
segment; previous: number of the chunk before it in its direction, -1: none."""

PART = record_type(
    [
        ("start", np.int64),
        ("end", np.int64),
        ("at", np.int64),
        ("ts_ns", np.int64),
        ("packet_no", np.int64),
        ("position", np.int64),
        ("following", np.int32),
        ("source", np.uint8),
    ],
)
"""Stream bytes [start, end) of one segment that wait behind a hole; following: the next such row of its direction (of
the free rows, where UNUSED) or -1."""

COUNTERS = record_type(
    [
        (name, np.int64)
        for name in (
            "connections",
            "chunks",
            "first_chunk",
            "events",
            "over_limit",
            "parts",
            "parts_used",
            "free_part",
            "waiting_bytes",
            "waiting_limit",
            "position",
            "needed",
            "spans",
        )
    ]
)
"""One row with counts.

first_chunk  number of the block's first row of chunks
over_limit   segments that were left out: see CONNECTION_LIMIT
parts        rows of PART ever used, parts_used: now; free_part: first free one or -1; waiting_bytes: of all of them,
             waiting_limit: most of them (WAITING_BYTES_IN_ALL or less)
position     payload of all segments so far, of every bucket, each segment with FIRST_COPY_COST more
needed       rows of chunks, events and parts that the segment at which a kernel stopped may need
spans        rows of SPAN that the block has made
"""


class Tables(NamedTuple):
    """State for kernels. slots: open addressing, connection or -1; liveness: two rows per side, ack_times: one; n: one
    COUNTERS row; scratch: one SEGMENT_ROW."""

    slots: NDArray[np.int64]
    connections: NDArray[np.void]
    sides: NDArray[np.void]
    liveness: NDArray[np.void]
    ack_times: NDArray[np.void]
    parts: NDArray[np.void]
    n: NDArray[np.void]
    scratch: NDArray[np.void]


class Taken(NamedTuple):
    """The results of a block: chunks in stream order per direction, events, and spans."""

    chunks: NDArray[np.void]
    events: NDArray[np.void]
    spans: NDArray[np.void]


class Payloads(NamedTuple):
    """The buffers that parts and chunks point into: the block, waiting bytes of earlier blocks, first copies of earlier
    blocks."""

    block: NDArray[np.uint8]
    waiting: NDArray[np.uint8]
    copies: NDArray[np.uint8]


def room_for(n_segments: int, n_chunks: int) -> Taken:
    """Room for the usual results of n_segments after n_chunks rows of earlier blocks, and one more row that kernels may
    point to but not write."""
    return Taken(
        np.empty(n_chunks + n_segments + 64, CHUNK),
        np.empty(n_segments + 64, EVENT),
        np.empty(n_segments // 8 + 8 * SPANS_PER_SEGMENT, SPAN),
    )


def with_room(taken: Taken, n: NDArray[np.void]) -> Taken:
    """The same rows, with room for those that are needed."""
    needed = int(n["needed"][0])
    return Taken(
        _longer(taken.chunks, int(n["chunks"][0]) + needed),
        _longer(taken.events, int(n["events"][0]) + needed),
        _longer(taken.spans, int(n["spans"][0]) + SPANS_PER_SEGMENT),
    )


def with_parts(t: Tables) -> Tables:
    """The tables with room for the parts that are needed."""
    return t._replace(parts=_longer(t.parts, int(t.n["parts"][0]) + int(t.n["needed"][0])))


def _longer(rows: NDArray[np.void], n: int) -> NDArray[np.void]:
    """The rows, with room for n and one more; at least twice as much if they had less. The new room is filled with
    zeros, because it is part of a saved state, and memory may hold old secrets."""
    if len(rows) > n:
        return rows
    more = np.zeros(2 * n + 1, rows.dtype)
    copy_rows(more, rows)
    return more


def empty_tables(waiting_limit: int = WAITING_BYTES_IN_ALL) -> Tables:
    """No connections. waiting_limit: see COUNTERS."""
    n = np.zeros(1, COUNTERS)
    n["waiting_limit"] = waiting_limit
    n["free_part"] = -1
    slots = np.full(2 * _FIRST_ROOM, -1, np.int64)
    connections, sides = np.zeros(_FIRST_ROOM, CONNECTION), np.zeros(2 * _FIRST_ROOM, SIDE)
    liveness, ack_times = np.zeros(4 * _FIRST_ROOM, LIVENESS), np.zeros(2 * _FIRST_ROOM, ACK_TIMES)
    return Tables(slots, connections, sides, liveness, ack_times, np.zeros(64, PART), n, np.zeros(1, SEGMENT_ROW))
