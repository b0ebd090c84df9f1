"""What a records field holds, from the batch headers alone: how much, which offsets, since when. Nothing is
decompressed.

A compressed message of magic 0 or 1 is a wrapper around messages that only decompression can count: it counts as 1.
Control batches (transaction markers) are counted and move the last offset, but are not records that somebody waits for:
the first offset and the timestamps are those of batches with data.
"""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import inlined, kernel
from kafkascope_parsers.machine.gather import read_only
from kafkascope_parsers.records.layout import (
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_BIT,
    batch_size,
    read_int32,
    read_int64,
    record_count,
)

UNKNOWN = -1
"""Stands for an offset or a time that the headers do not give, as on the wire."""
RECORD_SET = np.dtype(
    [
        ("n_records", np.int64),
        ("record_bytes", np.int64),
        ("first_offset", np.int64),
        ("last_offset", np.int64),
        ("first_timestamp_ms", np.int64),
        ("max_timestamp_ms", np.int64),
        ("producer_id", np.int64),
        ("n_batches", np.int32),
        ("codec", np.int8),
    ]
)
"""A records field as its batch headers say. record_bytes: of whole batches. first_offset: of the first batch with data
(of a compressed message of magic 0 or 1 that of its last record); last_offset: of the last batch of any kind.
first_timestamp_ms: of the first record with data, or when it was appended where the broker sets the time;
max_timestamp_ms: the greatest; producer_id, codec: of the first batch with data; codec: an index of CODECS or a number
that Kafka does not have."""


@inlined
def _read_v2(buf, p, row):  # type: ignore[no-untyped-def]
    """Takes the header of a batch of magic 2 at p."""
    attributes = buf[p + 22]
    row["last_offset"] = read_int64(buf, p) + max(read_int32(buf, p + 23), 0)
    if attributes & CONTROL_BIT == 0:
        latest = read_int64(buf, p + 35)
        if row["first_offset"] == UNKNOWN:
            row["first_offset"] = read_int64(buf, p)
            row["codec"] = attributes & CODEC_BITS
            row["producer_id"] = read_int64(buf, p + 43)
            if attributes & LOG_APPEND_BIT:
                row["first_timestamp_ms"] = latest
            elif attributes & DELETE_HORIZON_BIT == 0:
                row["first_timestamp_ms"] = read_int64(buf, p + 27)
        row["max_timestamp_ms"] = max(row["max_timestamp_ms"], latest)


@inlined
def _read_message(buf, p, row):  # type: ignore[no-untyped-def]
    """Takes the header of a message of magic 0 or 1 at p."""
    is_first = row["first_offset"] == UNKNOWN
    row["last_offset"] = read_int64(buf, p)
    if is_first:
        row["first_offset"] = row["last_offset"]
        row["codec"] = buf[p + 17] & CODEC_BITS
    if buf[p + 16] == 1:
        latest = read_int64(buf, p + 18)
        if is_first:
            row["first_timestamp_ms"] = latest
        row["max_timestamp_ms"] = max(row["max_timestamp_ms"], latest)


@kernel
def _summarize(buf, offsets, lengths, out):  # type: ignore[no-untyped-def]
    for i in range(len(offsets)):
        row = out[i]
        row["n_records"] = row["record_bytes"] = row["n_batches"] = 0
        row["first_offset"] = row["last_offset"] = row["producer_id"] = row["codec"] = UNKNOWN
        row["first_timestamp_ms"] = row["max_timestamp_ms"] = UNKNOWN
        p = offsets[i]
        end = p + max(np.int64(lengths[i]), 0)
        if p < 0 or end > len(buf):
            continue
        size = batch_size(buf, p, end)
        while size > 0:
            row["n_batches"] += 1
            row["record_bytes"] += size
            if buf[p + 16] == 2:
                row["n_records"] += record_count(buf, p, size)
                _read_v2(buf, p, row)
            else:
                row["n_records"] += 1
                _read_message(buf, p, row)
            p += size
            size = batch_size(buf, p, end)


def summarize_record_sets(
    buf: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int32]
) -> NDArray[np.void]:
    """RECORD_SET per records field buf[offsets[i]:+lengths[i]]; no batches, and all else UNKNOWN, for null (length
    -1)."""
    out = np.empty(len(offsets), RECORD_SET)
    spans = read_only(np.asarray(offsets, np.int64)), read_only(np.asarray(lengths, np.int32))
    _summarize(read_only(np.asarray(buf, np.uint8)), *spans, out)
    return out
