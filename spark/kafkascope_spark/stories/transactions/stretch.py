"""The events between two bounds of a transactional id (InitProducerId, EndTxn, markers).

All Produce requests of a client in one stretch are one event, at the time of the first one, on any number of
connections. A batch whose response was lost is sent again, perhaps to another broker, and counts where its response is.
So events wait from the first Produce request of a stretch to the bound that ends it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.tables.event_kinds.transactions import TransactionBlockedByLso, TransactionWritten
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.transactions.blocked_readers import BlockedReaders, blocked_order
from kafkascope_spark.stories.transactions.event import EventKind, TransactionEvent
from kafkascope_spark.stories.transactions.table import BlockedConsumer

MOST_WAITING = 50_000
"""Largest number of events that wait for the end of a stretch. If there are more, the stretch is summed up in two
parts: a batch that was sent in the first without a response, and again in the second, counts twice."""
MOST_BLOCKED = 1_000
"""Largest number of blocked consumers that are kept for a client in one stretch."""


@dataclass(slots=True)
class _Written:
    """Produce requests of one client in the stretch, on all its connections."""

    client: str | None
    left_ns: int | None
    first: tuple[int, str]
    last: tuple[int, str]
    answered_ns: int | None = None
    is_v2: bool = False
    n_answered: int = 0
    kept: tuple[int, int] = (0, 0)
    sent: tuple[int, int] = (0, 0)
    errors: set[str] = field(default_factory=set)
    first_offsets: dict[str, int | None] = field(default_factory=dict)
    blocked: list[BlockedConsumer] = field(default_factory=list)

    def add(self, body: TransactionWritten, ts_ns: int) -> None:
        """Adds the Produce requests of one connection."""
        self.first = min(self.first, (ts_ns, body.request_id))
        self.last = max(self.last, (body.last_ns, body.last_request_id))
        answered = [time for time in (self.answered_ns, body.answered_ns) if time is not None]
        self.answered_ns = min(answered, default=None)
        self.is_v2 = self.is_v2 or body.protocol == "v2"
        self.n_answered += body.n_answered
        self.kept = self.kept[0] + body.kept_batches, self.kept[1] + body.kept_records
        self.sent = self.sent[0] + body.sent_batches, self.sent[1] + body.sent_records
        self.errors.update(body.errors)
        for partition, offset in zip(body.partitions, body.first_offsets, strict=True):
            offsets = [each for each in (self.first_offsets.get(partition), offset) if each is not None]
            self.first_offsets[partition] = min(offsets, default=None)

    def event(self) -> TransactionEvent:
        """Returns the event of the whole stretch."""
        n_batches, n_records = self.kept if self.n_answered else self.sent
        return TransactionEvent(
            EventKind.WRITTEN,
            *self.first,
            client=self.client,
            left_ns=self.left_ns,
            protocol="v2" if self.is_v2 else "v1",
            answered_ns=self.answered_ns,
            last_ns=self.last[0],
            last_request_id=self.last[1],
            partitions=tuple(sorted(self.first_offsets)),
            n_batches=n_batches,
            n_records=n_records,
            errors=tuple(sorted(self.errors)),
            blocked=tuple(sorted(self.blocked, key=blocked_order)[:MOST_BLOCKED]),
        )


class Stretch:
    """Events since the last bound that wait for the next one."""

    def __init__(self) -> None:
        self._waiting: list[TransactionEvent | _Written] = []
        self._written: dict[str | None, _Written] = {}
        self._blocked = BlockedReaders()

    @property
    def is_full(self) -> bool:
        """Whether MOST_WAITING events wait."""
        return len(self._waiting) >= MOST_WAITING

    @property
    def has_written(self) -> bool:
        """Whether a producer wrote since the last bound, so that later events have to wait."""
        return bool(self._written)

    def add_written(self, body: TransactionWritten, origin: Origin, left_ns: int | None) -> None:
        """Takes the Produce requests of a client on one connection."""
        client, ts_ns = origin.client_instance_id, origin.ts_ns
        if client not in self._written:
            first, last = (ts_ns, body.request_id), (body.last_ns, body.last_request_id)
            self._written[client] = _Written(client, left_ns, first, last)
            self._waiting.append(self._written[client])
        self._written[client].add(body, ts_ns)

    def add_blocked(self, body: TransactionBlockedByLso, client: str | None) -> None:
        """Takes an event of a blocked consumer."""
        self._blocked.add(body, client)

    def add(self, event: TransactionEvent) -> None:
        """Takes another event, which is returned in its order."""
        self._waiting.append(event)

    def take(self) -> tuple[list[TransactionEvent], list[list[BlockedConsumer]]]:
        """Returns the events of the stretch in order of time, and the blocked consumers of each last stable offset that
        is not the first offset that a client wrote in the stretch."""
        unmatched = list(self._match())
        events = [each.event() if isinstance(each, _Written) else each for each in self._waiting]
        self._waiting, self._written = [], {}
        return events, unmatched

    def _match(self) -> Iterator[list[BlockedConsumer]]:
        """Adds the blocked consumers to the client whose first batch has their last stable offset. Yields the consumers
        of the other offsets."""
        for blocking in self._blocked.take():
            rows = blocking.rows()
            writers = [
                written
                for written in self._written.values()
                if written.first_offsets.get(blocking.partition) == blocking.offset
            ]
            for written in writers:
                written.blocked += rows
            if not writers:
                yield rows
