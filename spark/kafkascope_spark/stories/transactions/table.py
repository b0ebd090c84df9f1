"""The table `transactions`: the transactions of transactional producers, their ends, and the consumers that they
blocked."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I16, I32, TIME, StoryRow, declares

OUTCOMES = ("committed", "aborted", "fenced", "hanging", "open", "cut")
END_KINDS = ("commit", "abort", "coordinator", "init_producer_id")
VERDICTS = ("confirmed", "claimed", "refused")
PROTOCOLS = ("v1", "v2")


@dataclass(frozen=True, slots=True)
class BlockedConsumer:
    """A read_committed consumer that was blocked by a transaction."""

    client_instance_id: str | None
    partition: str
    last_stable_offset: int
    from_ns: int
    until_ns: int
    records: int
    request_id: str


@declares(
    "transactions", "transaction", sorted_by=("begin_ns", "transactional_id", "transaction_no"), salted=("incident_id",)
)
@dataclass(slots=True)
class TransactionRow(StoryRow):
    """A row of stories/transactions."""

    transaction_no: Annotated[int | None, "number of the transaction of its transactional id in the capture, from 1"]
    transactional_id: Annotated[
        str | None, "transactional id; null where only consumers show the transaction, held back by it"
    ]
    producer_id: Annotated[int | None, "producer id"]
    producer_epoch: Annotated[int | None, I16, "producer epoch"]
    transactions: Annotated[str | None, PROTOCOLS, "protocol: v2 (KIP-890) or v1; null where the wire does not show it"]
    client_instance_id: Annotated[str | None, "client"]
    begin_ns: Annotated[int | None, TIME, "first request that belongs to it; null where it began before the capture"]
    end_ns: Annotated[int | None, TIME, "response that ended it; null where none did"]
    outcome: Annotated[
        str,
        OUTCOMES,
        "how it ended: fenced (another instance took the id over), hanging (left open by a client that went away, "
        "or longer than its timeout), open (at the end of the capture), cut (it began before the capture, or its "
        "end is not in it; see end_kind)",
    ]
    partitions: Annotated[tuple[str, ...], "topic-partitions written, sorted"]
    offset_groups: Annotated[tuple[str, ...], "groups whose offsets it commits, sorted"]
    n_batches: Annotated[int, "record batches that no response refused; one that was sent again counts once"]
    n_records: Annotated[int, "records in them"]
    n_markers: Annotated[int, "markers written for it, where traffic between brokers shows them"]
    fenced_by: Annotated[
        str | None, "client instance that took its transactional id over while it was open or its client lived"
    ]
    end_kind: Annotated[
        str | None,
        END_KINDS,
        "what ended it: EndTxn (commit, abort), the coordinator (its timeout was over), InitProducerId; null "
        "where nothing did",
    ]
    verdict: Annotated[str | None, VERDICTS, "result in the response to its EndTxn; null where none was sent"]
    duration_ms: Annotated[
        int | None, "begin to end, or to the end of the capture where it still was open, milliseconds"
    ]
    transaction_timeout_ms: Annotated[int | None, I32, "transaction.timeout.ms of its producer, from InitProducerId"]
    fenced_ns: Annotated[int | None, TIME, "InitProducerId that took over its transactional id"]
    left_ns: Annotated[int | None, TIME, "when its client ended and left it open"]
    error_names: Annotated[tuple[str, ...], "errors in responses to its requests, sorted"]
    incident_id: Annotated[
        str | None, "incident that one which was not committed belongs to; null where it belongs to none"
    ]
    evidence: Annotated[tuple[str, ...], "request ids that prove it, in order of time; at most 32"]
    held_back: Annotated[
        tuple[BlockedConsumer, ...],
        "read_committed consumers that could not read past it: the partition, the last stable offset that stayed "
        "there, first and last answer that shows it (nanoseconds since the epoch), records behind it, the last "
        "such Fetch",
    ]

    @property
    def went_well(self) -> bool:
        """Whether it belongs to no incident in any case: it was committed, or is cut."""
        return self.outcome in ("committed", "cut")

    @property
    def took_us(self) -> int | None:
        """Microseconds from begin to end; None if one of them is not in the capture."""
        return None if self.begin_ns is None or self.end_ns is None else (self.end_ns - self.begin_ns) // 1000

    @property
    def n_blocked_consumers(self) -> int:
        """Number of consumers that it blocked."""
        return len({consumer.client_instance_id for consumer in self.held_back})


TRANSACTIONS = TransactionRow.TABLE
