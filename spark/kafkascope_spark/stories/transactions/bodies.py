"""What happened to a transactional id, as the structs of its events have it (dataset.tables.transaction_events)."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class RequestBody:
    """InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit or EndTxn of a client."""

    request_id: str
    api_key: int
    protocol: str | None
    answered_ns: int | None
    producer_id: int | None
    producer_epoch: int | None
    asked_producer_id: int | None
    answer_producer_id: int | None
    answer_producer_epoch: int | None
    timeout_ms: int | None
    committed: bool | None
    partitions: Sequence[str] | None
    group_id: str | None
    errors: Sequence[str] | None


@dataclass(slots=True)
class MarkersBody:
    """WriteTxnMarkers of a coordinator."""

    request_id: str
    producer_id: int | None
    producer_epoch: int | None
    committed: bool | None
    answered_ns: int | None
    partitions: Sequence[str] | None


@dataclass(slots=True)
class SeenBody:
    """AddPartitionsToTxn of a leader."""

    request_id: str
    protocol: str | None
    producer_id: int | None
    producer_epoch: int | None
    partitions: Sequence[str] | None


@dataclass(slots=True)
class WrittenBody:
    """Produce requests of one connection between two bounds."""

    request_id: str
    last_request_id: str
    last_ns: int
    answered_ns: int | None
    protocol: str | None
    n_answered: int
    kept_batches: int
    kept_records: int
    sent_batches: int
    sent_records: int
    partitions: Sequence[str]
    first_offsets: Sequence[int | None]
    errors: Sequence[str] | None


@dataclass(slots=True)
class BlockedBody:
    """A read_committed consumer behind a last stable offset that did not move."""

    request_id: str
    partition: str
    last_stable_offset: int
    from_ns: int
    until_ns: int
    lowest_high_watermark: int
    highest_high_watermark: int


TransactionEventBody = RequestBody | MarkersBody | SeenBody | WrittenBody | BlockedBody
TRANSACTION_EVENTS = {
    "transaction_request": RequestBody,
    "transaction_markers": MarkersBody,
    "transaction_seen": SeenBody,
    "transaction_written": WrittenBody,
    "transaction_blocked_by_lso": BlockedBody,
}
