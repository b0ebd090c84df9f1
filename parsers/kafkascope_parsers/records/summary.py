"""What a records field holds, from the batch headers alone: batches, records, bytes. Nothing is decompressed.

A compressed message of magic 0 or 1 is a wrapper around messages that only decompression can count: it counts as 1.
"""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.machine.gather import read_only
from kafkascope_parsers.records.layout import batch_size, record_count


@kernel
def _summarize(buf, offsets, lengths, n_batches, n_records, record_bytes):  # type: ignore[no-untyped-def]
    for i in range(len(offsets)):
        p = offsets[i]
        end = p + max(np.int64(lengths[i]), 0)
        if p < 0 or end > len(buf):
            continue
        size = batch_size(buf, p, end)
        while size > 0:
            n_batches[i] += 1
            n_records[i] += record_count(buf, p, size) if buf[p + 16] == 2 else 1
            record_bytes[i] += size
            p += size
            size = batch_size(buf, p, end)


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
