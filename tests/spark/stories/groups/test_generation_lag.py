"""The lag of committed offsets, from events small enough to see."""

from collections.abc import Callable
from typing import Any


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
