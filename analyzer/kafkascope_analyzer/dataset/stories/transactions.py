"""`transactions`: what each transactional producer began, and how it ended."""

from kafkascope_analyzer.dataset.contract import Table, i16, i64, text, texts, time

OUTCOMES = ("committed", "aborted", "fenced", "hanging", "open", "cut")

TRANSACTIONS = Table(
    "transactions",
    "transaction",
    (
        i64("transaction_no", "number of the transaction of its transactional id in the capture, from 1"),
        text("transactional_id", "transactional id"),
        i64("producer_id", "producer id"),
        i16("producer_epoch", "producer epoch"),
        text("transactions", "protocol: v2 (KIP-890) or v1", "v1", "v2"),
        text("client_instance_id", "client"),
        *time("begin", "first request that belongs to it"),
        *time("end", "answer that ended it; null where none did"),
        text("outcome", "how it ended", *OUTCOMES),
        texts("partitions", "topic-partitions written, sorted"),
        texts("offset_groups", "groups whose offsets it commits, sorted"),
        i64("n_batches", "record batches"),
        i64("n_records", "records"),
        i64("n_markers", "markers written for it, where traffic between brokers shows them"),
        text("fenced_by", "client instance that took its transactional id over"),
    ),
)
