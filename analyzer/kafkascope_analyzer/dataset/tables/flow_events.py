"""Kinds of `events` that show what flowed through a topic-partition on one connection in one slice of time. Their key
is the topic-partition."""

from collections.abc import Mapping

import pyarrow as pa

from kafkascope_analyzer.dataset.latency_histogram import HISTOGRAM

_SLICE = [
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("node_id", pa.int32()),
    ("slice_ms", pa.int64()),
    ("last_ns", pa.int64()),
]
_RECORDS = [
    *_SLICE,
    ("n_records", pa.int64()),
    ("record_bytes", pa.int64()),
    ("latencies", HISTOGRAM),
    ("end_offset", pa.int64()),
]
FLOW_KINDS: Mapping[str, pa.StructType] = {
    "produce_slice": pa.struct(_RECORDS),
    "fetch_slice": pa.struct(
        [
            *_RECORDS,
            ("first_ns", pa.int64()),
            ("next_offset", pa.int64()),
            ("lag_first", pa.int64()),
            ("lag_last", pa.int64()),
            ("lag_max", pa.int64()),
        ]
    ),
    "commit_slice": pa.struct([*_SLICE, ("group_id", pa.string()), ("committed_offset", pa.int64())]),
}
"""The time of a row is the begin of the slice, which is slice_ms long; last_ns: the last response that counts, of
commits the last request.

produce_slice: record batches that brokers accepted. latencies: from the creation of the records, on the capture's
clock, to the first byte of the response that accepted them; end_offset: after the last record that was accepted.
fetch_slice: responses to Fetch of a consumer. n_records, latencies: records that no earlier response to the same group
(to the same connection, where its group is not clear) had brought; from the response that accepted them to the one that
brought them. end_offset: the highest high watermark; next_offset: after the last record that the connection has; lag_*:
high watermark minus next_offset, after the first and the last response, and the highest of all.
commit_slice: the offset that was committed last for a group, of those that its coordinator accepted."""
