"""`TransactionEvent`: one event of a transactional id, decoded from a row of `events`."""

import enum
from dataclasses import dataclass

from kafkascope_analyzer.dataset.tables.event_kinds.transactions import (
    TransactionMarkers,
    TransactionRequest,
    TransactionSeen,
)
from kafkascope_parsers.api_keys import END_TXN, INIT_PRODUCER_ID
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.transactions.table import BlockedConsumer


class EventKind(enum.Enum):
    """Kinds of events that the state machine distinguishes."""

    INIT = "InitProducerId"
    END = "EndTxn"
    MARKERS = "WriteTxnMarkers of the coordinator"
    REQUEST = "another request of the producer to a coordinator"
    SEEN = "AddPartitionsToTxn of a leader that got a batch of the producer"
    WRITTEN = "Produce requests between two bounds, added up"


BOUNDS = frozenset({EventKind.INIT, EventKind.END, EventKind.MARKERS})
"""Events between which Produce requests are summed up."""
_KIND_OF_API = {INIT_PRODUCER_ID: EventKind.INIT, END_TXN: EventKind.END}


@dataclass(frozen=True, slots=True)
class TransactionEvent:
    """An event of a transactional id. Times are nanoseconds since the epoch. client: client_instance_id of the
    producer, None for requests of brokers; left_ns: last packet of that client if all its connections ended. protocol:
    v1, v2 or None if the event does not show it. last_ns, last_request_id: the last of several requests. partitions:
    `topic-partition`. errors: names of the errors in the response. blocked: elements of the column held_back."""

    kind: EventKind
    ts_ns: int
    request_id: str
    client: str | None = None
    left_ns: int | None = None
    protocol: str | None = None
    answered_ns: int | None = None
    last_ns: int | None = None
    last_request_id: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    asked_producer_id: int | None = None
    answer_producer_id: int | None = None
    answer_producer_epoch: int | None = None
    timeout_ms: int | None = None
    committed: bool | None = None
    partitions: tuple[str, ...] = ()
    group_id: str | None = None
    n_batches: int = 0
    n_records: int = 0
    errors: tuple[str, ...] = ()
    blocked: tuple[BlockedConsumer, ...] = ()


def decode_request(body: TransactionRequest, origin: Origin, left_ns: int | None) -> TransactionEvent:
    """Makes an event from a request of a client. left_ns: last packet of its client if all its connections ended."""
    return TransactionEvent(
        _KIND_OF_API.get(body.api_key, EventKind.REQUEST),
        origin.ts_ns,
        body.request_id,
        client=origin.client_instance_id,
        left_ns=left_ns,
        protocol=body.protocol,
        answered_ns=body.answered_ns,
        producer_id=body.producer_id,
        producer_epoch=body.producer_epoch,
        asked_producer_id=body.asked_producer_id,
        answer_producer_id=body.answer_producer_id,
        answer_producer_epoch=body.answer_producer_epoch,
        timeout_ms=body.timeout_ms,
        committed=body.committed,
        partitions=body.partitions,
        group_id=body.group_id,
        errors=body.errors,
    )


def decode_markers(body: TransactionMarkers, ts_ns: int) -> TransactionEvent:
    """Makes an event from markers that a coordinator wrote."""
    return TransactionEvent(
        EventKind.MARKERS,
        ts_ns,
        body.request_id,
        answered_ns=body.answered_ns,
        producer_id=body.producer_id,
        producer_epoch=body.producer_epoch,
        committed=body.committed,
        partitions=body.partitions,
    )


def decode_seen(body: TransactionSeen, ts_ns: int) -> TransactionEvent:
    """Makes an event from a request of a leader to the coordinator."""
    return TransactionEvent(
        EventKind.SEEN,
        ts_ns,
        body.request_id,
        protocol=body.protocol,
        producer_id=body.producer_id,
        producer_epoch=body.producer_epoch,
        partitions=body.partitions,
    )
