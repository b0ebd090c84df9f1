"""What a client writes on several connections between two bounds is added up; consumers are matched with the first
offsets."""

from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.transactions import SHORTEST_UNSEEN_NS
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.transactions import stretch
from kafkascope_spark.stories.transactions.blocked_readers import MOST_CONSUMERS
from kafkascope_spark.stories.transactions.machine import Transactions
from kafkascope_spark.stories.transactions.table import TransactionRow

Row = dict[str, Any]
SECOND = 1_000_000_000


def event_of(row: Row) -> tuple[Any, Origin]:
    """The event, and when and where it was."""
    return row[row["kind"]], Origin(*(row.get(name) for name in Origin._fields))


def row(kind: str, key: str, ts_ns: int, conn_id: str, **body: Any) -> Row:
    """An event of the client that has the connection: connection `a2` is of the client `a`."""
    keys = {"key": key, "ts_ns": ts_ns, "packet_no": 0, "conn_id": conn_id, "seq": 0, "kind": kind}
    event = EVENT_CLASSES[kind].of(body)
    return keys | {"client_instance_id": conn_id[0], kind: event}


def written(ts_ns: int, conn_id: str, last_ns: int, offsets: dict[str, int | None], **counts: Any) -> Row:
    fields = dict.fromkeys(("n_answered", "kept_batches", "kept_records", "sent_batches", "sent_records"), 0)
    ids = {"request_id": f"{conn_id}-{ts_ns}", "last_request_id": f"{conn_id}-{last_ns}", "last_ns": last_ns}
    lists = {"partitions": list(offsets), "first_offsets": list(offsets.values()), "errors": [], "protocol": "v1"}
    return row("transaction_written", "tx", ts_ns, conn_id, **(fields | ids | lists | counts))


def ends(ts_ns: int, conn_id: str = "a1") -> Row:
    fields = {"request_id": f"{conn_id}-{ts_ns}", "api_key": 26, "committed": True, "protocol": "v1"}
    return row("transaction_request", "tx", ts_ns, conn_id, answered_ns=ts_ns + 1, **fields)


def adds(ts_ns: int, partition: str, conn_id: str = "a1") -> Row:
    fields = {"request_id": f"{conn_id}-{ts_ns}", "api_key": 24, "protocol": "v1", "partitions": [partition]}
    return row("transaction_request", "tx", ts_ns, conn_id, answered_ns=ts_ns + 1, **fields)


def blocked(key: str, ts_ns: int, conn_id: str, span: tuple[int, int], **body: Any) -> Row:
    places = {"partition": "t-0", "last_stable_offset": 17, "request_id": f"{conn_id}-{span[1]}"}
    marks = {"lowest_high_watermark": 18, "highest_high_watermark": 20}
    times = {"from_ns": span[0], "until_ns": span[1]}
    return row("transaction_blocked_by_lso", key, ts_ns, conn_id, **(places | marks | times | body))


def rows_of(*events: Row) -> list[TransactionRow]:
    rows: list[TransactionRow] = []
    for name, of_id in groupby(events, key=itemgetter("key")):
        machine = Transactions(name, 100 * SECOND)
        rows += chain.from_iterable(machine.take(*event_of(event)) for event in of_id)
        rows += machine.finish()
    return rows


def test_a_batch_without_an_answer_counts_only_where_no_other_has_one() -> None:
    lost = written(10, "a1", 12, {"t-0": None}, sent_batches=2, sent_records=20)
    again = written(20, "a2", 25, {"t-0": 5}, n_answered=2, kept_batches=2, kept_records=20, sent_records=20)
    (one,) = rows_of(lost, again, ends(30))
    assert (one.n_batches, one.n_records, one.partitions) == (2, 20, ("t-0",))
    assert one.evidence == ("a1-10", "a2-25", "a1-30")
    (alone,) = rows_of(lost, ends(30))
    assert (alone.n_batches, alone.n_records) == (2, 20)


def test_events_between_come_after_the_first_write_of_the_stretch() -> None:
    (one,) = rows_of(written(10, "a1", 12, {"t-0": 1}), adds(15, "t-1"), written(20, "a2", 25, {"t-2": 3}), ends(30))
    assert one.partitions == ("t-0", "t-1", "t-2")
    assert one.evidence == ("a1-10", "a1-15", "a2-25", "a1-30")


def test_two_clients_of_one_stretch_are_not_added_up() -> None:
    first = written(10, "a1", 12, {"t-0": 1}, n_answered=1, kept_batches=1)
    other = written(11, "b1", 12, {"t-0": None}, sent_batches=4)
    (one,) = rows_of(first, other, ends(30))
    assert one.n_batches == 1 + 4


def test_more_events_than_may_wait_are_passed_on_before_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretch, "MOST_WAITING", 3)
    events = [written(10, "a1", 12, {"t-0": 1}), *(adds(20 + n, f"t-{n}") for n in range(1, 9)), ends(90)]
    (one,) = rows_of(*events)
    assert one.partitions == tuple(f"t-{n}" for n in range(9))


def test_consumers_wait_for_the_transaction_whose_first_batch_has_the_offset() -> None:
    fresh = blocked("tx", 20, "r1", (40, 60))
    more = blocked("tx", 20, "r2", (50, 90), lowest_high_watermark=19, highest_high_watermark=25)
    rows = rows_of(
        written(10, "a1", 12, {"t-0": 3}), ends(15), written(20, "a1", 22, {"t-0": 17}), fresh, more, ends(30)
    )
    assert [len(each.held_back) for each in rows] == [0, 1]
    (consumer,) = rows[1].held_back
    assert (consumer.client_instance_id, consumer.from_ns, consumer.until_ns) == ("r", 40, 90)
    assert (consumer.records, consumer.request_id) == (25 - 17, "r2-90")


def test_a_consumer_for_whom_nothing_new_comes_waits_for_nothing() -> None:
    still = blocked("tx", 10, "r1", (40, 60), lowest_high_watermark=18, highest_high_watermark=18)
    (one,) = rows_of(written(10, "a1", 12, {"t-0": 17}), still, ends(30))
    assert one.held_back == ()


def test_an_offset_that_nobody_wrote_first_is_of_an_unseen_transaction_where_it_blocks_for_long() -> None:
    long = blocked("tx", 20, "r1", (40, 40 + SHORTEST_UNSEEN_NS))
    short = blocked("tx", 21, "r1", (40, 39 + SHORTEST_UNSEEN_NS), last_stable_offset=18)
    rows = rows_of(written(10, "a1", 12, {"t-0": 3}), long, short, ends(30))
    unseen = [each for each in rows if each.transactional_id is None]
    assert [each.last_stable_offset for one in unseen for each in one.held_back] == [17]


def test_a_consumer_blocked_by_a_transaction_that_nothing_else_shows() -> None:
    long = (5, 5 + SHORTEST_UNSEEN_NS)
    rows = rows_of(
        blocked("", 5, "r1", long),
        blocked("", 5, "s1", (6, 9)),
        blocked("", 5, "u1", (6, 9), last_stable_offset=30),
        blocked("", 7, "r1", long, last_stable_offset=40),
    )
    assert [[each.client_instance_id for each in row.held_back] for row in rows] == [["r", "s"], ["r"]]
    (one, _) = rows
    assert (one.transactional_id, one.transaction_no, one.outcome) == (None, None, "cut")
    assert (one.partitions, one.end_ns, one.duration_ms) == (("t-0",), None, None)
    assert one.evidence == ("s1-9", f"r1-{long[1]}")


def test_of_a_large_group_the_first_consumers_are_kept() -> None:
    names = [chr(0x4E00 + n) for n in range(MOST_CONSUMERS + 5)]
    rows = rows_of(*(blocked("", 5, f"{name}1", (5 + n, 20 * SECOND)) for n, name in enumerate(names)))
    assert [each.client_instance_id for each in rows[0].held_back] == names[:MOST_CONSUMERS]
