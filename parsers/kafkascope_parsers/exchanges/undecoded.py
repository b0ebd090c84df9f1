"""Bytes of streams that are in no decoded message: stretches without a frame, frames that do not decode, TLS records
that were not decrypted."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.exchanges.messages import FrameDecoder
from kafkascope_parsers.framing.layout import HTTP, REASON_CLOSED, REASON_END, REASON_TLS, REASONS
from kafkascope_parsers.framing.proof import begins_http, begins_tls
from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls.plain_text import Undecrypted

UNDECODED_SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("side", pa.int8()),
        ("ts_ns", pa.int64()),
        ("packet_no", pa.int64()),
        ("stream_offset", pa.int64()),
        ("bytes", pa.int64()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("head", pa.string()),
    ]
)
"""conn: number of the connection; side: 0 or 1, who sent the bytes; head: as hex, the bytes that identify the protocol,
at the start of a direction; null everywhere else, as other bytes may be a password."""
TLS_OVERHEAD = "tls_overhead"
"""Reason for the bytes of TLS around decrypted data: all of a direction are one row, not a stretch."""
TLS_HEAD_BYTES, HTTP_HEAD_BYTES = 5, 4
"""The header of a TLS record; the word that an HTTP message begins with."""


def stretch_rows(
    data: NDArray[np.uint8],
    stretches: NDArray[np.void],
    connections: NDArray[np.void],
    is_closed: NDArray[np.bool_] | None,
) -> pa.Table:
    """Stretches (STRETCH rows over data) as UNDECODED_SCHEMA. connections: CONNECTION rows of framing; is_closed: by
    connection, whether it was closed before the capture ended, as its last bytes are then cut by that; None before the
    end.
    """
    reasons = stretches["reason"].astype(np.int64)
    if is_closed is not None:
        reasons[(reasons == REASON_END) & is_closed[stretches["direction"] >> 1]] = REASON_CLOSED
    spans = (stretches["stream_offset"], stretches["length"])
    texts = (pa.array(REASONS).take(pa.array(reasons)), pa.nulls(len(stretches), pa.string()))
    return _rows(stretches, spans, texts, _heads(data, stretches, connections))


def failure_rows(streams: Streams, frames: NDArray[np.void], decoder: FrameDecoder) -> pa.Table:
    """Whole frames that did not decode, and the zeros behind those that did, as UNDECODED_SCHEMA."""
    index = np.array(sorted(decoder.failures), np.int64)
    chosen = frames[index]
    zeros = decoder.zeros_after[index]
    start = np.where(zeros > 0, chosen["end"] - zeros, chosen["start"])
    run = np.searchsorted(streams.start, start, side="right") - 1
    offsets = streams.stream_offset[run] + start - streams.start[run] if len(index) else np.zeros(0, np.int64)
    failures = [decoder.failures[frame] for frame in index.tolist()]
    texts = (
        pa.array([failure.reason for failure in failures], pa.string()),
        pa.array([failure.detail for failure in failures], pa.string()),
    )
    return _rows(chosen, (offsets, chosen["end"] - start), texts, pa.nulls(len(index), pa.string()))


def undecrypted_rows(streams: Streams, rows: Sequence[Undecrypted]) -> pa.Table:
    """Bytes of TCP's streams that were not decrypted, as UNDECODED_SCHEMA."""
    direction = np.array([row.direction for row in rows], np.int64)
    piece = np.searchsorted(streams.piece_start, np.array([row.at for row in rows], np.int64), side="right") - 1
    columns = [
        pa.array(direction >> 1),
        pa.array((direction & 1).astype(np.int8)),
        pa.array(streams.piece_ts_ns[piece]),
        pa.array(streams.piece_packet[piece]),
        pa.array([row.stream_offset for row in rows], pa.int64()),
        pa.array([row.n_bytes for row in rows], pa.int64()),
        pa.array([row.reason for row in rows], pa.string()),
        pa.array([row.detail for row in rows], pa.string()),
        pa.nulls(len(rows), pa.string()),
    ]
    return pa.table(columns, UNDECODED_SCHEMA)


def overhead_rows(connections: NDArray[np.void], overhead: NDArray[np.int64]) -> pa.Table:
    """The bytes that TLS adds to decrypted data, a row per direction, as UNDECODED_SCHEMA. connections: tcp.CONNECTION
    rows; overhead: bytes per direction. Time and packet are those with which the connection began."""
    direction = np.flatnonzero(overhead)
    conn = direction >> 1
    columns = [
        pa.array(conn),
        pa.array((direction & 1).astype(np.int8)),
        pa.array(np.ascontiguousarray(connections["first_ts_ns"][conn])),
        pa.array(np.ascontiguousarray(connections["first_packet"][conn])),
        pa.array(np.zeros(len(conn), np.int64)),
        pa.array(overhead[direction]),
        pa.repeat(TLS_OVERHEAD, len(conn)),
        pa.nulls(len(conn), pa.string()),
        pa.nulls(len(conn), pa.string()),
    ]
    return pa.table(columns, UNDECODED_SCHEMA)


def _rows(
    source: NDArray[np.void],
    spans: tuple[NDArray[np.int64], NDArray[np.int64]],
    texts: tuple[pa.Array, pa.Array],
    heads: pa.Array,
) -> pa.Table:
    """source: FRAME or STRETCH rows; spans: stream offset and length of each; texts: reason, detail."""
    offsets, lengths = spans
    return pa.table(
        [
            pa.array(source["direction"] >> 1),
            pa.array((source["direction"] & 1).astype(np.int8)),
            pa.array(np.ascontiguousarray(source["ts_ns"])),
            pa.array(np.ascontiguousarray(source["packet_no"])),
            pa.array(np.ascontiguousarray(offsets)),
            pa.array(np.ascontiguousarray(lengths)),
            *texts,
            heads,
        ],
        UNDECODED_SCHEMA,
    )


def _heads(data: NDArray[np.uint8], stretches: NDArray[np.void], connections: NDArray[np.void]) -> pa.Array:
    """The bytes that identify the protocol at the start of each direction, as hex."""
    protocol = connections["protocol"][stretches["direction"] >> 1]
    is_first = stretches["stream_offset"] == 0
    heads: list[str | None] = [None] * len(stretches)
    for row in np.flatnonzero(is_first & ((stretches["reason"] == REASON_TLS) | (protocol == HTTP))).tolist():
        start, length = int(stretches["start"][row]), int(stretches["length"][row])
        if stretches["reason"][row] == REASON_TLS and begins_tls(data, start, start + length):
            heads[row] = data[start : start + TLS_HEAD_BYTES].tobytes().hex()
        elif protocol[row] == HTTP and begins_http(data, start, start + length):
            heads[row] = data[start : start + HTTP_HEAD_BYTES].tobytes().hex()
    return pa.array(heads, pa.string())
