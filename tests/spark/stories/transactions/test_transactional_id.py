"""The transactional id: how many ended transactions and former holders it keeps, and which clients are blocked by
nobody's transaction."""

from typing import Any

from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES
from kafkascope_parsers.api_keys import ADD_PARTITIONS_TO_TXN, END_TXN, INIT_PRODUCER_ID
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.transactions.table import TransactionRow
from kafkascope_spark.stories.transactions.transactional_id import LATE, MOST_FORMER, TransactionalId

MS = 1_000_000


class Trace:
    """Requests for one transactional id; times in milliseconds, each answered after one."""

    def __init__(self) -> None:
        self.id = TransactionalId("orders-tx", 1_000_000 * MS)
        self.rows: list[TransactionRow] = []

    def request(self, api_key: int, at: int, client: str, epoch: int, **more: Any) -> None:
        body = {"api_key": api_key, "request_id": f"{client}-{at}", "answered_ns": (at + 1) * MS, "protocol": "v1"}
        event = EVENT_CLASSES["transaction_request"].of(body | {"producer_id": 7, "producer_epoch": epoch} | more)
        self.rows += self.id.take(event, Origin(1, at * MS, 0, 0, "c", 0, client, None))

    def transaction(self, at: int, client: str = "a", epoch: int = 0) -> None:
        self.request(ADD_PARTITIONS_TO_TXN, at, client, epoch, partitions=["t-0"])
        self.request(END_TXN, at + 5, client, epoch, committed=True)

    def finish(self) -> list[TransactionRow]:
        return [*self.rows, *self.id.finish()]


def test_rows_come_when_no_marker_can_change_them_any_more() -> None:
    t = Trace()
    t.request(INIT_PRODUCER_ID, 0, "a", 0)
    for number in range(LATE + 2):
        t.transaction(10 + 10 * number)
    assert [row.transaction_no for row in t.rows] == [1, 2]
    rows = t.finish()
    assert [row.transaction_no for row in rows] == [*range(1, LATE + 3)]
    assert {row.outcome for row in rows} == {"committed"}


def test_the_newest_client_that_initializes_the_id_holds_it() -> None:
    """KIP-98: InitProducerId of another client fences the one before; the transaction it had open is aborted."""
    t = Trace()
    t.request(INIT_PRODUCER_ID, 0, "a", 0)
    t.request(ADD_PARTITIONS_TO_TXN, 10, "a", 0, partitions=["t-0"])
    t.request(INIT_PRODUCER_ID, 20, "b", 1)
    t.request(END_TXN, 30, "a", 0, committed=True, errors=["PRODUCER_FENCED"])
    t.transaction(40, "b", 1)
    fenced, committed = t.finish()
    assert (fenced.outcome, fenced.fenced_by, fenced.fenced_ns) == ("fenced", "b", 20 * MS)
    assert (committed.outcome, committed.client_instance_id, committed.producer_epoch) == ("committed", "b", 1)


def test_a_client_that_initializes_its_own_id_again_is_not_fenced() -> None:
    """KIP-360: after an error it asks for a new epoch and aborts what it had open."""
    t = Trace()
    t.request(INIT_PRODUCER_ID, 0, "a", 0)
    t.request(ADD_PARTITIONS_TO_TXN, 10, "a", 0, partitions=["t-0"])
    t.request(INIT_PRODUCER_ID, 20, "a", 1, asked_producer_id=7)
    (row,) = t.finish()
    assert (row.outcome, row.fenced_by, row.end_kind) == ("aborted", None, "init_producer_id")


def test_a_refused_initialization_changes_nothing() -> None:
    t = Trace()
    t.request(INIT_PRODUCER_ID, 0, "a", 0)
    t.request(ADD_PARTITIONS_TO_TXN, 10, "a", 0, partitions=["t-0"])
    t.request(INIT_PRODUCER_ID, 20, "b", 1, errors=["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"])
    t.request(END_TXN, 30, "a", 0, committed=True)
    (row,) = t.finish()
    assert (row.outcome, row.fenced_by) == ("committed", None)


def test_only_so_many_former_holders_are_kept() -> None:
    """Instances that take the id from each other again and again: those before the last ones are forgotten."""
    t = Trace()
    clients = [f"c{number:02}" for number in range(MOST_FORMER + 3)]
    for number, client in enumerate(clients):
        t.request(INIT_PRODUCER_ID, 10 * number, client, number)
    late = 1_000
    for number, client in enumerate(clients[:-1]):
        body = {"producer_id": None, "producer_epoch": None, "errors": ["INVALID_PRODUCER_EPOCH"]}
        t.request(ADD_PARTITIONS_TO_TXN, late + number, client, 0, **body)
    refused = [row.client_instance_id for row in t.finish() if row.outcome == "fenced"]
    assert refused == clients[2:-1]


def test_consumers_that_no_transaction_explains_are_returned_once() -> None:
    """A consumer that stops at an offset with which no transaction of this id begins."""
    blocked = {"partition": "t-0", "last_stable_offset": 99, "from_ns": 20 * MS, "until_ns": 900_000 * MS}
    blocked |= {"request_id": "fetch-1", "lowest_high_watermark": 100, "highest_high_watermark": 120}
    event = EVENT_CLASSES["transaction_blocked_by_lso"].of(blocked)
    one = TransactionalId("orders-tx", 1_000_000 * MS)
    rows = [*one.take(event, Origin(1, 20 * MS, 0, 0, "c", 0, "reader", None)), *one.finish()]
    unmatched = one.take_unmatched()
    assert (rows, one.take_unmatched()) == ([], [])
    ((reader,),) = unmatched
    assert (reader.client_instance_id, reader.partition, reader.records) == ("reader", "t-0", 21)


def test_a_response_to_end_txn_gives_the_next_epoch() -> None:
    """EndTxn v5 (KIP-890): the capture began after InitProducerId, and the next transaction begins in it."""
    t = Trace()
    next_epoch = {"answer_producer_id": 7, "answer_producer_epoch": 1, "protocol": "v2"}
    t.request(END_TXN, 10, "a", 0, committed=True, **next_epoch)
    t.request(ADD_PARTITIONS_TO_TXN, 20, "a", 1, partitions=["t-0"], protocol="v2")
    t.request(END_TXN, 30, "a", 1, committed=False, protocol="v2")
    before, whole = t.finish()
    assert (before.outcome, before.begin_ns) == ("cut", None)
    assert (whole.outcome, whole.producer_epoch, whole.begin_ns) == ("aborted", 1, 20 * MS)


def test_markers_end_a_transaction_when_they_are_written() -> None:
    """The capture lacks its EndTxn: the response to WriteTxnMarkers is the proof."""
    t = Trace()
    t.request(INIT_PRODUCER_ID, 0, "a", 0)
    t.request(ADD_PARTITIONS_TO_TXN, 10, "a", 0, partitions=["t-0"])
    body = {"request_id": "markers-1", "producer_id": 7, "producer_epoch": 0, "partitions": ["t-0"], "committed": True}
    markers = EVENT_CLASSES["transaction_markers"].of(body | {"answered_ns": 35 * MS})
    t.rows += t.id.take(markers, Origin(1, 30 * MS, 0, 0, "broker", 0, None, None))
    (row,) = t.finish()
    assert (row.outcome, row.end_ns, row.n_markers) == ("committed", 35 * MS, 1)
    assert "markers-1" in row.evidence


def test_the_abort_that_a_fenced_client_gets_accepted_gives_it_the_id_back() -> None:
    """KIP-890: the coordinator takes the abort for a repetition of its own; without an error the client goes on until
    the other one has an epoch."""
    t = Trace()
    t.request(INIT_PRODUCER_ID, 0, "a", 0)
    t.request(ADD_PARTITIONS_TO_TXN, 10, "a", 0, partitions=["t-0"])
    t.request(INIT_PRODUCER_ID, 20, "b", 0, producer_id=None, producer_epoch=None, errors=["CONCURRENT_TRANSACTIONS"])
    t.request(END_TXN, 30, "a", 0, committed=False)
    (row,) = t.finish()
    assert (row.outcome, row.fenced_by, row.verdict) == ("aborted", None, "confirmed")
