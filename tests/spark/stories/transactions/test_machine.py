"""The state machine without Spark, on traces. What the coordinator answers and writes in each case is that of Kafka's
TransactionCoordinator and of its clients' TransactionManager (KIP-98, KIP-360, KIP-588, KIP-890)."""

from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.transactions.machine import ClientEnd, Transactions
from kafkascope_spark.stories.transactions.table import TransactionRow

Row = dict[str, Any]
MS = 1_000_000
NAME = "orders-tx"
END_MS = 100_000
INIT, ADD_PARTITIONS, ADD_OFFSETS, END, OFFSET_COMMIT = 22, 24, 25, 26, 28


class Producer:
    """A client with a producer id and an epoch; gone: when its last connection ended."""

    def __init__(self, client: str, epoch: int = 0, gone: int | None = None, pid: int = 7) -> None:
        self.client, self.epoch, self.pid = client, epoch, pid
        self.gone = None if gone is None else gone * MS

    def _row(self, kind: str, at: int, **fields: Any) -> Row:
        fields = {"request_id": f"{self.client}-{at}"} | fields
        body = EVENT_CLASSES[kind].of(fields)
        keys: Row = {"key": NAME, "ts_ns": at * MS, "packet_no": 0, "conn_id": self.client, "seq": 0, "kind": kind}
        return keys | {"client_instance_id": self.client, "left_ns": self.gone, kind: body}

    def _request(
        self, api_key: int, at: int, *, answered: bool = True, errors: tuple[str, ...] = (), **fields: Any
    ) -> Row:
        answer = {"answered_ns": (at + 1) * MS if answered else None, "errors": list(errors) or None}
        return self._row("transaction_request", at, api_key=api_key, **answer, **fields)

    def init(self, at: int, timeout: int = 60_000, asks: int | None = None, **more: Any) -> Row:
        """InitProducerId, which gives it its epoch; asks: the producer id of one that only wants a new epoch."""
        refused = bool(more.get("errors"))
        given: dict[str, Any] = {
            "producer_id": None if refused else self.pid,
            "producer_epoch": None if refused else self.epoch,
        }
        return self._request(INIT, at, timeout_ms=timeout, asked_producer_id=asks, **given, **more)

    def adds(self, at: int, *partitions: str, **more: Any) -> Row:
        """AddPartitionsToTxn: v1."""
        own: dict[str, Any] = {"protocol": "v1", **self._own()}
        return self._request(ADD_PARTITIONS, at, partitions=list(partitions), **own, **more)

    def adds_group(self, at: int, group: str, **more: Any) -> Row:
        """AddOffsetsToTxn: v1."""
        return self._request(ADD_OFFSETS, at, group_id=group, protocol="v1", **self._own(), **more)

    def commits_offsets(self, at: int, group: str, **more: Any) -> Row:
        """TxnOffsetCommit v5, which adds the group by itself: v2."""
        return self._request(OFFSET_COMMIT, at, group_id=group, protocol="v2", **self._own(), **more)

    def writes(
        self,
        at: int,
        until: int,
        *partitions: str,
        records: int = 1,
        protocol: str = "v2",
        errors: tuple[str, ...] = (),
    ) -> Row:
        """Produce requests between two EndTxn, added up. They carry no producer id."""
        counts = dict.fromkeys(("kept_batches", "kept_records", "sent_batches", "sent_records"), records)
        return self._row(
            "transaction_written",
            at,
            last_ns=until * MS,
            last_request_id=f"{self.client}-{until}",
            answered_ns=(at + 1) * MS,
            protocol=protocol,
            n_answered=1,
            partitions=list(partitions),
            first_offsets=[None] * len(partitions),
            errors=list(errors),
            **counts,
        )

    def ends(self, at: int, commit: bool = True, protocol: str = "v1", **more: Any) -> Row:
        """EndTxn; with v2 the answer gives the next epoch, which the producer has from then on."""
        fields: dict[str, Any] = {"committed": commit, "protocol": protocol, **self._own()}
        if protocol == "v2" and not more.get("errors") and more.get("answered", True):
            fields |= {"answer_producer_id": self.pid, "answer_producer_epoch": self.epoch + 1}
            self.epoch += 1
        return self._request(END, at, **fields, **more)

    def verified(self, at: int, partition: str, protocol: str = "v2") -> Row:
        """AddPartitionsToTxn of the partition's leader, which asks the coordinator whether it may append."""
        fields = {"protocol": protocol, "partitions": [partition], "request_id": f"leader-{at}", **self._own()}
        return self._row("transaction_seen", at, **fields) | {"client_instance_id": "broker"}

    def marked(self, at: int, epoch: int, commit: bool, *partitions: str) -> Row:
        """WriteTxnMarkers of the coordinator, with the producer's id and this epoch."""
        fields = {"producer_id": self.pid, "producer_epoch": epoch, "committed": commit}
        times = {"answered_ns": (at + 1) * MS, "partitions": list(partitions), "request_id": f"broker-{at}"}
        return self._row("transaction_markers", at, **fields, **times) | {"client_instance_id": "broker"}

    def _own(self) -> dict[str, Any]:
        return {"producer_id": self.pid, "producer_epoch": self.epoch}


def event_of(row: Row) -> tuple[Any, Origin]:
    """The event, and when and where it was."""
    return row[row["kind"]], Origin(*(row.get(name) for name in Origin._fields))


def client_ends(*events: Row) -> list[Row]:
    """When the clients of the events left."""
    left = {event["client_instance_id"]: event["left_ns"] for event in events}
    keys = {"key": NAME, "ts_ns": 0, "packet_no": 0, "conn_id": "", "seq": 0, "kind": "client_end"}
    return [keys | {"client_end": ClientEnd(client, ns)} for client, ns in left.items()]


def rows_of(*events: Row) -> list[TransactionRow]:
    """The rows of the table, in order of begin."""
    machine = Transactions(NAME, END_MS * MS)
    rows = [row for event in (*client_ends(*events), *events) for row in machine.take(*event_of(event))]
    rows += machine.finish()
    return sorted(rows, key=lambda row: row.transaction_no or 0)


def ends_of(rows: list[TransactionRow]) -> list[tuple[str, str | None]]:
    """How each ended."""
    return [(row.outcome, row.end_kind) for row in rows]


COMMITTED, ABORTED = ("committed", "commit"), ("aborted", "abort")


def test_v1_two_transactions_of_one_epoch() -> None:
    p = Producer("a")
    one, two = rows_of(
        p.init(0, timeout=9_000),
        p.adds(10, "t-0"),
        p.writes(20, 30, "t-0", records=3, protocol="v1"),
        p.adds_group(40, "g"),
        p.ends(50),
        p.adds(60, "t-1"),
        p.writes(70, 80, "t-1", records=2, protocol="v1"),
        p.ends(90, commit=False),
    )
    assert (one.outcome, one.end_kind, one.verdict) == ("committed", "commit", "confirmed")
    assert (one.begin_ns, one.end_ns, one.duration_ms) == (10 * MS, 51 * MS, 41)
    assert (one.partitions, one.offset_groups, one.n_records) == (("t-0",), ("g",), 3)
    assert (one.transactions, one.transaction_timeout_ms, one.transaction_no) == ("v1", 9_000, 1)
    assert (two.outcome, two.partitions, two.n_records, two.begin_ns) == ("aborted", ("t-1",), 2, 60 * MS)
    assert one.evidence[0] == "a-0"
    assert one.evidence[-1] == "a-50"


def test_v2_epoch_of_each_transaction_comes_with_the_answer_to_end_txn() -> None:
    p = Producer("a")
    rows = rows_of(
        p.init(0),
        p.writes(10, 20, "t-0"),
        p.ends(30, protocol="v2"),
        p.commits_offsets(40, "g"),
        p.writes(50, 60, "t-0", "t-1"),
        p.ends(70, protocol="v2"),
    )
    assert ends_of(rows) == [COMMITTED, COMMITTED]
    assert [row.producer_epoch for row in rows] == [0, 1]
    assert [row.transactions for row in rows] == ["v2", "v2"]
    assert rows[1].offset_groups == ("g",)
    assert rows[1].partitions == ("t-0", "t-1")


def test_markers_of_v1_come_with_the_same_epoch_and_of_v2_with_the_next() -> None:
    old, new = Producer("a"), Producer("b")
    (v1,) = rows_of(old.init(0), old.adds(10, "t-0", "t-1"), old.ends(20), old.marked(22, 0, True, "t-0", "t-1"))
    (v2,) = rows_of(new.init(0), new.writes(10, 15, "t-0"), new.ends(20, protocol="v2"), new.marked(22, 1, True, "t-0"))
    assert (v1.n_markers, v2.n_markers) == (2, 1)


def test_late_markers_go_to_the_transaction_before_the_one_that_may_not_begin_yet() -> None:
    p = Producer("a")
    one, two = rows_of(
        p.init(0),
        p.adds(10, "t-0"),
        p.ends(20),
        p.adds(30, "t-0", errors=("CONCURRENT_TRANSACTIONS",)),
        p.marked(35, 0, True, "t-0"),
        p.adds(40, "t-0"),
        p.ends(50),
    )
    assert (one.n_markers, two.n_markers) == (1, 0)
    assert two.begin_ns == 30 * MS
    assert two.error_names == ("CONCURRENT_TRANSACTIONS",)


def test_fenced_by_another_instance_and_what_it_still_sends_is_no_transaction() -> None:
    a, b = Producer("a", epoch=3), Producer("b", epoch=5)
    one, two = rows_of(
        a.init(0),
        a.writes(10, 40, "t-0", records=2),
        b.init(50, errors=("CONCURRENT_TRANSACTIONS",)),
        a.writes(55, 55, "t-0", records=0, errors=("INVALID_PRODUCER_EPOCH",)),
        a.ends(60, commit=False, protocol="v2"),
        b.init(70),
        b.writes(80, 90, "t-0"),
        b.ends(95, protocol="v2"),
    )
    assert (one.outcome, one.end_kind, one.fenced_by) == ("fenced", "init_producer_id", "b")
    assert (one.fenced_ns, one.end_ns, one.n_records) == (50 * MS, 51 * MS, 2)
    assert one.error_names == ("INVALID_PRODUCER_EPOCH",)
    assert {"a-55", "a-60", "b-50"} <= set(one.evidence)
    assert (two.client_instance_id, two.outcome) == ("b", "committed")


def test_one_that_aborts_while_its_id_is_taken_may_go_on_until_the_taker_has_an_epoch() -> None:
    a, b = Producer("a", epoch=5), Producer("b", epoch=8)
    rows = rows_of(
        a.init(0),
        a.writes(10, 20, "t-0"),
        b.init(30, errors=("CONCURRENT_TRANSACTIONS",)),
        a.ends(40, commit=False, protocol="v2", errors=("CONCURRENT_TRANSACTIONS",)),
        a.ends(50, commit=False, protocol="v2"),
        a.writes(60, 80, "t-1", errors=("INVALID_PRODUCER_EPOCH",)),
        b.init(70, errors=("CONCURRENT_TRANSACTIONS",)),
        a.ends(85, commit=False, protocol="v2"),
        b.init(90),
        b.writes(95, 96, "t-2"),
        b.ends(97, protocol="v2"),
    )
    assert ends_of(rows) == [ABORTED, ("fenced", "init_producer_id"), COMMITTED]
    assert [row.client_instance_id for row in rows] == ["a", "a", "b"]
    assert [row.fenced_by for row in rows] == [None, "b", None]
    assert [row.producer_epoch for row in rows] == [5, 6, 8]


def test_fenced_between_two_transactions_is_seen_when_it_goes_on() -> None:
    a, b = Producer("a"), Producer("b", epoch=1)
    rows = rows_of(
        a.init(0),
        a.adds(10, "t-0"),
        a.ends(20),
        b.init(30),
        a.adds(40, "t-0", errors=("PRODUCER_FENCED",)),
        b.adds(50, "t-0"),
        b.ends(60),
    )
    assert ends_of(rows) == [COMMITTED, ("fenced", "init_producer_id"), COMMITTED]
    assert (rows[1].client_instance_id, rows[1].fenced_by, rows[1].fenced_ns) == ("a", "b", 30 * MS)


def test_the_successor_of_a_client_that_went_away_fences_nobody() -> None:
    a, b = Producer("a", gone=40), Producer("b", epoch=1)
    (row,) = rows_of(a.init(0), a.adds(10, "t-0"), b.init(50))
    assert (row.outcome, row.end_kind, row.left_ns) == ("aborted", "init_producer_id", 40 * MS)
    assert row.fenced_by == "b"


def test_its_own_init_producer_id_after_an_abort_fences_nobody() -> None:
    p = Producer("a")
    first = [p.init(0), p.adds(10, "t-0"), p.ends(20, commit=False)]
    p.epoch = 1
    rows = rows_of(*first, p.init(30, asks=7), p.adds(40, "t-0"), p.ends(50))
    assert ends_of(rows) == [ABORTED, COMMITTED]
    assert [row.producer_epoch for row in rows] == [0, 1]


@pytest.mark.parametrize(("gone", "outcome"), [(5_000, "hanging"), (None, "aborted")])
def test_the_coordinator_aborts_what_is_older_than_its_timeout(gone: int | None, outcome: str) -> None:
    p = Producer("a", gone=gone)
    (row,) = rows_of(p.init(0, timeout=9_000), p.adds(10, "t-0"), p.marked(9_500, 1, False, "t-0"))
    assert (row.outcome, row.end_kind, row.end_ns) == (outcome, "coordinator", 9_501 * MS)
    assert row.left_ns == (None if gone is None else gone * MS)


@pytest.mark.parametrize("commit", [True, False])
def test_without_markers_the_refused_end_shows_that_the_timeout_was_over(commit: bool) -> None:
    p = Producer("a")
    (row,) = rows_of(p.init(0, timeout=9_000), p.adds(10, "t-0"), p.ends(12_000, commit, errors=("PRODUCER_FENCED",)))
    assert (row.outcome, row.end_kind, row.verdict) == ("aborted", "coordinator", "refused")


def test_an_abort_that_repeats_the_coordinators_own_is_not_the_clients() -> None:
    p = Producer("a")
    (row,) = rows_of(
        p.init(0, timeout=9_000),
        p.writes(10, 12_000, "t-0", errors=("INVALID_PRODUCER_EPOCH",)),
        p.ends(12_010, commit=False, protocol="v2"),
    )
    assert (row.outcome, row.end_kind) == ("aborted", "coordinator")


@pytest.mark.parametrize("protocol", ["v1", "v2"])
def test_what_a_client_sends_after_the_coordinator_aborted_is_no_new_transaction(protocol: str) -> None:
    p = Producer("a")
    begun = p.writes(10, 20, "t-0") if protocol == "v2" else p.adds(10, "t-0")
    first = [p.init(0, timeout=9_000), begun, p.marked(9_500, 1, False, "t-0")]
    if protocol == "v2":
        after = [p.ends(12_000, commit=False, protocol="v2")]
    else:
        after = [p.ends(12_000, errors=("PRODUCER_FENCED",))]
        p.epoch = 2
        after += [p.init(12_010, asks=7)]
    rows = rows_of(
        *first, *after, p.writes(12_020, 12_030, "t-1", protocol=protocol), p.ends(12_040, protocol=protocol)
    )
    assert ends_of(rows) == [("aborted", "coordinator"), COMMITTED]
    assert [row.partitions for row in rows] == [("t-0",), ("t-1",)]


def test_an_epoch_that_is_over_before_the_timeout_was_taken_by_somebody_unseen() -> None:
    p = Producer("a")
    (row,) = rows_of(p.init(0), p.adds(10, "t-0"), p.ends(500, errors=("PRODUCER_FENCED",)))
    assert (row.outcome, row.fenced_by) == ("fenced", None)


def test_left_open_until_the_end_of_the_capture() -> None:
    gone, slow, busy = Producer("a", gone=40), Producer("a"), Producer("a")
    (left,) = rows_of(gone.init(0), gone.adds(10, "t-0"))
    (late,) = rows_of(slow.init(0, timeout=9_000), slow.adds(10, "t-0"))
    (open_,) = rows_of(busy.init(99_000), busy.adds(99_010, "t-0"))
    assert [row.outcome for row in (left, late, open_)] == ["hanging", "hanging", "open"]
    assert (left.left_ns, late.left_ns) == (40 * MS, None)
    assert (open_.end_ns, open_.duration_ms) == (None, END_MS - 99_010)


def test_end_txn_is_sent_again_where_the_coordinator_moved() -> None:
    p = Producer("a")
    (row,) = rows_of(
        p.init(0),
        p.adds(10, "t-0"),
        p.ends(20, errors=("NOT_COORDINATOR",)),
        p.ends(120, answered=False),
        p.ends(220),
    )
    assert (row.outcome, row.verdict, row.end_ns) == ("committed", "confirmed", 221 * MS)


def test_end_txn_without_an_answer_counts_when_the_producer_goes_on_and_at_the_end() -> None:
    p = Producer("a")
    rows = rows_of(p.init(0), p.adds(10, "t-0"), p.ends(20, answered=False))
    assert ends_of(rows) == [COMMITTED]
    assert (rows[0].verdict, rows[0].end_ns) == ("claimed", None)


def test_a_refused_end_leaves_it_open() -> None:
    p = Producer("a")
    (row,) = rows_of(p.init(99_000), p.adds(99_010, "t-0"), p.ends(99_020, errors=("INVALID_TXN_STATE",)))
    assert (row.outcome, row.verdict) == ("open", "refused")


def test_what_began_before_the_capture_is_cut_and_what_follows_is_not() -> None:
    p = Producer("a", epoch=4)
    v1 = rows_of(p.adds(10, "t-0"), p.ends(20), p.adds(30, "t-0"), p.ends(40))
    v2 = rows_of(p.writes(10, 15, "t-0"), p.ends(20, protocol="v2"), p.writes(30, 35, "t-0"), p.ends(40, protocol="v2"))
    for rows in (v1, v2):
        assert ends_of(rows) == [("cut", "commit"), COMMITTED]
        assert (rows[0].begin_ns, rows[0].duration_ms) == (None, None)


def test_where_only_brokers_speak_each_epoch_is_a_transaction() -> None:
    p, then = Producer("a", epoch=4), Producer("a", epoch=5)
    rows = rows_of(
        p.verified(10, "t-0"),
        p.marked(20, 5, True, "t-0"),
        then.verified(30, "t-1"),
        then.marked(40, 6, False, "t-1"),
    )
    assert ends_of(rows) == [("cut", "commit"), ABORTED]
    assert [row.partitions for row in rows] == [("t-0",), ("t-1",)]


@pytest.mark.parametrize("protocol", ["v1", "v2"])
def test_where_only_one_leader_is_captured_markers_end_what_its_client_writes(protocol: str) -> None:
    p, ahead = Producer("a"), int(protocol == "v2")
    rows = rows_of(
        p.writes(10, 15, "t-0", protocol=protocol),
        p.verified(11, "t-0", protocol),
        p.marked(20, ahead, True, "t-0"),
        p.writes(30, 35, "t-0", protocol=protocol, records=4),
        Producer("a", epoch=ahead).verified(31, "t-0", protocol),
        p.marked(40, 2 * ahead, True, "t-0"),
    )
    assert ends_of(rows) == [("cut", "commit"), COMMITTED]
    assert [(row.producer_id, row.producer_epoch) for row in rows] == [(7, 0), (7, ahead)]
    assert (rows[1].n_records, rows[1].client_instance_id, rows[1].transactions) == (4, "a", protocol)


def test_a_client_that_aborts_elsewhere_and_closes_leaves_nothing_open() -> None:
    p = Producer("a", gone=25)
    (row,) = rows_of(p.writes(10, 15, "t-0"), p.verified(11, "t-0"), p.marked(30, 1, False, "t-0"))
    assert (row.end_kind, row.left_ns) == ("abort", None)


def test_a_leader_that_asks_for_a_batch_sent_again_begins_nothing() -> None:
    p = Producer("a")
    rows = rows_of(p.init(0), p.adds(10, "t-0"), p.ends(20), p.verified(25, "t-0", "v1"), p.adds(30, "t-1"), p.ends(40))
    assert [(row.begin_ns, row.partitions) for row in rows] == [(10 * MS, ("t-0",)), (30 * MS, ("t-1",))]


def test_memory_is_that_of_one_id() -> None:
    p = Producer("a")
    machine = Transactions(NAME, END_MS * MS)
    rows = list(machine.take(*event_of(p.init(0))))
    for at in range(10, 10_000, 10):
        rows += [*machine.take(*event_of(p.adds(at, "t-0"))), *machine.take(*event_of(p.ends(at + 5)))]
    assert len(rows) == 999 - 4
    assert len(list(machine.finish())) == 4
