"""The machine of one transactional id: makes the rows of its transactions.

Events come in order of (section, ts_ns, rank, packet_no, conn_id, seq). Memory is that of the id: its open transaction,
the few that ended last (markers and refused requests come late), the holders of the id, the ends of its clients, and
the events since the last bound.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafkascope_analyzer.dataset.tables.event_kinds.transactions import TransactionBlockedByLso, TransactionEventBody
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.stage_rows import StageRow
from kafkascope_spark.stories.transactions.blocked_readers import BlockedReaders, is_long
from kafkascope_spark.stories.transactions.states import Trigger
from kafkascope_spark.stories.transactions.table import BlockedConsumer, TransactionRow
from kafkascope_spark.stories.transactions.transaction import Transaction
from kafkascope_spark.stories.transactions.transactional_id import TransactionalId

TRANSACTION = "transaction"
"""Key kind of the events."""


@dataclass(frozen=True, slots=True)
class ClientEnd(StageRow):
    """End of a client of a transactional id. left_ns: its last packet, None if it did not end. These rows come before
    all events."""

    client_instance_id: str
    left_ns: int | None


class Transactions:
    """Makes the rows of `transactions` of one transactional id.

    name: the id; empty for consumers that are blocked by transactions whose requests are not in the capture. end_ns:
    last packet of the capture.
    """

    def __init__(self, name: str, end_ns: int) -> None:
        self._name = name
        self._id = TransactionalId(name, end_ns)
        self._unseen = BlockedReaders()
        self._unseen_ns: int | None = None

    def take(self, event: ClientEnd | TransactionEventBody, origin: Origin) -> Iterator[TransactionRow]:
        """Takes an event. Yields the rows of transactions that no later event can change."""
        if isinstance(event, ClientEnd):
            self._id.note_end(event.client_instance_id, event.left_ns)
        elif isinstance(event, TransactionBlockedByLso) and not self._name:
            yield from self._on_unseen(event, origin)
        else:
            yield from self._id.take(event, origin)
            yield from _unseen_rows(self._id.take_unmatched())

    def finish(self) -> Iterator[TransactionRow]:
        """Yields the remaining rows."""
        yield from self._end_unseen()
        yield from self._id.finish()
        yield from _unseen_rows(self._id.take_unmatched())

    def _on_unseen(self, body: TransactionBlockedByLso, origin: Origin) -> Iterator[TransactionRow]:
        """Takes consumers that are blocked by a transaction whose requests are not in the capture. All rows of one last
        stable offset have the same time."""
        if origin.ts_ns != self._unseen_ns:
            yield from self._end_unseen()
            self._unseen_ns = origin.ts_ns
        self._unseen.add(body, origin.client_instance_id)

    def _end_unseen(self) -> Iterator[TransactionRow]:
        yield from _unseen_rows(blocking.rows() for blocking in self._unseen.take())


def _unseen_rows(offsets: Iterable[list[BlockedConsumer]]) -> Iterator[TransactionRow]:
    """Yields one row for each last stable offset that blocked a consumer for long."""
    for blocked in offsets:
        if is_long(blocked):
            yield unseen_row(blocked)


def unseen_row(blocked: list[BlockedConsumer]) -> TransactionRow:
    """Returns the row of a transaction of which the capture shows only the blocked consumers. blocked: elements of the
    column held_back."""
    began = min(each.from_ns for each in blocked)
    transaction = Transaction(1, None, None, None, None, began, seen_begin=False, timeout_ms=None)
    transaction.apply(Trigger.ONLY_BLOCKED_READERS_SEEN, None)
    transaction.blocked = list(blocked)
    transaction.partitions.update(each.partition for each in blocked)
    for each in blocked:
        transaction.add_evidence(each.until_ns, each.request_id)
    return transaction.row(None, began)
