"""Finds the records in a stretch of TLS bytes. A header is type, version 3.x and length (HEADER_BYTES)."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA = 20, 21, 22, 23
"""Content types."""
RECORD_LIMIT = (1 << 14) + 2048
"""Longest body of a record: TLS 1.2 allows 2048 bytes besides 16 kB of content (RFC 5246, section 6.2.3)."""
_SMALLEST_RECORD = 6


@kernel
def is_header(data: NDArray[np.uint8], at: int) -> bool:
    """Whether the five bytes at `at` may be the header of a record."""
    length = np.int64(data[at + 3]) << 8 | data[at + 4]
    return bool(20 <= data[at] <= 23 and data[at + 1] == 3 and data[at + 2] <= 4 and length <= RECORD_LIMIT)


@kernel
def walk_records(data: NDArray[np.uint8], at: int, end: int, ends: NDArray[np.int64]) -> tuple[int, int, bool]:
    """Writes the end of each whole record from `at` on. Returns their number, the place of the next record, and whether
    that can be a record. There is room for all."""
    n = 0
    while end - at >= 5:
        if not is_header(data, at):
            return n, at, False
        after = at + 5 + (np.int64(data[at + 3]) << 8 | data[at + 4])
        if after > end:
            break
        ends[n] = at = after
        n += 1
    return n, at, True


def whole_records(data: NDArray[np.uint8], at: int, end: int) -> tuple[list[int], int, bool]:
    """The ends of the adjoining whole records of data[at:end]; the place of the next record, and whether that can be a
    record."""
    ends = np.empty((end - at) // (_SMALLEST_RECORD - 1) + 1, np.int64)
    n, place, is_sound = walk_records(data, at, end, ends)
    return ends[:n].tolist(), place, is_sound


@kernel
def find_header(data: NDArray[np.uint8], at: int, end: int, least: int) -> int:
    """The first place from `at` on where an encrypted record of `least` bytes or more may begin; if the last bytes are
    too few to decide, their place."""
    while end - at >= 5:
        length = np.int64(data[at + 3]) << 8 | data[at + 4]
        if 21 <= data[at] <= 23 and data[at + 1] == 3 and data[at + 2] == 3 and least - 5 <= length <= RECORD_LIMIT:
            return at
        at += 1
    return at
