"""Meaning of events for a transaction: the trigger of its state, whether they belong to it, and the facts that they
add."""

from kafkascope_spark.stories.transactions.event import EventKind, TransactionEvent
from kafkascope_spark.stories.transactions.states import State, Trigger
from kafkascope_spark.stories.transactions.transaction import EPOCH_ERRORS, Transaction

LATE_MARKERS_NS = 1_000_000_000
"""Markers of a transaction that its client ended are written within a second, whether the client leaves or not."""
TRY_AGAIN = "CONCURRENT_TRANSACTIONS"


def trigger_of_end(event: TransactionEvent, transaction: Transaction, errors: set[str], at: int) -> Trigger:
    """Returns the trigger of an EndTxn. The abort of a transaction with an old epoch may still get a response without
    an error: the coordinator takes it for a repetition of its own abort."""
    commits = event.committed
    if errors & EPOCH_ERRORS or (transaction.has_epoch_error and not commits):
        return Trigger.COORDINATOR_ABORTED if transaction.is_past_timeout(at) else Trigger.EPOCH_BUMPED
    if errors - {TRY_AGAIN}:
        return Trigger.END_REFUSED
    if errors or event.answered_ns is None:
        return Trigger.COMMIT_REQUESTED if commits else Trigger.ABORT_REQUESTED
    return Trigger.COMMIT_CONFIRMED if commits else Trigger.ABORT_CONFIRMED


def trigger_of_markers(event: TransactionEvent, transaction: Transaction, at: int) -> Trigger:
    """Returns the trigger of markers. An abort without an EndTxn in the capture is by the coordinator if the timeout
    was over or the client had ended; otherwise the EndTxn is not in the capture. With v1 a new epoch shows that no
    client requested it."""
    if event.committed:
        return Trigger.COMMIT_MARKED
    bumped = transaction.protocol == "v1" and event.producer_epoch != transaction.producer_epoch
    left = transaction.left_ns
    gone = transaction.protocol != "v1" and left is not None and at - left > LATE_MARKERS_NS
    if transaction.state is State.ABORTING or not (bumped or gone or transaction.is_past_timeout(at)):
        return Trigger.ABORT_MARKED
    was_taken = bumped and transaction.timeout_ms is not None and not transaction.is_past_timeout(at)
    return Trigger.EPOCH_BUMPED if was_taken and not gone else Trigger.COORDINATOR_ABORTED


def are_markers_of(transaction: Transaction, event: TransactionEvent) -> bool:
    """Whether markers belong to this transaction. With v2, and if the coordinator ends a transaction by itself, they
    have the next epoch. No markers are written before the coordinator has accepted the begin of the transaction."""
    if transaction.producer_id != event.producer_id:
        return False
    if transaction.producer_epoch is None or event.producer_epoch is None:
        return False
    begun_ns = transaction.accepted_ns
    if not transaction.is_over and transaction.seen_begin and (begun_ns is None or begun_ns > event.ts_ns):
        return False
    ahead = event.producer_epoch - transaction.producer_epoch
    if transaction.protocol == "v2":
        return bool(ahead == 1)
    return bool(ahead == 0 or (ahead == 1 and not event.committed))


def accepted_ns(event: TransactionEvent) -> int | None:
    """Returns when the coordinator accepted the begin of the transaction, as far as a request shows it; the time of
    sending for a request without a response."""
    answered: int | None = event.answered_ns
    if event.kind is EventKind.WRITTEN and answered is not None:
        return answered
    if event.errors:
        return None
    sent: int = event.ts_ns
    return sent if answered is None else answered


def is_late_for(ended: Transaction, event: TransactionEvent, *, outdated: bool) -> bool:
    """Whether a request belongs to an ended transaction: one of a fenced client; one that the coordinator ended by
    itself; with v2 any of the same epoch, because each transaction has its own."""
    if event.producer_id is None:
        client = event.client
        return outdated and ended.fenced_by is not None and client is not None and ended.client == client
    if not ended.is_of(event.producer_id, event.producer_epoch):
        return False
    return ended.protocol == "v2" or ended.state is State.TIMED_OUT or (outdated and ended.fenced_by is not None)


def fill_in(transaction: Transaction, event: TransactionEvent) -> None:
    """Sets facts from a request that earlier requests did not show."""
    if transaction.producer_id is None:
        transaction.producer_id, transaction.producer_epoch = event.producer_id, event.producer_epoch
    if transaction.client is None:
        transaction.client, transaction.left_ns = event.client, event.left_ns


def learn_protocol(transaction: Transaction, event: TransactionEvent) -> None:
    """Sets the protocol (v1 or v2) from an event. Requests to the coordinator decide; Produce versions and requests of
    leaders count only if no such request is in the capture."""
    protocol = event.protocol
    if event.kind in (EventKind.REQUEST, EventKind.END) or transaction.protocol is None:
        transaction.protocol = protocol if protocol is not None else transaction.protocol
