"""What a records field holds, from the batch headers alone: batches, records, bytes. Nothing is decompressed.

A records field is zero or more batches, back to back (Kafka's DefaultRecordBatch, LegacyRecord): base offset int64,
length int32 of what follows, 4 bytes, magic int8. Magic 2 counts its records in its header; an uncompressed message
of magic 0 or 1 is a batch of one record; a compressed one is a wrapper around messages that only decompression can
count, and counts as 1. The last batch of a Fetch response may be cut short: it is not counted. Reading stops at a
length below the least of its magic or a magic above 2, for what follows is no batch.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kafkascope_parsers.machine.gather import read_only

_OVERHEAD = 12  # base offset and length
_LEAST_V0, _LEAST_V1, _LEAST_V2 = 14, 22, 49
"""Least length after the overhead: crc to value length, the same with a timestamp, leader epoch to records count."""
_LEAST_RECORD = 7  # of magic 2: length, attributes, timestamp and offset deltas, key and value lengths, header count


@njit(cache=True, nogil=True, inline="always")
def _int32(buf, p):  # type: ignore[no-untyped-def]
    v = np.int64(buf[p]) << 24 | np.int64(buf[p + 1]) << 16 | np.int64(buf[p + 2]) << 8 | np.int64(buf[p + 3])
    return v - (v >> 31 << 32)


@njit(cache=True, nogil=True)
def _summarize(buf, offsets, lengths, n_batches, n_records, record_bytes):  # type: ignore[no-untyped-def]
    for i in range(len(offsets)):
        p = offsets[i]
        end = p + max(np.int64(lengths[i]), 0)
        if p < 0 or end > len(buf):
            continue
        while end - p > _OVERHEAD + 4:
            n = _int32(buf, p + 8)
            magic = buf[p + 16]
            least = _LEAST_V2 if magic == 2 else _LEAST_V1 if magic == 1 else _LEAST_V0
            if magic > 2 or n < least or n > end - p - _OVERHEAD:
                break
            count = np.int64(1)
            if magic == 2:
                # A hostile count is held to what can be: every record has an offset of its own up to the last one,
                # and takes bytes.
                count = max(np.int64(0), min(_int32(buf, p + 57), _int32(buf, p + 23) + 1))
                if buf[p + 22] & 7 == 0:
                    count = min(count, (n - _LEAST_V2) // _LEAST_RECORD)
            n_batches[i] += 1
            n_records[i] += count
            record_bytes[i] += _OVERHEAD + n
            p += _OVERHEAD + n


def summarize_record_sets(
    buf: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """(batches int32, records int64, bytes of whole batches int64) per records field buf[offsets[i]:+lengths[i]];
    zeros for null (length -1)."""
    n = len(offsets)
    out = np.zeros(n, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64)
    spans = read_only(np.asarray(offsets, np.int64)), read_only(np.asarray(lengths, np.int32))
    _summarize(read_only(np.asarray(buf, np.uint8)), *spans, *out)
    return out
