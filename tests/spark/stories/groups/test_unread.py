"""For how long partitions were unread around a rebalance, from hand-made requests and responses, in milliseconds."""

from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_spark.stories.groups.rebalance_row import topic_partition
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.groups.unread import UnreadPartitions
from kafkascope_spark.stories.stalls.machine import Service

MS = 1_000_000
New = Callable[..., Any]


def killed(t: Any) -> Any:
    """a and b have partitions 0, 1 and 2, 3; b is killed at 15 s, and a gets all of them at 25.02 s."""
    t.consumer("a").consumer("b", 15_000)
    t.asks_first(0, "a").join(2, 300, "a", 1).asks_first(10, "b").join(12, 300, "b", 1)
    t.sync(301, 305, "a", 1, 0, 1, gives={"a": (0, 1), "b": (2, 3)}).sync(301, 304, "b", 1, 2, 3)
    t.keep(3_000, 24_000, "a", 1).keep(3_000, 15_000, "b", 1)
    t.beat(25_000, "a", 1, "REBALANCE_IN_PROGRESS").join(25_002, 25_010, "a", 2, members=["a"])
    return t.sync(25_011, 25_020, "a", 2, 0, 1, 2, 3, gives={"a": (0, 1, 2, 3)}).keep(26_000, 90_000, "a", 2)


def unread(row: RebalanceRow) -> dict[int, tuple[float | None, float | None, int | None]]:
    """Partition -> from, to and length of the time in which it was unread."""
    times = {}
    for entry in row.partitions:
        begun, ended = (None if at is None else at / MS for at in (entry.unread_from_ns, entry.unread_to_ns))
        times[entry.partition] = (begun, ended, entry.unread_ms)
    return times


def owners(row: RebalanceRow) -> dict[int, tuple[str | None, str | None]]:
    return {p.partition: (p.owner_before, p.owner_after) for p in row.partitions}


def test_the_partitions_of_a_killed_member_are_unread_until_another_one_reads_them(trace: New) -> None:
    """Partition 2 gets a record at 16 s, partition 3 none; a reads 0 all the time."""
    t = killed(trace()).reads(400, 15_000, "b", (0, 50), partition=2, accepted=16_000)
    t.reads(25_100, 60_000, "a", (50, 90), partition=2).reads(400, 14_900, "b", (0, 40), partition=3)
    tables = t.reads(400, 60_000, "a", (0, 90)).tables()
    first, second = tables["rebalances"]
    assert (first.unread_ms, unread(first)) == (None, dict.fromkeys(range(4), (None, None, None)))
    assert second.unread_ms == 9_100
    assert owners(second) == {2: ("b", "a"), 3: ("b", "a")}
    assert unread(second) == {2: (16_000, 25_100, 9_100), 3: (None, None, None)}
    (stall,) = tables["stalls"]
    assert (stall.partition, stall.from_ns, stall.to_ns) == (2, 16_000 * MS, 25_100 * MS)


def test_a_partition_that_nobody_reads_any_more_is_unread_until_the_capture_ends(trace: New) -> None:
    t = killed(trace(end=90_000)).reads(400, 15_000, "b", (0, 50), partition=2, accepted=15_100)
    row = t.rebalances()[-1]
    assert unread(row) == {2: (15_100, None, 74_900), 3: (None, None, None)}


def test_a_wait_shorter_than_a_stall_is_told_too(trace: New) -> None:
    """The new owner begins to read 300 ms after the record was there, which was after the rebalance."""
    t = killed(trace()).reads(400, 15_000, "b", (0, 50), partition=2, accepted=25_100)
    tables = t.reads(25_400, 60_000, "a", (50, 90), partition=2).tables()
    assert unread(tables["rebalances"][-1])[2] == (25_100, 25_400, 300)
    assert tables["stalls"] == []


def test_what_stalls_long_after_the_rebalance_is_not_its_doing(trace: New) -> None:
    """a has read partition 0 since; partition 2 has its first record at 50 s."""
    t = killed(trace()).reads(400, 15_000, "b", (0, 50), partition=2, accepted=50_000)
    t.reads(55_000, 60_000, "a", (50, 90), partition=2).reads(26_000, 60_000, "a", (0, 90))
    tables = t.tables()
    assert tables["rebalances"][-1].unread_ms is None
    assert [row.waited_ms for row in tables["stalls"]] == [5_000]


@pytest.mark.slow
def test_a_partition_that_keeps_its_owner_may_be_unread_too(trace: New) -> None:
    t = killed(trace()).reads(400, 24_000, "a", (0, 50), accepted=24_100)
    row = t.reads(25_200, 60_000, "a", (50, 90)).rebalances()[-1]
    assert owners(row)[0] == ("a", "a")
    assert unread(row)[0] == (24_100, 25_200, 1_100)


@pytest.mark.parametrize("ends", [16_000, 17_000])
def test_a_wait_that_is_over_before_the_rebalance_is_none_of_it(trace: New, ends: int) -> None:
    t = killed(trace()).reads(400, 15_000, "b", (0, 50), partition=2, accepted=15_100)
    row = t.reads(ends, 60_000, "a", (50, 90), partition=2).rebalances()[-1]
    assert row.unread_ms is None


def test_one_wait_through_two_rebalances_belongs_to_both(trace: New) -> None:
    t = killed(trace()).reads(400, 15_000, "b", (0, 50), partition=2, accepted=16_000)
    t.asks_first(25_100, "c").join(25_102, 25_210, "c", 3).consumer("c")
    t.beat(25_200, "a", 2, "REBALANCE_IN_PROGRESS").join(25_202, 25_210, "a", 3, members=["a", "c"])
    t.sync(25_211, 25_220, "a", 3, 0, 1, gives={"a": (0, 1), "c": (2, 3)}).sync(25_211, 25_219, "c", 3, 2, 3)
    rows = t.reads(25_300, 60_000, "c", (50, 90), partition=2).rebalances()
    assert [unread(row)[2] for row in rows[-2:]] == [(16_000, 25_300, 9_300)] * 2
    assert [owners(row)[2] for row in rows[-2:]] == [("b", "a"), ("a", "c")]


def test_the_consumer_protocol_says_it_in_the_same_way(trace: New) -> None:
    """b was last seen at 12 s; a gets its partitions at 18.5 s and reads them at 18.6 s."""
    t = trace().epoch(0, "a", 0, 1, (0, 1), topics=["t"]).epoch(10, "b", 0, 2, (2, 3), topics=["t"])
    t.epoch(100, "a", 1, 2).keep(1_000, 18_000, "a", 2, 68).keep(1_000, 12_000, "b", 2, 68)
    t.epoch(18_500, "a", 2, 3, (0, 1, 2, 3)).keep(19_000, 90_000, "a", 3, 68)
    t.consumer("a").consumer("b", 12_000).reads(400, 12_000, "b", (0, 50), partition=2, accepted=12_200)
    row = t.reads(18_600, 60_000, "a", (50, 90), partition=2).rebalances()[-1]
    assert owners(row)[2] == ("b", "a")
    assert unread(row)[2] == (12_200, 18_600, 6_400)


def test_what_is_no_partition_is_left_out() -> None:
    """Members may send what they like: a partition may have any 32 bits."""
    assert topic_partition("orders-eu-12") == ("orders-eu", 12)
    assert [topic_partition(item) for item in ("t--2147483648", "orders", "-1", "0_1", "t-x", "t-\u00b2")] == [None] * 6


def test_where_every_record_was_read_nothing_is_unread() -> None:
    none = UnreadPartitions(Service("g"), 90_000 * MS)
    assert none.places_after(0, None) == none.places_after(None, None) == set()
