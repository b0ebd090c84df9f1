"""The batches of records fields, one row each, from their headers, with a check of their checksums. Nothing is
decompressed.

Layouts: Kafka's DefaultRecordBatch (magic 2) and LegacyRecord (magic 0, 1).
"""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.machine.gather import read_only
from kafkascope_parsers.records.checksums import CASTAGNOLI_TABLES, ISO_3309_TABLES, crc32c, crc_by_tables
from kafkascope_parsers.records.layout import (
    BATCH,
    CODEC_BITS,
    CONTROL_BIT,
    CONTROL_TYPES,
    NO_CONTROL,
    OTHER_CONTROL,
    batch_size,
    read_int16,
    read_int32,
    read_int64,
    record_count,
)
from kafkascope_parsers.records.summary import summarize_record_sets

_RECORDS_AT = 61
_N_CONTROL_TYPES = len(CONTROL_TYPES)


@kernel
def _control_type(buf, p, end):  # type: ignore[no-untyped-def]
    """The type in the key of the first record, which starts at p: length, attributes, two deltas, key length, then
    version int16 and type int16.
    """
    for skip in range(5):
        if skip == 1:
            p += 1
            continue
        left = 10
        while p < end and left > 0 and buf[p] >= 0x80:
            p += 1
            left -= 1
        p += 1
    if end - p < 4:
        return OTHER_CONTROL
    kind = read_int16(buf, p + 2)
    return kind if 0 <= kind < _N_CONTROL_TYPES else OTHER_CONTROL


@kernel
def _read_v2(buf, p, size, row, tables):  # type: ignore[no-untyped-def]
    attributes = read_int16(buf, p + 21)
    row["leader_epoch"] = read_int32(buf, p + 12)
    row["crc"] = read_int32(buf, p + 17) & 0xFFFFFFFF
    row["crc_valid"] = crc32c(buf, p + 21, p + size, tables) == row["crc"]
    row["attributes"] = attributes
    row["last_offset"] = row["base_offset"] + read_int32(buf, p + 23)
    row["base_timestamp"] = read_int64(buf, p + 27)
    row["max_timestamp"] = read_int64(buf, p + 35)
    row["producer_id"] = read_int64(buf, p + 43)
    row["producer_epoch"] = read_int16(buf, p + 51)
    row["base_sequence"] = read_int32(buf, p + 53)
    row["n_records"] = record_count(buf, p, size)
    row["control_type"] = NO_CONTROL
    if attributes & CONTROL_BIT:
        row["control_type"] = OTHER_CONTROL
        if row["n_records"] > 0 and attributes & CODEC_BITS == 0:
            row["control_type"] = _control_type(buf, p + _RECORDS_AT, p + size)


@kernel
def _read_message(buf, p, size, row, tables):  # type: ignore[no-untyped-def]
    """A message of magic 0 or 1."""
    attributes = np.int64(buf[p + 17])
    row["leader_epoch"] = -1
    row["crc"] = read_int32(buf, p + 12) & 0xFFFFFFFF
    row["crc_valid"] = crc_by_tables(buf, p + 16, p + size, tables) == row["crc"]
    row["attributes"] = attributes & 0xF
    row["last_offset"] = row["base_offset"]
    row["max_timestamp"] = read_int64(buf, p + 18) if row["magic"] == 1 else -1
    row["base_timestamp"] = row["max_timestamp"] if attributes & CODEC_BITS == 0 else -1
    row["producer_id"] = -1
    row["producer_epoch"] = -1
    row["base_sequence"] = -1
    row["n_records"] = 1 if attributes & CODEC_BITS == 0 else -1
    row["control_type"] = NO_CONTROL


@kernel
def _read(buf, offsets, lengths, castagnoli, iso_3309, out):  # type: ignore[no-untyped-def]
    k = 0
    for i in range(len(offsets)):
        p = offsets[i]
        end = p + max(np.int64(lengths[i]), 0)
        if p < 0 or end > len(buf):
            continue
        size = batch_size(buf, p, end)
        while size > 0 and k < len(out):
            row = out[k]
            row["record_set"] = i
            row["position"] = p
            row["size"] = size
            row["magic"] = buf[p + 16]
            row["base_offset"] = read_int64(buf, p)
            if buf[p + 16] == 2:
                _read_v2(buf, p, size, row, castagnoli)
            else:
                _read_message(buf, p, size, row, iso_3309)
            k += 1
            p += size
            size = batch_size(buf, p, end)


def read_batches(buf: NDArray[np.uint8], offsets: NDArray[np.int64], lengths: NDArray[np.int32]) -> NDArray[np.void]:
    """BATCH per whole batch of the records fields buf[offsets[i]:+lengths[i]], in order; none of a null (length -1)."""
    n_batches = summarize_record_sets(buf, offsets, lengths)["n_batches"]
    out = np.zeros(int(n_batches.sum()), BATCH)
    spans = read_only(np.asarray(offsets, np.int64)), read_only(np.asarray(lengths, np.int32))
    _read(read_only(np.asarray(buf, np.uint8)), *spans, CASTAGNOLI_TABLES, ISO_3309_TABLES, out)
    return out
