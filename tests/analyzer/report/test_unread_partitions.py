"""Unread partitions in words."""

from dataclasses import fields

from kafkascope_analyzer.report.model.unread_partitions import (
    ReassignedPartition,
    Rebalance,
    most_unread_text,
    partition_text,
    unread_text,
)

MS, S = 1_000_000, 1_000_000_000
NAMES = {"m-1": "reader-1", "m-2": "reader-2"}


def entry(partition, before, after, begun=None, ended=None, waited_ms=None):
    return ReassignedPartition("clicks", partition, before, after, begun, ended, waited_ms)


def rebalance(partitions):
    """A rebalance of which nothing else is known."""
    lists = dict.fromkeys(("members", "departed", "refused_commits", "fenced", "evidence"), ())
    return Rebalance(**dict.fromkeys(field.name for field in fields(Rebalance)) | lists | {"partitions": partitions})


def test_a_partition():
    moved = entry(3, "m-1", "m-2", 10 * S, 15_450 * MS, 5_450)
    assert partition_text(moved, NAMES, 0) == (
        "clicks-3 (reader-1 → reader-2) was unread for 5.45 s from 00:10.000 to 00:15.450"
    )
    kept = entry(3, "m-1", "m-1", 10 * S, None, 20_000)
    assert partition_text(kept, NAMES, S) == (
        "clicks-3 (reader-1) was unread for 20.0 s from 00:09.000 until the capture ended"
    )
    assert partition_text(entry(1, "m-9", None), NAMES, 0) == "clicks-1 (m-9 → nobody) has another owner"
    unknown = entry(1, None, None, S, 2 * S, 1_000)
    assert partition_text(unknown, NAMES, 0) == "clicks-1 was unread for 1.00 s from 00:01.000 to 00:02.000"


def test_of_many_partitions_the_one_that_was_unread_longest_is_named():
    partitions = [
        entry(0, "m-1", "m-2", S, 2 * S, 1_000),
        entry(1, "m-1", "m-2"),
        entry(2, "m-1", "m-2", S, 4 * S, 3_000),
        entry(2, "m-1", "m-2", 5 * S, 6 * S, 1_000),
    ]
    assert unread_text(rebalance(tuple(partitions)), NAMES, 0) == (
        "2 partitions were unread, clicks-2 (reader-1 → reader-2) the longest: for 3.00 s from 00:01.000 to 00:04.000"
    )
    assert unread_text(rebalance(tuple(partitions[1:2])), NAMES, 0) == ""
    assert unread_text(rebalance(()), NAMES, 0) == ""
    assert (most_unread_text(3_000), most_unread_text(None)) == ("partitions unread for up to 3.00 s", "")
