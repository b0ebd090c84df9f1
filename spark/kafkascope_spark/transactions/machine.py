"""The state machine over the events of transactional ids: which transactions their producers began, and how each ended.

`feed(batch)` takes rows of events.transaction_events in their order (and asserts that), any number at a time;
`finish()` gives what is left. Memory is that of one transactional id: its open transaction, the few that ended last
(markers and refused requests come late), and who held the id.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafkascope_spark.transactions.states import Happening, State
from kafkascope_spark.transactions.transaction import EPOCH_OVER, Transaction
from kafkascope_spark.wire import Row

LATE = 4
"""Ended transactions that still take markers and requests: markers come within a second, and the coordinator lets no
transaction begin before they are written."""
FORMER = 16
"""Clients remembered that once held the id, and lost it."""
V2_PRODUCE, V2_OFFSET_COMMIT, V2_END = 12, 5, 5
"""Versions from which on a request speaks of KIP-890's second part (transaction.version 2)."""
LATE_MARKERS_NS = 1_000_000_000
"""Markers of what a client ended are written within a second, whether it goes away meanwhile or not."""
TRY_AGAIN = "CONCURRENT_TRANSACTIONS"
REQUEST, WRITTEN, INIT, END, MARKERS, SEEN_BY_BROKER, HELD_BACK = (
    "request",
    "written",
    "init",
    "end",
    "markers",
    "seen_by_broker",
    "held_back",
)
"""Kinds of events."""


class Transactions:
    """Rows of events in, rows of the table transactions out. capture_ns: first and last packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._end_ns = capture_ns[1]
        self._id: TransactionalId | None = None
        self._last: tuple[object, ...] = ()

    def feed(self, batch: Iterable[Row]) -> Iterator[Row]:
        """Rows of the transactions that the batch completes. Raises ValueError when the events are out of order."""
        for event in batch:
            key = (event["transactional_id"], event["ts_ns"], event["packet_no"], event["request_id"])
            if key < self._last:
                raise ValueError(f"events out of order: {key} after {self._last}")
            self._last = key
            if event["kind"] == HELD_BACK:
                yield unseen(event)
                continue
            if self._id is None or self._id.name != event["transactional_id"]:
                yield from self.finish()
                self._id = TransactionalId(event["transactional_id"], self._end_ns)
            yield from self._id.take(event)

    def finish(self) -> Iterator[Row]:
        """Rows of the last transactional id."""
        if self._id is not None:
            yield from self._id.finish()
            self._id = None


def unseen(event: Row) -> Row:
    """The row of a transaction of which the capture shows nothing but the consumers that it held back."""
    empty = Transaction(1, None, None, None, None, event["ts_ns"], seen_begin=False, timeout_ms=None)
    empty.held, empty.state = event["held_back"], State.LOST
    empty.partitions.update(stretch["partition"] for stretch in empty.held)
    for stretch in empty.held:
        empty.prove(stretch["until_ns"], stretch["request_id"])
    row = empty.row("", event["ts_ns"])
    return {**row, "transactional_id": None, "transaction_no": None}


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has the transactional id: the client of the last InitProducerId, and what it was given."""

    client: str | None
    producer_id: int | None
    producer_epoch: int | None
    timeout_ms: int | None
    since_ns: int
    request_id: str


class TransactionalId:
    """The events of one transactional id."""

    def __init__(self, name: str, capture_end_ns: int) -> None:
        self.name = name
        self._end_ns = capture_end_ns
        self._open: Transaction | None = None
        self._ended: deque[Transaction] = deque()
        self._holder: Holder | None = None
        self._former: deque[str | None] = deque(maxlen=FORMER)
        self._number = 0
        self._shows_client = False

    def take(self, event: Row) -> Iterator[Row]:
        """The next event. Rows of transactions for which nothing can come any more."""
        kind = event["kind"]
        self._shows_client = self._shows_client or event["client_instance_id"] is not None
        if kind == INIT:
            self._on_init(event)
        elif kind == MARKERS:
            self._on_markers(event)
        elif kind == END:
            self._on_end(event)
        else:
            self._on_use(event)
        while len(self._ended) > LATE:
            yield self._ended.popleft().row(self.name, self._end_ns)

    def finish(self) -> Iterator[Row]:
        """Rows of what is left."""
        self._retire()
        while self._ended:
            yield self._ended.popleft().row(self.name, self._end_ns)

    def _on_init(self, event: Row) -> None:
        """InitProducerId: the id has a new epoch, perhaps a new owner."""
        errors = event["errors"] or ()
        answered = event["answered_ns"]
        if any(name != TRY_AGAIN for name in errors) or (answered is None and self._holder is not None):
            return
        at = event["ts_ns"] if answered is None else answered
        current, holder = self._open, self._holder
        former = holder.client if holder is not None else current.client if current is not None else None
        is_own = former == event["client_instance_id"] or (event["asked_producer_id"] or -1) >= 0
        if not is_own and former is not None and former not in self._former:
            self._former.append(former)
        if event["client_instance_id"] in self._former:
            self._former.remove(event["client_instance_id"])
        if current is not None and not (is_own and errors):
            self._end_by_init(current, event, at, is_own=is_own)
        if is_own and errors:
            return
        self._holder = Holder(
            event["client_instance_id"],
            None if errors else event["producer_id"],
            None if errors else event["producer_epoch"],
            event["timeout_ms"],
            event["ts_ns"],
            event["request_id"],
        )

    def _end_by_init(self, current: Transaction, event: Row, at: int, *, is_own: bool) -> None:
        """End the open transaction: its id was given out again."""
        if not is_own:
            gone = current.left_ns is not None and current.left_ns <= event["ts_ns"]
            what = Happening.SUCCEEDED if gone else Happening.TAKEN_OVER
        elif current.epoch_over:
            what = Happening.TIMED_OUT if current.is_past_timeout(at) else Happening.OUTDATED
        else:
            what = Happening.BEGUN_ANEW
        current.move(what, at)
        if not is_own:
            current.fenced_by, current.fenced_ns = event["client_instance_id"], event["ts_ns"]
        current.prove(event["ts_ns"], event["request_id"], decides=True)
        self._retire()

    def _on_use(self, event: Row) -> None:
        """A request that belongs to a transaction: partitions, offsets, records."""
        if event["kind"] == SEEN_BY_BROKER and self._tells_nothing_new(event):
            return
        transaction = self._transaction_of(event)
        transaction.take_errors(event)
        _learn_protocol(transaction, event)
        transaction.last_ns = max(transaction.last_ns, event["last_ns"] or event["ts_ns"])
        transaction.prove(event["ts_ns"], event["request_id"], decides=transaction.is_over)
        if event["last_request_id"] != event["request_id"]:
            transaction.prove(event["last_ns"] or event["ts_ns"], event["last_request_id"], decides=True)
        if transaction.accepted_ns is None:
            transaction.accepted_ns = _accepted_ns(event)
        transaction.partitions.update(event["partitions"] or ())
        if event["group_id"]:
            transaction.groups.add(event["group_id"])
        transaction.n_batches += event["n_batches"] or 0
        transaction.n_records += event["n_records"] or 0
        transaction.held += event["held_back"] or ()

    def _tells_nothing_new(self, event: Row) -> bool:
        """Whether a leader's question comes too late, for a batch that its client sent again: from an outdated epoch;
        or, with v1, about no open transaction, where the client's own AddPartitionsToTxn would show a new one."""
        if self._is_outdated(event):
            return True
        current = self._open
        is_open = current is not None and current.is_of(event["producer_id"], event["producer_epoch"])
        return event["protocol"] == "v1" and self._shows_client and not is_open

    def _on_end(self, event: Row) -> None:
        """EndTxn and what was answered."""
        transaction = self._transaction_of(event)
        was_over = transaction.is_over
        transaction.take_errors(event)
        _learn_protocol(transaction, event)
        transaction.prove(event["ts_ns"], event["request_id"], decides=True)
        errors = set(event["errors"] or ())
        if not errors and transaction.fenced_by is None:
            self._go_on(transaction.client, event)
        if was_over:
            return
        answered = event["answered_ns"]
        at = event["ts_ns"] if answered is None else answered
        transaction.verdict = "claimed" if answered is None else "refused" if errors else "confirmed"
        transaction.move(_asked(event, transaction, errors, at), at)
        if transaction.is_over and transaction is self._open:
            self._retire()

    def _go_on(self, client: str | None, event: Row) -> None:
        """EndTxn (v5 and later) was answered with the producer's next epoch."""
        pid, epoch, old = event["answer_producer_id"], event["answer_producer_epoch"], self._holder
        if pid is None or pid < 0:
            return
        if old is None:
            self._holder = Holder(client, pid, epoch, None, event["ts_ns"], event["request_id"])
        else:
            self._holder = Holder(old.client, pid, epoch, old.timeout_ms, old.since_ns, old.request_id)

    def _on_markers(self, event: Row) -> None:
        """WriteTxnMarkers, and the partitions where it succeeded."""
        for transaction in self._candidates():
            if _is_marked(transaction, event):
                transaction.marked.update(event["partitions"] or ())
                at = event["ts_ns"] if event["answered_ns"] is None else event["answered_ns"]
                decides = transaction.move(_marked(event, transaction, at), at)
                transaction.prove(event["ts_ns"], event["request_id"], decides=decides)
                if decides and transaction is self._open:
                    self._retire()
                return

    def _candidates(self) -> Iterator[Transaction]:
        if self._open is not None:
            yield self._open
        yield from reversed(self._ended)

    def _transaction_of(self, event: Row) -> Transaction:
        """The transaction that a request belongs to; it may be its first."""
        which = event["producer_id"], event["producer_epoch"]
        outdated = self._is_outdated(event)
        current = self._open
        if current is not None and not outdated and current.is_of(*which):
            _adopt(current, event)
            return current
        for ended in reversed(self._ended):
            if _is_late_for(ended, event, outdated=outdated):
                return ended
        if outdated and (event["errors"] or event["answered_ns"] is None):
            return self._refused(event)
        if current is not None:
            current.move(Happening.SUPERSEDED, None)
            self._retire()
        self._open = self._begin(event)
        return self._open

    def _is_outdated(self, event: Row) -> bool:
        """Whether it comes from an epoch or a client that no longer holds the id."""
        holder, pid, epoch = self._holder, event["producer_id"], event["producer_epoch"]
        if holder is None:
            return False
        if pid is not None and holder.producer_id is not None:
            return bool(pid == holder.producer_id and epoch < holder.producer_epoch)
        return event["client_instance_id"] in self._former and event["client_instance_id"] != holder.client

    def _begin(self, event: Row) -> Transaction:
        holder = self._holder
        self._number += 1
        pid, epoch = event["producer_id"], event["producer_epoch"]
        if pid is None and holder is not None:
            pid, epoch = holder.producer_id, holder.producer_epoch
        known = self._number > 1 or holder is not None
        timeout = holder.timeout_ms if holder is not None else None
        client, left = event["client_instance_id"], event["left_ns"]
        begun = Transaction(self._number, pid, epoch, client, left, event["ts_ns"], known, timeout)
        if holder is not None:
            begun.prove(holder.since_ns, holder.request_id)
        return begun

    def _refused(self, event: Row) -> Transaction:
        """A transaction that a fenced client tried to begin."""
        assert self._holder is not None
        refused = self._begin(event)
        refused.producer_id, refused.producer_epoch = event["producer_id"], event["producer_epoch"]
        refused.timeout_ms = None
        refused.fenced_by, refused.fenced_ns = self._holder.client, self._holder.since_ns
        answered = event["answered_ns"]
        refused.move(Happening.TAKEN_OVER, event["last_ns"] or event["ts_ns"] if answered is None else answered)
        self._ended.append(refused)
        return refused

    def _retire(self) -> None:
        if self._open is not None:
            self._ended.append(self._open)
            self._open = None


def _asked(event: Row, transaction: Transaction, errors: set[str], at: int) -> Happening:
    """What an EndTxn means. One that aborts a transaction whose epoch is over may still be answered well: the
    coordinator takes it for a repetition of its own abort."""
    commits = event["committed"]
    if errors & EPOCH_OVER or (transaction.epoch_over and not commits):
        return Happening.TIMED_OUT if transaction.is_past_timeout(at) else Happening.OUTDATED
    if errors - {TRY_AGAIN}:
        return Happening.END_REFUSED
    if errors or event["answered_ns"] is None:
        return Happening.COMMIT_ASKED if commits else Happening.ABORT_ASKED
    return Happening.COMMIT_DONE if commits else Happening.ABORT_DONE


def _marked(event: Row, transaction: Transaction, at: int) -> Happening:
    """What markers mean. An abort that nobody in the capture asked for is the coordinator's where the timeout was over
    or the client had gone; else its EndTxn is not in the capture. With v1 a bumped epoch tells: no client asks so."""
    if event["committed"]:
        return Happening.COMMIT_MARKED
    bumped = transaction.protocol == "v1" and event["producer_epoch"] != transaction.producer_epoch
    left = transaction.left_ns
    gone = transaction.protocol != "v1" and left is not None and at - left > LATE_MARKERS_NS
    if transaction.state is State.ABORTING or not (bumped or gone or transaction.is_past_timeout(at)):
        return Happening.ABORT_MARKED
    was_taken = bumped and transaction.timeout_ms is not None and not transaction.is_past_timeout(at)
    return Happening.OUTDATED if was_taken and not gone else Happening.TIMED_OUT


def _is_marked(transaction: Transaction, event: Row) -> bool:
    """Whether markers are this transaction's. With v2, and where the coordinator ends a transaction by itself, they
    carry the next epoch. None are written before the coordinator had taken the transaction for begun."""
    if transaction.producer_id != event["producer_id"] or transaction.producer_epoch is None:
        return False
    begun_ns = transaction.accepted_ns
    if not transaction.is_over and transaction.seen_begin and (begun_ns is None or begun_ns > event["ts_ns"]):
        return False
    ahead = event["producer_epoch"] - transaction.producer_epoch
    if transaction.protocol == "v2":
        return bool(ahead == 1)
    return bool(ahead == 0 or (ahead == 1 and not event["committed"]))


def _accepted_ns(event: Row) -> int | None:
    """When the coordinator took the transaction for begun, as far as the request tells; of requests that nobody
    answered, when they were sent."""
    answered: int | None = event["answered_ns"]
    if event["kind"] == WRITTEN and answered is not None:
        return answered
    if event["errors"]:
        return None
    sent: int = event["ts_ns"]
    return sent if answered is None else answered


def _is_late_for(ended: Transaction, event: Row, *, outdated: bool) -> bool:
    """Whether a request belongs to a transaction that has ended: one of a fenced client; one that the coordinator
    ended and its client did not; with v2 any of the same epoch, which is no other transaction's."""
    if event["producer_id"] is None:
        client = event["client_instance_id"]
        return outdated and ended.fenced_by is not None and client is not None and ended.client == client
    if not ended.is_of(event["producer_id"], event["producer_epoch"]):
        return False
    return ended.protocol == "v2" or ended.state is State.STOPPED or (outdated and ended.fenced_by is not None)


def _adopt(transaction: Transaction, event: Row) -> None:
    """Take from a request what those before it did not tell."""
    if transaction.producer_id is None:
        transaction.producer_id, transaction.producer_epoch = event["producer_id"], event["producer_epoch"]
    if transaction.client is None:
        transaction.client, transaction.left_ns = event["client_instance_id"], event["left_ns"]


def _learn_protocol(transaction: Transaction, event: Row) -> None:
    """v1 or v2. The partitions and groups that a client adds itself, and the version of EndTxn, decide; versions of
    what carries data tell where those are not seen."""
    told = event["protocol"]
    if event["kind"] in (REQUEST, END) or transaction.protocol is None:
        transaction.protocol = told if told is not None else transaction.protocol
