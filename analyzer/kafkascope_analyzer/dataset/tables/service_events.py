"""Kinds of `events` that show how producers and consumers of a topic-partition were served. Their key is the
topic-partition."""

from collections.abc import Mapping

import pyarrow as pa

_RUN = [
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("node_id", pa.int32()),
    ("request_id", pa.string()),
    ("last_request_id", pa.string()),
    ("n", pa.int64()),
]
"""n requests about a topic-partition at a broker: the first and the last of them."""
SERVICE_KINDS: Mapping[str, pa.StructType] = {
    "produce_wait": pa.struct(
        [
            *_RUN,
            ("created_ns", pa.int64()),
            ("sent_ns", pa.int64()),
            ("last_sent_ns", pa.int64()),
            ("accepted_ns", pa.int64()),
            ("longest_ns", pa.int64()),
            ("ended_ns", pa.int64()),
            ("error_name", pa.string()),
        ]
    ),
    "fetch_run": pa.struct(
        [
            *_RUN,
            ("n_records", pa.int64()),
            ("first_ns", pa.int64()),
            ("last_ns", pa.int64()),
            ("first_offset", pa.int64()),
            ("next_offset", pa.int64()),
            ("next_accepted_ns", pa.int64()),
            ("last_answer_offset", pa.int64()),
            ("last_answer_accepted_ns", pa.int64()),
            ("before_last_ns", pa.int64()),
        ]
    ),
}
"""produce_wait: batches of one producer for one topic-partition that waited half a second or more, or that were not
accepted, the same outcome in a row (n requests). created_ns: when the first record was created, on the capture's clock,
without the client's usual linger; accepted_ns: the first byte of the response that accepted the last of them (null:
none did); longest_ns: the longest wait of one of the batches that were accepted; ended_ns: the last response (null:
there was none); of the first batch that is accepted after a failure on any connection of the client only accepted_ns.
fetch_run: responses to Fetch or ShareFetch that brought records of one topic-partition (n of them), until a record
waited for half a second or more: the first of them is first_ns, the last last_ns; next_accepted_ns: since when the
record at next_offset, the first that they did not bring, was there: a producer's batch was accepted or a high watermark
is above it; where the capture shows no producer of the topic-partition, since it was created, on the capture's clock
(null where the capture shows none of these). last_answer_offset: the first offset of the last response;
last_answer_accepted_ns: since when the record there was there; before_last_ns: the response before that (0: there is
none). A consumer that ends, or stands still, may have dropped its last response."""
