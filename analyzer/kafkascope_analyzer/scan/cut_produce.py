"""The acks of Produce requests that are not whole: they stand near the beginning, and say whether a response comes.

ProduceRequest: from version 3 on a nullable transactional id comes before acks; from version 9 on a tag section ends
the header and lengths are varints, here of one byte (a longer transactional id, or a header with tags, stays unknown).
"""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.layout import CLIENT_ID_AT, WHOLE

UNKNOWN = -2
_PRODUCE, _LAST_VERSION = 0, 13
_TRANSACTIONAL_FROM, _FLEXIBLE_FROM = 3, 9
_ACKS = (-1, 0, 1)


def acks_of_cut(data: NDArray[np.uint8], frames: NDArray[np.void]) -> NDArray[np.int64]:
    """Acks of each frame (FRAME rows over data) that is a cut Produce request; UNKNOWN for all others."""
    acks = np.full(len(frames), UNKNOWN, np.int64)
    chosen = (frames["api_key"] == _PRODUCE) & (frames["wholeness"] != WHOLE)
    chosen &= (frames["api_version"] >= 0) & (frames["api_version"] <= _LAST_VERSION)
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return acks
    start, end, version = (frames[name][rows].astype(np.int64) for name in ("start", "end", "api_version"))
    stated = _int16(data, start + CLIENT_ID_AT - 2, end)
    known = stated == frames["client_id_length"][rows]
    at = start + CLIENT_ID_AT + np.maximum(stated, 0)
    flexible = version >= _FLEXIBLE_FROM
    known &= ~flexible | (_byte(data, at, end) == 0)
    at += flexible
    size = _byte(data, at, end)
    known &= ~flexible | ((size >= 0) & (size < 0x80))
    compact = 1 + np.maximum(size - 1, 0)
    plain = 2 + np.maximum(_int16(data, at, end), 0)
    at += np.where(flexible, compact, np.where(version >= _TRANSACTIONAL_FROM, plain, 0))
    values = _int16(data, at, end)
    acks[rows] = np.where(known & np.isin(values, _ACKS) & (at + 2 <= end), values, UNKNOWN)
    return acks


def _byte(data: NDArray[np.uint8], at: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """data[at], -1 beyond the frame's end."""
    inside = at < end
    return np.where(inside, data[np.where(inside, at, 0)].astype(np.int64), -1)


def _int16(data: NDArray[np.uint8], at: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """The signed number at data[at:at+2], -1 beyond the frame's end."""
    inside = at + 2 <= end
    place = np.where(inside, at, 0)
    high = data[place].astype(np.int64)
    low = data[np.minimum(place + 1, len(data) - 1)].astype(np.int64)
    return np.where(inside, ((high << 8 | low) ^ 0x8000) - 0x8000, -1)
