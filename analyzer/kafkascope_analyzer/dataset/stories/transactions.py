"""`transactions`: what each transactional producer began, how it ended, and whom it held back meanwhile."""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column, Table, i16, i32, i64, text, texts, time

OUTCOMES = ("committed", "aborted", "fenced", "hanging", "open", "cut")
END_KINDS = ("commit", "abort", "coordinator", "init_producer_id")
VERDICTS = ("confirmed", "claimed", "refused")

HELD_BACK = pa.struct(
    [
        ("client_instance_id", pa.string()),
        ("partition", pa.string()),
        ("last_stable_offset", pa.int64()),
        ("from_ns", pa.int64()),
        ("until_ns", pa.int64()),
        ("records", pa.int64()),
        ("request_id", pa.string()),
    ]
)

TRANSACTIONS = Table(
    "transactions",
    "transaction",
    (
        i64("transaction_no", "number of the transaction of its transactional id in the capture, from 1"),
        text("transactional_id", "transactional id; null where only consumers show the transaction, held back by it"),
        i64("producer_id", "producer id"),
        i16("producer_epoch", "producer epoch"),
        text("transactions", "protocol: v2 (KIP-890) or v1; null where the wire does not show it", "v1", "v2"),
        text("client_instance_id", "client"),
        *time("begin", "first request that belongs to it; null where it began before the capture"),
        *time("end", "answer that ended it; null where none did"),
        text(
            "outcome",
            "how it ended: fenced (another instance took the id over), hanging (left open by a client that went away, "
            "or longer than its timeout), open (at the end of the capture), cut (it began before the capture, or its "
            "end is not in it; see end_kind)",
            *OUTCOMES,
        ),
        texts("partitions", "topic-partitions written, sorted"),
        texts("offset_groups", "groups whose offsets it commits, sorted"),
        i64("n_batches", "record batches that no answer refused, each counted once however often it was sent"),
        i64("n_records", "records in them"),
        i64("n_markers", "markers written for it, where traffic between brokers shows them"),
        text("fenced_by", "client instance that took its transactional id over while it was open or its client lived"),
        text(
            "end_kind",
            "what ended it: EndTxn (commit, abort), the coordinator (its timeout was over), InitProducerId; null "
            "where nothing did",
            *END_KINDS,
        ),
        text("verdict", "what the answer to its EndTxn says; null where none was sent", *VERDICTS),
        i64("duration_ms", "begin to end, or to the end of the capture where it still was open, milliseconds"),
        i32("transaction_timeout_ms", "transaction.timeout.ms of its producer, as InitProducerId says"),
        *time("fenced", "InitProducerId that took its transactional id over"),
        *time("left", "when its client went away and left it open"),
        texts("error_names", "errors in answers to its requests, sorted"),
        text("incident_id", "incident that one which was not committed belongs to; null where it belongs to none"),
        texts("evidence", "request ids that prove it, in order of time; at most 32"),
        Column(
            "held_back",
            pa.list_(HELD_BACK),
            "read_committed consumers that could not read past it: the partition, the last stable offset that stayed "
            "there, first and last answer that shows it (nanoseconds since the epoch), records behind it, the last "
            "such Fetch",
        ),
    ),
)
