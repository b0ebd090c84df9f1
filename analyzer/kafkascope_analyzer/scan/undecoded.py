"""Rows of `undecoded`: every stretch of stream bytes that is no decoded frame, with its reason."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.framing.layout import (
    REASON_CLOSED,
    REASON_END,
    REASON_NOT_KAFKA,
    REASON_OVERSIZE,
    REASON_TLS,
    REASONS,
)

SPILL_SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("side", pa.int8()),
        ("ts_ns", pa.int64()),
        ("packet_no", pa.int64()),
        ("capture_id", pa.int32()),
        ("stream_offset", pa.int64()),
        ("bytes", pa.int64()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("head", pa.string()),
    ]
)
HEAD_BYTES = 16
_SHOWN = (REASON_NOT_KAFKA, REASON_TLS, REASON_OVERSIZE)
"""Reasons whose stretches begin with a header or with a foreign protocol's first bytes. Others may begin inside
records or credentials.
"""


@dataclass(frozen=True, slots=True)
class FailedFrames:
    """Whole frames that are not decoded, or their last bytes: FRAME rows, the stream offset, reason and detail of each,
    and whether their first bytes may be shown.
    """

    frames: NDArray[np.void]
    stream_offsets: NDArray[np.int64]
    reasons: list[str]
    details: list[str | None]
    shown: bool


def name_closed(stretches: NDArray[np.void], is_closed: NDArray[np.bool_]) -> None:
    """Corrects the reason of the last bytes (STRETCH rows) of connections that were closed before the capture ended.
    is_closed: by connection.
    """
    at_end = stretches["reason"] == REASON_END
    stretches["reason"][at_end & is_closed[stretches["direction"] >> 1]] = REASON_CLOSED


def stretch_rows(data: NDArray[np.uint8], stretches: NDArray[np.void], capture_id: int) -> pa.Table:
    """Stretches (STRETCH rows over data) as rows. Columns: SPILL_SCHEMA."""
    names = pa.array(REASONS).take(pa.array(stretches["reason"].astype(np.int64)))
    shown = np.isin(stretches["reason"], _SHOWN)
    return _rows(
        stretches,
        capture_id,
        stretches["stream_offset"],
        stretches["length"],
        (names, pa.nulls(len(stretches), pa.string()), _heads(data, stretches["start"], stretches["length"], shown)),
    )


def failed_frame_rows(data: NDArray[np.uint8], failed: FailedFrames, capture_id: int) -> pa.Table:
    """Failed frames as rows. Columns: SPILL_SCHEMA."""
    frames = failed.frames
    lengths = frames["end"] - frames["start"]
    shown = np.full(len(frames), failed.shown)
    texts = (
        pa.array(failed.reasons, pa.string()),
        pa.array(failed.details, pa.string()),
        _heads(data, frames["start"], lengths, shown),
    )
    return _rows(frames, capture_id, failed.stream_offsets, lengths, texts)


def _rows(
    source: NDArray[np.void],
    capture_id: int,
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    texts: tuple[pa.Array, pa.Array, pa.Array],
) -> pa.Table:
    reason, detail, head = texts
    return pa.table(
        [
            pa.array(source["direction"] >> 1),
            pa.array((source["direction"] & 1).astype(np.int8)),
            pa.array(np.ascontiguousarray(source["ts_ns"])),
            pa.array(np.ascontiguousarray(source["packet_no"])),
            pa.array(np.full(len(source), capture_id, np.int32)),
            pa.array(np.ascontiguousarray(offsets)),
            pa.array(np.ascontiguousarray(lengths)),
            reason,
            detail,
            head,
        ],
        SPILL_SCHEMA,
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
