"""One transaction while its events arrive, and its row."""

from dataclasses import dataclass, field

from kafkascope_spark.stories.transactions.event import TransactionEvent
from kafkascope_spark.stories.transactions.states import END_KINDS, ENDED, OUTCOMES, State, Trigger, next_state
from kafkascope_spark.stories.transactions.table import BlockedConsumer, TransactionRow

MOST_EVIDENCE = 32
ROUTINE_EVIDENCE = 24
"""Largest number of evidence requests that only continue the transaction; the rest is kept for those that end it."""
DEFAULT_LONGEST_MS = 900_000
"""Default of transaction.max.timeout.ms of brokers (15 min): no transaction may be open for longer."""
MS = 1_000_000
EPOCH_ERRORS = frozenset({"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"})
"""Errors for an old producer epoch: another instance took over the id, or the coordinator aborted the transaction."""


@dataclass(slots=True)
class Transaction:
    """A transaction of one producer epoch. client: client_instance_id of its producer; left_ns: last packet of that
    client where all its connections ended; seen_begin: whether its first request is in the capture."""

    number: int
    producer_id: int | None
    producer_epoch: int | None
    client: str | None
    left_ns: int | None
    begin_ns: int
    seen_begin: bool
    timeout_ms: int | None
    state: State = State.OPEN
    protocol: str | None = None
    accepted_ns: int | None = None
    """When the coordinator accepted its begin: the response to the first request that it did not refuse."""
    last_ns: int = 0
    end_ns: int | None = None
    verdict: str | None = None
    has_epoch_error: bool = False
    n_batches: int = 0
    n_records: int = 0
    fenced_by: str | None = None
    fenced_ns: int | None = None
    partitions: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    marked: set[str] = field(default_factory=set)
    errors: set[str] = field(default_factory=set)
    blocked: list[BlockedConsumer] = field(default_factory=list)
    _evidence: set[tuple[int, str]] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED

    def is_of(self, producer_id: int | None, producer_epoch: int | None) -> bool:
        """Whether it is of that epoch, as far as both are known."""
        if producer_id is None or self.producer_id is None:
            return True
        return (self.producer_id, self.producer_epoch) == (producer_id, producer_epoch)

    def apply(self, trigger: Trigger, at_ns: int | None) -> bool:
        """Changes the state by the table of transitions. at_ns: the end of the transaction, if this ends it. Returns
        False if the trigger is ignored in this state."""
        after = next_state(self.state, trigger)
        if after is None:
            return False
        self.state = after
        if after in ENDED and after is not State.LOST:
            self.end_ns = at_ns
        return True

    def add_evidence(self, ts_ns: int, *request_ids: str | None, decides: bool = False) -> None:
        """Keeps the requests as evidence, as far as there is room. decides: whether they end the transaction."""
        room = MOST_EVIDENCE if decides else ROUTINE_EVIDENCE
        for request_id in request_ids:
            if request_id is not None and len(self._evidence) < room:
                self._evidence.add((ts_ns, request_id))

    def add_errors(self, event: TransactionEvent) -> None:
        """Adds the errors of a response."""
        self.errors.update(event.errors)
        self.has_epoch_error = self.has_epoch_error or not EPOCH_ERRORS.isdisjoint(event.errors)

    def is_past_timeout(self, now_ns: int) -> bool:
        """Whether it is open for longer than its timeout."""
        limit_ms = self.timeout_ms if self.timeout_ms is not None else DEFAULT_LONGEST_MS
        return now_ns - self.begin_ns > limit_ms * MS

    def outcome(self, capture_end_ns: int) -> str:
        """Returns the column outcome."""
        if self.state is State.OPEN:
            hangs = self._left_open_ns(capture_end_ns) is not None or self.is_past_timeout(capture_end_ns)
            return "hanging" if hangs else "open"
        if self.state is State.TIMED_OUT and self._left_open_ns(capture_end_ns) is not None:
            return "hanging"
        outcome = OUTCOMES[self.state]
        return outcome if self.seen_begin or outcome == "fenced" else "cut"

    def _left_open_ns(self, capture_end_ns: int) -> int | None:
        """Returns when its client ended and left it open; None if it did not."""
        if self.state not in (State.OPEN, State.TIMED_OUT, State.REPLACED):
            return None
        until = capture_end_ns if self.end_ns is None else self.end_ns
        return self.left_ns if self.left_ns is not None and self.left_ns < until else None

    def row(self, transactional_id: str | None, capture_end_ns: int) -> TransactionRow:
        """Returns the row. transactional_id: None if only blocked consumers show the transaction; its number is null
        then, too."""
        self.apply(Trigger.NOTHING_FOLLOWED, None)
        begin = self.begin_ns if self.seen_begin else None
        until = self.end_ns if self.end_ns is not None else capture_end_ns if not self.is_over else None
        return TransactionRow(
            transaction_no=None if transactional_id is None else self.number,
            transactional_id=transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            transactions=self.protocol,
            client_instance_id=self.client,
            begin_ns=begin,
            end_ns=self.end_ns,
            outcome=self.outcome(capture_end_ns),
            partitions=tuple(sorted(self.partitions)),
            offset_groups=tuple(sorted(self.groups)),
            n_batches=self.n_batches,
            n_records=self.n_records,
            n_markers=len(self.marked),
            fenced_by=self.fenced_by,
            end_kind=END_KINDS.get(self.state),
            verdict=self.verdict,
            duration_ms=(until - begin) // MS if begin is not None and until is not None else None,
            transaction_timeout_ms=self.timeout_ms,
            fenced_ns=self.fenced_ns,
            left_ns=self._left_open_ns(capture_end_ns),
            error_names=tuple(sorted(self.errors)),
            incident_id=None,
            evidence=tuple(request_id for _, request_id in sorted(self._evidence)),
            held_back=tuple(self.blocked),
        )
