"""Kernel: the lengths of encrypted records, from their headers, block after block.

A record and its header may continue in the next block, so the state of both is kept by direction. Bodies of records are
not read. After a gap in which a header may be, the next header is accepted only if another header, or the end of the
run, is at the end of its record.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type
from kafkascope_parsers.kernels import inlined, kernel
from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls.records import APPLICATION_DATA, RECORD_LIMIT, find_header

HEADER_BYTES = 5
LEAST_BODY = 17
"""Bytes of the shortest encrypted record: a tag, and the type of its content (TLS 1.3) or one byte more."""

HEAD = record_type(
    [
        ("is_lost", np.int8),
        ("n_header", np.int8),
        ("header", np.int64),
        ("body_left", np.int64),
        ("length", np.int64),
        ("first_ns", np.int64),
        ("first_packet", np.int64),
    ]
)
"""The state of a direction. is_lost: the next header has to be searched for; n_header, header: bytes of a header that
are there, as one number; body_left: bytes of the record's body that are still to come; length: of that body, 0 if it is
not application data; first_*: of the record's first byte."""

RECORD = record_type(
    [
        ("conn", np.int64),
        ("side", np.int64),
        ("length", np.int64),
        ("first_ns", np.int64),
        ("first_packet", np.int64),
        ("last_ns", np.int64),
        ("last_packet", np.int64),
    ]
)
"""An application data record. length: of its body, LOST if bytes are missing that may have contained records."""
LOST = -1


@kernel
def read_records(
    s: Streams, chosen: NDArray[np.int64], directions: NDArray[np.int64], heads: NDArray[Any], out: NDArray[Any]
) -> int:
    """Writes the records of the chosen runs that end in them. directions: place of each chosen run in heads, which also
    gives conn and side of its records. Returns their number; `most_records` gives the room that they need."""
    n = 0
    for i in range(len(chosen)):
        run, direction = chosen[i], directions[i]
        head = heads[direction]
        piece = np.searchsorted(s.piece_start, s.start[run], side="right") - 1
        if s.gap_before[run] > head.body_left or (s.gap_before[run] > 0 and head.n_header > 0):
            head.is_lost, head.n_header, head.body_left = 1, 0, 0
            out[n].conn, out[n].side, out[n].length = direction >> 1, direction & 1, LOST
            out[n].first_ns = out[n].last_ns = s.piece_ts_ns[piece]
            out[n].first_packet = out[n].last_packet = s.piece_packet[piece]
            n += 1
        else:
            head.body_left -= s.gap_before[run]
        n = _read_run(s, (run, piece, direction), head, out, n)
    return n


@kernel
def _read_run(s: Streams, place: tuple[int, int, int], head: Any, out: NDArray[Any], n: int) -> int:
    """Writes the records of a run after the first n. place: the run, its first piece, its direction."""
    run, piece, direction = place
    at, end = s.start[run], s.end[run]
    while at < end:
        if head.is_lost:
            at = _next_header(s.data, at, end)
            if at == end:
                return n
            head.is_lost = 0
        piece = _piece_at(s, piece, at)
        if head.body_left == 0:
            if head.n_header == 0:
                head.header, head.first_ns, head.first_packet = 0, s.piece_ts_ns[piece], s.piece_packet[piece]
            head.header = head.header << 8 | s.data[at]
            head.n_header += 1
            at += 1
            if head.n_header == HEADER_BYTES:
                _begin_record(head)
        if head.body_left > 0 and at < end:
            taken = min(head.body_left, end - at)
            head.body_left -= taken
            at += taken
            piece = _piece_at(s, piece, at - 1)
            if head.body_left == 0 and head.length > 0:
                record = out[n]
                record.conn, record.side, record.length = direction >> 1, direction & 1, head.length
                record.first_ns, record.first_packet = head.first_ns, head.first_packet
                record.last_ns, record.last_packet = s.piece_ts_ns[piece], s.piece_packet[piece]
                n += 1
    return n


@inlined
def _piece_at(s: Streams, piece: int, at: int) -> int:
    """The piece with the byte at `at`, searched from an earlier piece on."""
    while piece + 1 < len(s.piece_start) and s.piece_start[piece + 1] <= at:
        piece += 1
    return piece


@inlined
def _begin_record(head: Any) -> None:
    """Takes the header that is now whole; if it is impossible, the direction is lost."""
    kind, version, length = head.header >> 32, head.header >> 16 & 0xFFFF, head.header & 0xFFFF
    head.n_header = 0
    is_data = kind == APPLICATION_DATA
    is_header = 20 <= kind <= 23 and version >> 8 == 3 and version & 0xFF <= 4 and length <= RECORD_LIMIT
    if not is_header or (is_data and length < LEAST_BODY):
        head.is_lost = 1
    else:
        head.body_left = length
        head.length = length if is_data else 0


@kernel
def _next_header(data: NDArray[np.uint8], at: int, end: int) -> int:
    """The first place from `at` on where a record begins that is followed by another record or the end; else end."""
    while True:
        at = find_header(data, at, end, LEAST_BODY + HEADER_BYTES)
        if end - at < HEADER_BYTES:
            return end
        after = at + HEADER_BYTES + (np.int64(data[at + 3]) << 8 | data[at + 4])
        if after == end or (end - after >= HEADER_BYTES and find_header(data, after, after + HEADER_BYTES, 0) == after):
            return at
        at += 1


def most_records(streams: Streams, chosen: NDArray[np.int64]) -> int:
    """The largest number of records that `read_records` may write for the chosen runs."""
    n_bytes = int((streams.end[chosen] - streams.start[chosen]).sum())
    return n_bytes // (HEADER_BYTES + LEAST_BODY) + 2 * len(chosen)
