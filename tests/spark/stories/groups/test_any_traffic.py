"""Whatever is sent and answered, in whatever order, ends in rows: groups are named by strangers."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_spark.stories.groups.table import RebalanceRow

ERRORS = (None, None, None, "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "NOT_COORDINATOR")
MEMBERS = ("", "a", "b", "c", "d")


def some_partitions(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.sample(range(6), rng.randrange(4)))


def add_something(t: Any, rng: random.Random, at: int) -> None:
    who, error, generation = rng.choice(MEMBERS), rng.choice(ERRORS), rng.randrange(-2, 5)
    answered = rng.choice((None, at, at + rng.randrange(50)))
    instance = rng.choice((None, None, "i"))
    kind = rng.randrange(8)
    if kind == 0:
        listed = rng.sample(MEMBERS, rng.randrange(4))
        asks = rng.choice((who, ""))
        t.join(at, answered, who, generation, asks=asks, error=error, members=listed, instance=instance)
    elif kind == 1:
        gives = {m: some_partitions(rng) for m in rng.sample(MEMBERS, rng.randrange(3))}
        t.sync(at, answered, who, generation, *some_partitions(rng), gives=gives, error=error)
    elif kind == 2:
        t.leave(at, who, error=error)
    elif kind == 3:
        t.beat(at, who, generation, error or "ILLEGAL_GENERATION")
    elif kind == 4:
        t.commit(at, who, generation, error or "STALE_MEMBER_EPOCH")
    elif kind == 5:
        t.keep(at, at + rng.randrange(5_000), who, max(generation, 0), rng.choice((12, 8, 68, 76, 88)))
    else:
        protocol = rng.choice(("consumer", "consumer", "share", "streams"))
        has = rng.choice((None, some_partitions(rng)))
        epoch = rng.choice((-2, -1, 0, 1, 2, 3))
        topics = rng.choice((None, ["t"], ["u"]))
        t.epoch(at, who, epoch, generation, has, error=error, topics=topics, protocol=protocol, instance=instance)


@pytest.mark.parametrize("seed", range(8))
def test_any_traffic_ends_in_rows_of_the_table(trace: Callable[..., Any], seed: int) -> None:
    rng = random.Random(seed)
    n_rows = 0
    for _ in range(60):
        t = trace()
        at = 0
        for _ in range(rng.randrange(2, 60)):
            at += rng.choice((0, 1, 10, 2_000))
            add_something(t, rng, at)
        rows = t.rebalances()
        batch_of_rows(RebalanceRow, rows).validate(full=True)
        n_rows += len(rows)
        for row in rows:
            assert row.trigger in ("unknown", "first") or row.trigger_why, row
            assert row.outcome in ("stable", "superseded", "open", "taken_over", "unseen")
            assert (row.duration_ms or 0) >= 0
    assert n_rows > 100
