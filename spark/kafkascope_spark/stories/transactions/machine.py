"""The state machine over the events of transactional ids: which transactions their producers began, and how each ended.

`feed(rows)` takes rows of `events` of one transactional id after the other, each in order of (section, ts_ns, rank,
packet_no, conn_id, seq), any number at a time, and asserts the order; `finish()` returns what is left. Memory is that
of one transactional id: its open transaction, the few that ended last (markers and refused requests come late), who
held the id, when its clients left, and the events since the last bound.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafkascope_analyzer.dataset.stories.transactions import BlockedConsumer, TransactionRow
from kafkascope_analyzer.dataset.tables.transaction_events import TRANSACTION_KINDS
from kafkascope_spark.stories.stage_rows import StageRow
from kafkascope_spark.stories.transactions.blocked_readers import BlockedReaders, is_long
from kafkascope_spark.stories.transactions.event import Row
from kafkascope_spark.stories.transactions.states import Trigger
from kafkascope_spark.stories.transactions.transaction import Transaction
from kafkascope_spark.stories.transactions.transactional_id import TransactionalId

CLIENT_END = "client_end"
"""Kind of the rows that the clients' state machines add. They come before all other rows of a transactional id."""
_SECTIONS = {CLIENT_END: 0} | dict.fromkeys(TRANSACTION_KINDS, 1)
_RANKS = {kind: rank for rank, kind in enumerate((CLIENT_END, *TRANSACTION_KINDS))}
_BLOCKED = "transaction_blocked_by_lso"


@dataclass(frozen=True, slots=True)
class ClientEnd(StageRow):
    """When a client of a transactional id left: its last packet, None while it lives."""

    client_instance_id: str
    left_ns: int | None


class Transactions:
    """Rows of `events` in, rows of the table transactions out, without its `*_ts` columns. A row has key, ts_ns,
    packet_no, conn_id, seq, kind, client_instance_id, and a dict under the name of its kind. capture_ns: first and last
    packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._end_ns = capture_ns[1]
        self._id: TransactionalId | None = None
        self._unseen = BlockedReaders()
        self._unseen_ns: int | None = None
        self._last: tuple[object, ...] = ()

    def feed(self, rows: Iterable[Row]) -> Iterator[TransactionRow]:
        """Rows of the transactions that no later row can change. Raises ValueError when rows are out of order."""
        for row in rows:
            order = _order(row)
            if order < self._last:
                raise ValueError(f"events out of order: {order} after {self._last}")
            self._last = order
            if row["kind"] == _BLOCKED and not row["key"]:
                yield from self._on_unseen(row)
                continue
            if self._id is None or self._id.name != row["key"]:
                yield from self.finish()
                self._id = TransactionalId(row["key"], self._end_ns)
            if row["kind"] == CLIENT_END:
                end: ClientEnd = row[CLIENT_END]
                self._id.note_end(end.client_instance_id, end.left_ns)
            else:
                yield from self._id.take(row)
                yield from _unseen_rows(self._id.take_unmatched())

    def finish(self) -> Iterator[TransactionRow]:
        """Rows of the last transactional id."""
        yield from self._end_unseen()
        if self._id is not None:
            yield from self._id.finish()
            yield from _unseen_rows(self._id.take_unmatched())
            self._id = None

    def _on_unseen(self, row: Row) -> Iterator[TransactionRow]:
        """Consumers blocked by a transaction whose requests are not in the capture. All rows of one last stable offset
        have the same time."""
        if row["ts_ns"] != self._unseen_ns:
            yield from self._end_unseen()
            self._unseen_ns = row["ts_ns"]
        self._unseen.add(row)

    def _end_unseen(self) -> Iterator[TransactionRow]:
        yield from _unseen_rows(blocking.rows() for blocking in self._unseen.take())


def _order(row: Row) -> tuple[object, ...]:
    """What rows are sorted by."""
    kind = row["kind"]
    place = row["packet_no"], row["conn_id"], row["seq"]
    return (row["key"], _SECTIONS[kind], row["ts_ns"], _RANKS[kind], *place)


def _unseen_rows(offsets: Iterable[list[BlockedConsumer]]) -> Iterator[TransactionRow]:
    """One row for each last stable offset that blocked a consumer for long."""
    for blocked in offsets:
        if is_long(blocked):
            yield unseen_row(blocked)


def unseen_row(blocked: list[BlockedConsumer]) -> TransactionRow:
    """The row of a transaction of which the capture shows only the consumers that it blocked. blocked: elements of the
    column held_back."""
    began = min(each.from_ns for each in blocked)
    transaction = Transaction(1, None, None, None, None, began, seen_begin=False, timeout_ms=None)
    transaction.apply(Trigger.ONLY_BLOCKED_READERS_SEEN, None)
    transaction.blocked = list(blocked)
    transaction.partitions.update(each.partition for each in blocked)
    for each in blocked:
        transaction.add_evidence(each.until_ns, each.request_id)
    return transaction.row(None, began)
