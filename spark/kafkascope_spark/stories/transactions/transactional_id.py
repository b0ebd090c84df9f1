"""`TransactionalId`: follows the events of one transactional id and makes its transactions."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kafkascope_analyzer.dataset.tables.event_kinds.transactions import (
    TransactionBlockedByLso,
    TransactionEventBody,
    TransactionMarkers,
    TransactionRequest,
    TransactionSeen,
    TransactionWritten,
)
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.transactions.event import (
    BOUNDS,
    EventKind,
    TransactionEvent,
    decode_markers,
    decode_request,
    decode_seen,
)
from kafkascope_spark.stories.transactions.states import State, Trigger
from kafkascope_spark.stories.transactions.stretch import Stretch
from kafkascope_spark.stories.transactions.table import BlockedConsumer, TransactionRow
from kafkascope_spark.stories.transactions.transaction import Transaction
from kafkascope_spark.stories.transactions.triggers import (
    TRY_AGAIN,
    accepted_ns,
    are_markers_of,
    fill_in,
    is_late_for,
    learn_protocol,
    trigger_of_end,
    trigger_of_markers,
)

LATE = 4
"""Number of ended transactions that still accept markers and requests. It is small because markers come within a
second, and the coordinator lets no transaction begin before they are written."""
MOST_FORMER = 16
"""Largest number of former holders of the id that are kept, the latest ones."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of the transactional id: the client of the last InitProducerId, and the producer id and epoch that it
    got."""

    client: str | None
    producer_id: int | None
    producer_epoch: int | None
    timeout_ms: int | None
    since_ns: int
    request_id: str


class TransactionalId:
    """Follows the events of one transactional id."""

    def __init__(self, name: str, capture_end_ns: int) -> None:
        self.name = name
        self._end_ns = capture_end_ns
        self._left_ns: dict[str, int | None] = {}
        self._stretch = Stretch()
        self._unmatched: list[list[BlockedConsumer]] = []
        self._open: Transaction | None = None
        self._ended: deque[Transaction] = deque()
        self._holder: Holder | None = None
        self._former: deque[str | None] = deque(maxlen=MOST_FORMER)
        self._number = 0
        self._shows_client = False

    def note_end(self, client: str, left_ns: int | None) -> None:
        """Records the last packet of a client whose connections all ended. All such calls come before other events."""
        self._left_ns[client] = left_ns

    def take(self, body: TransactionEventBody, origin: Origin) -> Iterator[TransactionRow]:
        """Takes the next event. Returns rows of transactions that no later event can change."""
        match body:
            case TransactionWritten():
                self._stretch.add_written(body, origin, self._left_ns_of(origin))
            case TransactionBlockedByLso():
                self._stretch.add_blocked(body, origin.client_instance_id)
            case TransactionRequest():
                yield from self._take_in_order(decode_request(body, origin, self._left_ns_of(origin)))
            case TransactionMarkers():
                yield from self._take_in_order(decode_markers(body, origin.ts_ns))
            case TransactionSeen():
                yield from self._take_in_order(decode_seen(body, origin.ts_ns))
        if self._stretch.is_full:
            yield from self._end_stretch()

    def take_unmatched(self) -> list[list[BlockedConsumer]]:
        """Returns the consumers since the last call that are blocked by an offset which is not the first of any
        transaction."""
        unmatched, self._unmatched = self._unmatched, []
        return unmatched

    def finish(self) -> Iterator[TransactionRow]:
        """Yields the remaining rows."""
        yield from self._end_stretch()
        self._retire()
        while self._ended:
            yield self._ended.popleft().row(self.name, self._end_ns)

    def _left_ns_of(self, origin: Origin) -> int | None:
        return self._left_ns.get(origin.client_instance_id or "")

    def _take_in_order(self, event: TransactionEvent) -> Iterator[TransactionRow]:
        """Takes an event that is not summed up. Events after the first Produce request of a stretch wait for its
        end."""
        if event.kind in BOUNDS:
            yield from self._end_stretch()
        elif self._stretch.has_written:
            self._stretch.add(event)
            return
        yield from self._apply(event)

    def _end_stretch(self) -> Iterator[TransactionRow]:
        events, unmatched = self._stretch.take()
        self._unmatched += unmatched
        for event in events:
            yield from self._apply(event)

    def _apply(self, event: TransactionEvent) -> Iterator[TransactionRow]:
        """Applies an event to the transaction that it belongs to."""
        self._shows_client = self._shows_client or event.client is not None
        if event.kind is EventKind.INIT:
            self._on_init(event)
        elif event.kind is EventKind.MARKERS:
            self._on_markers(event)
        elif event.kind is EventKind.END:
            self._on_end(event)
        else:
            self._on_use(event)
        while len(self._ended) > LATE:
            yield self._ended.popleft().row(self.name, self._end_ns)

    def _on_init(self, event: TransactionEvent) -> None:
        """Handles InitProducerId: the id has a new epoch, and perhaps another client."""
        errors = event.errors
        answered = event.answered_ns
        if any(name != TRY_AGAIN for name in errors) or (answered is None and self._holder is not None):
            return
        at = event.ts_ns if answered is None else answered
        current, holder = self._open, self._holder
        former = holder.client if holder is not None else current.client if current is not None else None
        is_own = former == event.client or (event.asked_producer_id or -1) >= 0
        if not is_own and former is not None and former not in self._former:
            self._former.append(former)
        if event.client in self._former:
            self._former.remove(event.client)
        if current is not None and not (is_own and errors):
            self._end_by_init(current, event, at, is_own=is_own)
        if is_own and errors:
            return
        self._holder = Holder(
            event.client,
            None if errors else event.producer_id,
            None if errors else event.producer_epoch,
            event.timeout_ms,
            event.ts_ns,
            event.request_id,
        )

    def _end_by_init(self, current: Transaction, event: TransactionEvent, at: int, *, is_own: bool) -> None:
        """Ends the open transaction because its id has a new epoch."""
        if not is_own:
            gone = current.left_ns is not None and current.left_ns <= event.ts_ns
            what = Trigger.SUCCEEDED if gone else Trigger.TAKEN_OVER
        elif current.has_epoch_error:
            what = Trigger.COORDINATOR_ABORTED if current.is_past_timeout(at) else Trigger.EPOCH_BUMPED
        else:
            what = Trigger.REINITIALIZED
        current.apply(what, at)
        if not is_own:
            current.fenced_by, current.fenced_ns = event.client, event.ts_ns
        current.add_evidence(event.ts_ns, event.request_id, decides=True)
        self._retire()

    def _on_use(self, event: TransactionEvent) -> None:
        """Handles a request that belongs to a transaction: partitions, offsets, records."""
        if event.kind is EventKind.SEEN and self._is_late_verification(event):
            return
        transaction = self._transaction_of(event)
        transaction.add_errors(event)
        learn_protocol(transaction, event)
        transaction.last_ns = max(transaction.last_ns, event.last_ns or event.ts_ns)
        transaction.add_evidence(event.ts_ns, event.request_id, decides=transaction.is_over)
        if event.last_request_id != event.request_id:
            transaction.add_evidence(event.last_ns or event.ts_ns, event.last_request_id, decides=True)
        if transaction.accepted_ns is None:
            transaction.accepted_ns = accepted_ns(event)
        transaction.partitions.update(event.partitions)
        if event.group_id:
            transaction.groups.add(event.group_id)
        transaction.n_batches += event.n_batches
        transaction.n_records += event.n_records
        transaction.blocked += event.blocked

    def _is_late_verification(self, event: TransactionEvent) -> bool:
        """Whether a leader verifies a batch that its client sent again after the transaction: the epoch is old; or,
        with v1, no transaction is open, because the client's own AddPartitionsToTxn would show a new one."""
        if self._is_outdated(event):
            return True
        current = self._open
        is_open = current is not None and current.is_of(event.producer_id, event.producer_epoch)
        return event.protocol == "v1" and self._shows_client and not is_open

    def _on_end(self, event: TransactionEvent) -> None:
        """Handles EndTxn and its response."""
        transaction = self._transaction_of(event)
        was_over = transaction.is_over
        transaction.add_errors(event)
        learn_protocol(transaction, event)
        transaction.add_evidence(event.ts_ns, event.request_id, decides=True)
        errors = set(event.errors)
        answered = event.answered_ns
        at = event.ts_ns if answered is None else answered
        if transaction.state is State.FENCED and transaction.apply(trigger_of_end(event, transaction, errors, at), at):
            transaction.fenced_by, transaction.fenced_ns, transaction.verdict = None, None, "confirmed"
            self._return_id(event, transaction.timeout_ms)
        if not errors and transaction.fenced_by is None:
            self._take_next_epoch(transaction.client, event)
        if was_over:
            return
        transaction.verdict = "claimed" if answered is None else "refused" if errors else "confirmed"
        transaction.apply(trigger_of_end(event, transaction, errors, at), at)
        if transaction.is_over and transaction is self._open:
            self._retire()

    def _return_id(self, event: TransactionEvent, timeout_ms: int | None) -> None:
        """Returns the id to a client from which it was taken over: the coordinator lets it continue until the other
        instance has an epoch."""
        holder, client = self._holder, event.client
        if holder is not None and holder.producer_id is None and client in self._former:
            self._former.remove(client)
            self._holder = replace(holder, client=client, timeout_ms=timeout_ms, since_ns=event.ts_ns)

    def _take_next_epoch(self, client: str | None, event: TransactionEvent) -> None:
        """Takes the producer's next epoch from the response to EndTxn (version 5 and later)."""
        pid, epoch, old = event.answer_producer_id, event.answer_producer_epoch, self._holder
        if pid is None or pid < 0:
            return
        if old is None:
            self._holder = Holder(client, pid, epoch, None, event.ts_ns, event.request_id)
        else:
            self._holder = Holder(old.client, pid, epoch, old.timeout_ms, old.since_ns, old.request_id)

    def _on_markers(self, event: TransactionEvent) -> None:
        """Handles WriteTxnMarkers and the partitions where it succeeded."""
        for transaction in self._candidates():
            if are_markers_of(transaction, event):
                transaction.marked.update(event.partitions)
                at = event.ts_ns if event.answered_ns is None else event.answered_ns
                decides = transaction.apply(trigger_of_markers(event, transaction, at), at)
                transaction.add_evidence(event.ts_ns, event.request_id, decides=decides)
                if decides and transaction is self._open:
                    self._retire()
                return

    def _candidates(self) -> Iterator[Transaction]:
        if self._open is not None:
            yield self._open
        yield from reversed(self._ended)

    def _transaction_of(self, event: TransactionEvent) -> Transaction:
        """Returns the transaction to which a request belongs; begins it if this is its first request."""
        which = event.producer_id, event.producer_epoch
        outdated = self._is_outdated(event)
        current = self._open
        if current is not None and not outdated and current.is_of(*which):
            fill_in(current, event)
            return current
        for ended in reversed(self._ended):
            if is_late_for(ended, event, outdated=outdated):
                return ended
        if outdated and (event.errors or event.answered_ns is None):
            return self._refused(event)
        if current is not None:
            current.apply(Trigger.SUPERSEDED, None)
            self._retire()
        self._open = self._begin(event)
        return self._open

    def _is_outdated(self, event: TransactionEvent) -> bool:
        """Whether the event comes from an epoch or a client that no longer holds the id."""
        holder, epoch = self._holder, event.producer_epoch
        if holder is None:
            return False
        if event.producer_id is not None and holder.producer_id is not None:
            if epoch is None or holder.producer_epoch is None:
                return False
            return event.producer_id == holder.producer_id and epoch < holder.producer_epoch
        return event.client in self._former and event.client != holder.client

    def _begin(self, event: TransactionEvent) -> Transaction:
        holder = self._holder
        self._number += 1
        pid, epoch = event.producer_id, event.producer_epoch
        if pid is None and holder is not None:
            pid, epoch = holder.producer_id, holder.producer_epoch
        known = self._number > 1 or holder is not None
        timeout = holder.timeout_ms if holder is not None else None
        client, left = event.client, event.left_ns
        begun = Transaction(self._number, pid, epoch, client, left, event.ts_ns, known, timeout)
        if holder is not None:
            begun.add_evidence(holder.since_ns, holder.request_id)
        return begun

    def _refused(self, event: TransactionEvent) -> Transaction:
        """Returns a transaction that a fenced client tried to begin, and that was refused."""
        assert self._holder is not None
        refused = self._begin(event)
        refused.producer_id, refused.producer_epoch = event.producer_id, event.producer_epoch
        refused.timeout_ms = None
        refused.fenced_by, refused.fenced_ns = self._holder.client, self._holder.since_ns
        answered = event.answered_ns
        refused.apply(Trigger.TAKEN_OVER, event.last_ns or event.ts_ns if answered is None else answered)
        self._ended.append(refused)
        return refused

    def _retire(self) -> None:
        if self._open is not None:
            self._ended.append(self._open)
            self._open = None
