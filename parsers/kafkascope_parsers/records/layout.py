"""What kernels and readers of record sets share: the row of a batch, and Kafka's names for its numbers.

A records field is zero or more batches, back to back (Kafka's DefaultRecordBatch, LegacyRecord): base offset int64,
length int32 of what follows, 4 bytes, magic int8. An uncompressed message of magic 0 or 1 is a batch of one record; a
compressed one is a wrapper around messages. The last batch of a Fetch response may be cut short: it is none, and no
error. Reading stops at a length below the least of its magic or a magic above 2, for what follows is no batch.
"""

import numpy as np

from kafkascope_parsers.kernels import inlined, kernel

OVERHEAD = 12
"""Base offset and length."""
LEAST_V0, LEAST_V1, LEAST_V2 = 14, 22, 49
"""Least length after the overhead: crc to value length, the same with a timestamp, leader epoch to records count."""
LEAST_RECORD = 7
"""Least length of a record of magic 2: length, attributes, timestamp and offset deltas, key and value lengths, header
count."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMESTAMP_TYPES = ("create", "log_append")
CONTROL_TYPES = (
    "abort",
    "commit",
    "leader_change",
    "snapshot_header",
    "snapshot_footer",
    "kraft_version",
    "kraft_voters",
)
"""Kafka's ControlRecordType by its number."""
NO_CONTROL, OTHER_CONTROL = -1, -2

CODEC_BITS, LOG_APPEND_BIT, TRANSACTIONAL_BIT, CONTROL_BIT, DELETE_HORIZON_BIT = 7, 8, 16, 32, 64

BATCH = np.dtype(
    [
        ("record_set", np.int64),
        ("position", np.int64),
        ("size", np.int64),
        ("base_offset", np.int64),
        ("last_offset", np.int64),
        ("n_records", np.int64),
        ("base_timestamp", np.int64),
        ("max_timestamp", np.int64),
        ("producer_id", np.int64),
        ("leader_epoch", np.int32),
        ("base_sequence", np.int32),
        ("crc", np.uint32),
        ("attributes", np.int16),
        ("producer_epoch", np.int16),
        ("control_type", np.int16),
        ("magic", np.int8),
        ("crc_valid", np.int8),
    ]
)
"""A batch as its header says. record_set: number of the records field; position: its first byte in the buffer; size:
with the 12 bytes of overhead; n_records: -1 where only decompression shows it (magic 0 and 1); base_offset: of a
compressed message of magic 0 or 1 the offset of its last record; timestamps in milliseconds as on the wire, -1 for
none; control_type: index into CONTROL_TYPES, NO_CONTROL, or OTHER_CONTROL for a type that no release has."""


@inlined
def read_int16(buf, p):  # type: ignore[no-untyped-def]
    """The int16 at p."""
    v = np.int64(buf[p]) << 8 | np.int64(buf[p + 1])
    return v - (v >> 15 << 16)


@inlined
def read_int32(buf, p):  # type: ignore[no-untyped-def]
    """The int32 at p."""
    v = np.int64(buf[p]) << 24 | np.int64(buf[p + 1]) << 16 | np.int64(buf[p + 2]) << 8 | np.int64(buf[p + 3])
    return v - (v >> 31 << 32)


@inlined
def read_int64(buf, p):  # type: ignore[no-untyped-def]
    """The int64 at p."""
    return read_int32(buf, p) << 32 | (read_int32(buf, p + 4) & 0xFFFFFFFF)


@kernel
def batch_size(buf, p, end):  # type: ignore[no-untyped-def]
    """Size of the whole batch at p, 0 where there is none before end; end is inside the buffer."""
    if end - p <= OVERHEAD + 4:
        return np.int64(0)
    n = read_int32(buf, p + 8)
    magic = buf[p + 16]
    least = LEAST_V2 if magic == 2 else LEAST_V1 if magic == 1 else LEAST_V0
    if magic > 2 or n < least or n > end - p - OVERHEAD:
        return np.int64(0)
    return OVERHEAD + n


@kernel
def record_count(buf, p, size):  # type: ignore[no-untyped-def]
    """Records of the batch of magic 2 at p. A hostile count is held to what can be: every record has an offset of its
    own up to the last one, and takes bytes.
    """
    count = max(np.int64(0), min(read_int32(buf, p + 57), read_int32(buf, p + 23) + 1))
    if buf[p + 22] & CODEC_BITS == 0:
        count = min(count, (size - OVERHEAD - LEAST_V2) // LEAST_RECORD)
    return count
