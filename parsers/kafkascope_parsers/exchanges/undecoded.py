"""Bytes of streams that are in no decoded message: stretches without a frame, and frames that do not decode."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.exchanges.messages import FrameDecoder
from kafkascope_parsers.framing.layout import (
    REASON_CLOSED,
    REASON_END,
    REASON_NOT_KAFKA,
    REASON_OVERSIZE,
    REASON_TLS,
    REASONS,
)
from kafkascope_parsers.tcp import Streams

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
"""conn: number of the connection; side: 0 or 1, who sent the bytes; head: the first HEAD_BYTES of them as hex, null
where they must not be shown."""
HEAD_BYTES = 16
_SHOWN = (REASON_NOT_KAFKA, REASON_TLS, REASON_OVERSIZE)
"""Reasons whose stretches begin with a header or with a foreign protocol's first bytes. Others may begin inside
records or credentials.
"""


def stretch_rows(data: NDArray[np.uint8], stretches: NDArray[np.void], is_closed: NDArray[np.bool_] | None) -> pa.Table:
    """Stretches (STRETCH rows over data) as UNDECODED_SCHEMA. is_closed: by connection, whether it was closed before
    the capture ended, which is why its last bytes are no whole frame; None before the end.
    """
    reasons = stretches["reason"].astype(np.int64)
    if is_closed is not None:
        reasons[(reasons == REASON_END) & is_closed[stretches["direction"] >> 1]] = REASON_CLOSED
    spans = (stretches["stream_offset"], stretches["start"], stretches["length"])
    texts = (pa.array(REASONS).take(pa.array(reasons)), pa.nulls(len(stretches), pa.string()))
    return _rows(data, stretches, spans, texts, np.isin(stretches["reason"], _SHOWN))


def failure_rows(streams: Streams, frames: NDArray[np.void], decoder: FrameDecoder, *, is_shown: bool) -> pa.Table:
    """Whole frames that did not decode, and the zeros behind those that did, as UNDECODED_SCHEMA. is_shown: whether
    their first bytes may be shown.
    """
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
    shown = np.full(len(index), is_shown)
    return _rows(streams.data, chosen, (offsets, start, chosen["end"] - start), texts, shown)


def _rows(
    data: NDArray[np.uint8],
    source: NDArray[np.void],
    spans: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    texts: tuple[pa.Array, pa.Array],
    shown: NDArray[np.bool_],
) -> pa.Table:
    """source: FRAME or STRETCH rows; spans: stream offset, start in data and length of each; texts: reason, detail."""
    offsets, starts, lengths = spans
    return pa.table(
        [
            pa.array(source["direction"] >> 1),
            pa.array((source["direction"] & 1).astype(np.int8)),
            pa.array(np.ascontiguousarray(source["ts_ns"])),
            pa.array(np.ascontiguousarray(source["packet_no"])),
            pa.array(np.ascontiguousarray(offsets)),
            pa.array(np.ascontiguousarray(lengths)),
            *texts,
            _heads(data, starts, lengths, shown),
        ],
        UNDECODED_SCHEMA,
    )


def _heads(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], shown: NDArray[np.bool_]
) -> pa.Array:
    """The first HEAD_BYTES of each stretch as hex; null where they must not be shown."""
    if not shown.any():
        return pa.nulls(len(starts), pa.string())
    at = np.minimum(starts[:, None] + np.arange(HEAD_BYTES), len(data) - 1)
    pairs = np.frombuffer(b"".join(b"%02x" % i for i in range(256)), np.uint8).reshape(256, 2)
    digits = pairs[data[at]].reshape(len(starts), 2 * HEAD_BYTES)
    digits[np.arange(2 * HEAD_BYTES) >= 2 * lengths[:, None]] = 0
    texts = digits.view(f"S{2 * HEAD_BYTES}").ravel().astype(str)
    return pa.array(texts, pa.string(), mask=~shown)
