"""Events of a transactional id. Partitions are `topic-partition`; protocol is v2 (KIP-890) or v1.

The order of the kinds is the order of events that have the same time: events that separate spans of Produce requests
(InitProducerId, EndTxn, markers) come before Produce.
"""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I16, I32
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event, event_kind

RequestId = Annotated[str, "id of the request"]
ProducerId = Annotated[int | None, "producer id"]
ProducerEpoch = Annotated[int | None, I16, "producer epoch"]
Protocol = Annotated[str | None, "v1 or v2 (KIP-890); null where the event does not show it"]
SHORTEST_UNSEEN_NS = 10_000_000_000
"""Shortest blocking time for which a transaction whose requests are not in the capture gets a row: brokers look every
10 s for transactions whose timeout is over (transaction.abort.timed.out.transaction.cleanup.interval.ms)."""
Committed = Annotated[bool | None, "whether it commits"]


@event_kind(
    "transaction_request",
    "InitProducerId, AddPartitionsToTxn (up to version 3), AddOffsetsToTxn, TxnOffsetCommit or EndTxn of a client, "
    "with its response",
    key_kind="transaction",
)
@dataclass(slots=True)
class TransactionRequest(Event):
    """InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit or EndTxn of a client."""

    request_id: RequestId
    api_key: Annotated[int, I16, "API key"]
    protocol: Protocol
    answered_ns: Annotated[int | None, "the response"]
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    asked_producer_id: Annotated[int | None, "producer id in the InitProducerId request"]
    answer_producer_id: Annotated[int | None, "producer id of its response"]
    answer_producer_epoch: Annotated[int | None, I16, "producer epoch of its response"]
    timeout_ms: Annotated[int | None, I32, "requested transaction timeout"]
    committed: Committed
    partitions: Annotated[tuple[str, ...], "topic-partitions in the request"]
    group_id: Annotated[str | None, "group whose offsets the request commits"]
    errors: Annotated[tuple[str, ...], "names of the errors in the response, sorted"]


@event_kind(
    "transaction_markers",
    "WriteTxnMarkers of a coordinator for one producer id",
    key_kind="transaction",
)
@dataclass(slots=True)
class TransactionMarkers(Event):
    """WriteTxnMarkers of a coordinator."""

    request_id: RequestId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    committed: Committed
    answered_ns: Annotated[int | None, "the response"]
    partitions: Annotated[tuple[str, ...], "topic-partitions in which the marker was written"]


@event_kind(
    "transaction_seen",
    "AddPartitionsToTxn (from version 4) of a partition leader, which asks the coordinator about a producer whose "
    "batch it has received",
    key_kind="transaction",
)
@dataclass(slots=True)
class TransactionSeen(Event):
    """AddPartitionsToTxn of a leader."""

    request_id: RequestId
    protocol: Protocol
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    partitions: Annotated[tuple[str, ...], "topic-partitions of the batch"]


@event_kind(
    "transaction_written",
    "the Produce requests of one connection between two bounds (InitProducerId, EndTxn or markers of the transactional "
    "id, on any connection)",
    key_kind="transaction",
)
@dataclass(slots=True)
class TransactionWritten(Event):
    """Produce requests of one connection between two bounds."""

    request_id: Annotated[str, "id of the first request"]
    last_request_id: Annotated[str, "id of the last request"]
    last_ns: Annotated[int, "first byte of the last request"]
    answered_ns: Annotated[int | None, "time of the first response"]
    protocol: Protocol
    n_answered: Annotated[int, "topic-partitions of requests with a response"]
    kept_batches: Annotated[int, "batches that responses accepted"]
    kept_records: Annotated[int, "records that responses accepted"]
    sent_batches: Annotated[int, "batches that no response refused"]
    sent_records: Annotated[int, "records that no response refused"]
    partitions: Annotated[tuple[str, ...], "topic-partitions written to"]
    first_offsets: Annotated[tuple[int | None, ...], "lowest offset in a response for each of these, null without one"]
    errors: Annotated[tuple[str, ...], "names of the errors in the responses"]


@event_kind(
    "transaction_blocked_by_lso",
    "a read_committed consumer behind a last stable offset that did not move; its time is that of the Produce request "
    "whose first batch has that offset; the key is empty where the transaction is not in the capture",
    key_kind="transaction",
)
@dataclass(slots=True)
class TransactionBlockedByLso(Event):
    """A read_committed consumer that a last stable offset blocked, which did not move."""

    request_id: Annotated[str, "id of the last Fetch that shows it"]
    partition: Annotated[str, "topic-partition"]
    last_stable_offset: Annotated[int, "last stable offset"]
    from_ns: Annotated[int, "the first response that shows it"]
    until_ns: Annotated[int, "the last response that shows it"]
    lowest_high_watermark: Annotated[int, "lowest high watermark of these responses"]
    highest_high_watermark: Annotated[int, "highest high watermark of these responses"]


TransactionEventBody = (
    TransactionRequest | TransactionMarkers | TransactionSeen | TransactionWritten | TransactionBlockedByLso
)
