"""Kinds of `events` that show what happened to a transactional id. The order of the kinds is the order of events that
have the same time: what separates stretches of Produce requests (InitProducerId, EndTxn, markers) comes before Produce.
"""

import pyarrow as pa

_PRODUCER = (("producer_id", pa.int64()), ("producer_epoch", pa.int16()))
_PARTITIONS = ("partitions", pa.list_(pa.string()))

TRANSACTION_KINDS: dict[str, pa.StructType] = {
    "transaction_request": pa.struct(
        [
            ("request_id", pa.string()),
            ("api_key", pa.int16()),
            ("protocol", pa.string()),
            ("answered_ns", pa.int64()),
            *_PRODUCER,
            ("asked_producer_id", pa.int64()),
            ("answer_producer_id", pa.int64()),
            ("answer_producer_epoch", pa.int16()),
            ("timeout_ms", pa.int32()),
            ("committed", pa.bool_()),
            _PARTITIONS,
            ("group_id", pa.string()),
            ("errors", pa.list_(pa.string())),
        ]
    ),
    "transaction_markers": pa.struct(
        [
            ("request_id", pa.string()),
            *_PRODUCER,
            ("committed", pa.bool_()),
            ("answered_ns", pa.int64()),
            _PARTITIONS,
        ]
    ),
    "transaction_seen": pa.struct([("request_id", pa.string()), ("protocol", pa.string()), *_PRODUCER, _PARTITIONS]),
    "transaction_written": pa.struct(
        [
            ("request_id", pa.string()),
            ("last_request_id", pa.string()),
            ("last_ns", pa.int64()),
            ("answered_ns", pa.int64()),
            ("protocol", pa.string()),
            ("n_answered", pa.int64()),
            ("kept_batches", pa.int64()),
            ("kept_records", pa.int64()),
            ("sent_batches", pa.int64()),
            ("sent_records", pa.int64()),
            _PARTITIONS,
            ("first_offsets", pa.list_(pa.int64())),
            ("errors", pa.list_(pa.string())),
        ]
    ),
    "transaction_blocked_by_lso": pa.struct(
        [
            ("request_id", pa.string()),
            ("partition", pa.string()),
            ("last_stable_offset", pa.int64()),
            ("from_ns", pa.int64()),
            ("until_ns", pa.int64()),
            ("lowest_high_watermark", pa.int64()),
            ("highest_high_watermark", pa.int64()),
        ]
    ),
}
"""Kinds of events of a transactional id, each with its struct. Partitions are `topic-partition`; protocol is v2
(KIP-890) or v1.

transaction_request: InitProducerId, AddPartitionsToTxn (up to version 3), AddOffsetsToTxn, TxnOffsetCommit or EndTxn of
a client, with its answer; asked_producer_id: the producer id that InitProducerId names; errors: names of the errors in
the answer, sorted. transaction_markers: WriteTxnMarkers of a coordinator for one producer id, with the partitions where
the marker was written. transaction_seen: AddPartitionsToTxn (from version 4) of the leader of partitions, which asks
the coordinator about a producer whose batch it got. transaction_written: the Produce requests of one connection between
two bounds (InitProducerId, EndTxn or markers of the transactional id, on any connection); n_answered counts
topic-partitions of requests with an answer, kept_* what the answers accepted, sent_* what they did not refuse;
first_offsets: per partition the lowest offset that an answer gave, null without one. transaction_blocked_by_lso: a
read_committed consumer behind a last stable offset that did not move: first and last answer that show it, request_id of
the last one; its time is that of the Produce request whose first batch has that offset; the key is empty where no such
request is in the capture.
"""
