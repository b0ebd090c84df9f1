"""Kinds of `events` that tell how producers and consumers of a topic-partition were served. Their key is the
topic-partition."""

from collections.abc import Mapping

import pyarrow as pa

SERVICE_KINDS: Mapping[str, pa.StructType] = {
    "produce_wait": pa.struct(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("node_id", pa.int32()),
            ("client_id", pa.string()),
            ("acks", pa.int16()),
            ("request_id", pa.string()),
            ("last_request_id", pa.string()),
            ("n", pa.int64()),
            ("created_ns", pa.int64()),
            ("sent_ns", pa.int64()),
            ("last_sent_ns", pa.int64()),
            ("accepted_ns", pa.int64()),
            ("error_name", pa.string()),
        ]
    ),
    "fetch_run": pa.struct(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("node_id", pa.int32()),
            ("client_id", pa.string()),
            ("request_id", pa.string()),
            ("last_request_id", pa.string()),
            ("n", pa.int64()),
            ("n_records", pa.int64()),
            ("last_ns", pa.int64()),
            ("first_offset", pa.int64()),
            ("next_offset", pa.int64()),
            ("next_accepted_ns", pa.int64()),
            ("next_request_id", pa.string()),
        ]
    ),
}
"""produce_wait: batches of one producer for one topic-partition that waited half a second or more, or that were not
accepted, the same outcome in a row (n requests). created_ns: when the first record was created, on the capture's clock;
accepted_ns: the first byte of the response that accepted it. fetch_run: responses to Fetch that brought records of one
topic-partition, each later than those before, with less than half a second between them: the first of them is ts_ns,
the last last_ns; next_accepted_ns: when a producer's record at next_offset, the first that they did not bring, was
accepted (null where the capture does not show it)."""
