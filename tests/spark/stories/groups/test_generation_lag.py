"""The lag of committed offsets, from events small enough to see."""

from collections.abc import Callable
from typing import Any

from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupLag
from kafkascope_spark.stories.groups.generation_lag import GenerationLag
from kafkascope_spark.stories.groups.table import RebalanceRow


def test_lag_is_added_up_by_generation(trace: Callable[..., Any]) -> None:
    """Generation 1 commits 40 of 50 (partition 0) and 7 of 7; by
    generation 2 the end of partition 0 is 90, and partition 1 has a commit beyond what the capture shows as its end."""
    t = trace().join(2, 300, "a", 1, members=["a"]).sync(301, 305, "a", 1, 0, gives={"a": (0,)})
    t.join(30_000, 30_300, "a", 2, members=["a"]).sync(30_301, 30_305, "a", 2, 0, gives={"a": (0,)})
    t.lag(20_000, 1, 0, 40, 50).lag(20_000, 1, 1, 7, 7)
    t.lag(60_000, 2, 0, 70, 90).lag(60_001, 2, 1, 9, 8)
    rows = t.rebalances()
    assert [(r.generation, r.lag_records, r.n_lag_partitions) for r in rows] == [(1, 10, 2), (2, 20, 2)]


def test_a_generation_without_commits_has_no_lag(trace: Callable[..., Any]) -> None:
    (row,) = trace().join(2, 300, "a", 1, members=["a"]).lag(5, 2, 0, 1, 2).rebalances()
    assert (row.lag_records, row.n_lag_partitions) == (None, None)


def test_the_lag_of_an_unnumbered_round_is_not_known() -> None:
    """Commits of a simple consumer without a group carry generation -1; a round without a number is not theirs."""
    lag = GenerationLag()
    lag.add(GroupLag(generation_or_epoch=-1, topic="t", partition=0, committed_offset=1, high_watermark=9))
    row = empty_row(RebalanceRow)
    row.generation = None
    lag.complete(row)
    assert (row.lag_records, row.n_lag_partitions) == (None, None)


def test_the_lag_fits_its_column_whatever_brokers_send() -> None:
    """Offsets are 64-bit numbers from the wire: the sum of two may exceed them."""
    lag = GenerationLag()
    for partition in (0, 1):
        end = 2**63 - 1
        lag.add(GroupLag(generation_or_epoch=1, topic="t", partition=partition, committed_offset=0, high_watermark=end))
    row = empty_row(RebalanceRow)
    row.generation = 1
    lag.complete(row)
    assert row.lag_records is not None
    assert 2**53 <= row.lag_records < 2**63
    assert row.n_lag_partitions == 2
