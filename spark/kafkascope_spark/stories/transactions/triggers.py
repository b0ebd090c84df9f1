"""What an event means for a transaction: the trigger of its state, whether it belongs to it, what it shows of it."""

from kafkascope_spark.stories.transactions.event import EventKind, TransactionEvent
from kafkascope_spark.stories.transactions.states import State, Trigger
from kafkascope_spark.stories.transactions.transaction import EPOCH_ERRORS, Transaction

LATE_MARKERS_NS = 1_000_000_000
"""Markers of a transaction that its client ended are written within a second, whether the client leaves or not."""
TRY_AGAIN = "CONCURRENT_TRANSACTIONS"


def trigger_of_end(event: TransactionEvent, transaction: Transaction, errors: set[str], at: int) -> Trigger:
    """What an EndTxn means. The abort of a transaction whose epoch was bumped may still be answered without an error:
    the coordinator takes it for a repetition of its own abort."""
    commits = event.committed
    if errors & EPOCH_ERRORS or (transaction.has_epoch_error and not commits):
        return Trigger.COORDINATOR_ABORTED if transaction.is_past_timeout(at) else Trigger.EPOCH_BUMPED
    if errors - {TRY_AGAIN}:
        return Trigger.END_REFUSED
    if errors or event.answered_ns is None:
        return Trigger.COMMIT_REQUESTED if commits else Trigger.ABORT_REQUESTED
    return Trigger.COMMIT_CONFIRMED if commits else Trigger.ABORT_CONFIRMED


def trigger_of_markers(event: TransactionEvent, transaction: Transaction, at: int) -> Trigger:
    """What markers mean. An abort without an EndTxn in the capture is the coordinator's where the timeout was over or
    the client had gone; otherwise its EndTxn is not in the capture. With v1 a bumped epoch shows that no client asked
    for it."""
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
    """Whether markers are this transaction's. With v2, and where the coordinator ends a transaction by itself, they
    carry the next epoch. None are written before the coordinator has accepted the transaction as begun."""
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
    """When the coordinator accepted the transaction as begun, as far as a request shows it; the time of sending for a
    request without an answer."""
    answered: int | None = event.answered_ns
    if event.kind is EventKind.WRITTEN and answered is not None:
        return answered
    if event.errors:
        return None
    sent: int = event.ts_ns
    return sent if answered is None else answered


def is_late_for(ended: Transaction, event: TransactionEvent, *, outdated: bool) -> bool:
    """Whether a request belongs to a transaction that has ended: one of a fenced client; one that the coordinator
    ended and its client did not; with v2 any of the same epoch, which is no other transaction's."""
    if event.producer_id is None:
        client = event.client
        return outdated and ended.fenced_by is not None and client is not None and ended.client == client
    if not ended.is_of(event.producer_id, event.producer_epoch):
        return False
    return ended.protocol == "v2" or ended.state is State.TIMED_OUT or (outdated and ended.fenced_by is not None)


def fill_in(transaction: Transaction, event: TransactionEvent) -> None:
    """Takes from a request what those before it did not show."""
    if transaction.producer_id is None:
        transaction.producer_id, transaction.producer_epoch = event.producer_id, event.producer_epoch
    if transaction.client is None:
        transaction.client, transaction.left_ns = event.client, event.left_ns


def learn_protocol(transaction: Transaction, event: TransactionEvent) -> None:
    """Takes v1 or v2 from an event. Requests to the coordinator decide; the versions of Produce and what leaders ask
    count only where no such request is in the capture."""
    protocol = event.protocol
    if event.kind in (EventKind.REQUEST, EventKind.END) or transaction.protocol is None:
        transaction.protocol = protocol if protocol is not None else transaction.protocol
