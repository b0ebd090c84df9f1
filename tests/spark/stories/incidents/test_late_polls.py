"""Consumers that fetched late, from stalls written by hand. Times are seconds."""

import pytest

from .conftest import NS, MakeRow, MakeStall
from .test_machine import advised, tell

GROUP = {"group_id": "orders-app"}


def test_records_that_nobody_asked_for_waited_for_their_consumer(stall: MakeStall) -> None:
    """Recorded of a Java consumer whose application takes 3.5 s for what each poll brings."""
    late = [stall("consume", 21, 1, at, at + 3.4, unasked_ms=3_000, **GROUP) for at in (18.2, 21.7, 25.2)]
    late.append(stall("consume", 21, 1, 100, 103, unasked_ms=3_000, **GROUP))
    (first, second), kinds = tell([], late)
    assert set(kinds.values()) == {"slow_consumer"}
    assert (first["place"], first["clients"], first["n_stalls"], second["n_stalls"]) == ("client", ["ci-21"], 3, 1)
    assert (first["severity"], first["hosts"]) == ("warning", ["10.0.0.21"])
    assert "client-21 (10.0.0.21) fetched late" in first["sentence"]
    assert "what the application does with each batch" in advised(first)


@pytest.mark.parametrize("ends", [(21.7, None), (None, 25.0), (None, None)])
def test_a_consumer_that_never_asked_again_is_late_to_the_end(
    stall: MakeStall, ends: tuple[float | None, float | None]
) -> None:
    late = [
        stall("consume", 21, 1, at, end, unasked_ms=3_000, **GROUP) for at, end in zip((18.2, 20), ends, strict=True)
    ]
    (incident,), _ = tell([], late)
    assert (incident["kind"], incident["n_stalls"], incident["end_ns"]) == ("slow_consumer", 2, None)
    assert "to the end of the capture" in incident["sentence"]


def test_records_that_were_asked_for_are_not_late_for_their_consumer(stall: MakeStall) -> None:
    _, kinds = tell([], [stall("consume", 21, 1, 18.2, 21.7, **GROUP)])
    assert set(kinds.values()) == {"unexplained"}


def test_a_consumer_that_waits_for_its_commit_is_not_late(stall: MakeStall) -> None:
    late = stall("consume", 21, 1, 18.2, 21.7, unasked_ms=3_000, **GROUP)
    for host, kind in ((21, "unexplained"), (22, "slow_consumer")):
        _, kinds = tell([], [late, stall("commit", host, 2, 18.3, 21, **GROUP)])
        assert kinds[late.stall_id] == kind


def test_what_explains_more_comes_first(stall: MakeStall, rebalance: MakeRow) -> None:
    late = stall("consume", 21, 2, 10, 17, unasked_ms=3_000, **GROUP)
    assert set(tell([], [late], [], [rebalance(9, 16)])[1].values()) == {"member"}


def test_a_rebalance_without_an_end_is_over_when_the_next_one_begins(stall: MakeStall, rebalance: MakeRow) -> None:
    """Recorded when a group forms: two more members join before the first generation is complete."""
    late = stall("consume", 21, 1, 18, 21, unasked_ms=3_000, **GROUP)
    assert set(tell([], [late], [], [rebalance(5.6, None), rebalance(6, 6.1)])[1].values()) == {"slow_consumer"}
    assert set(tell([], [late], [], [rebalance(5.6, 5.9), rebalance(6, None)])[1].values()) == {"member"}


def test_what_the_consumer_read_late_at_about_that_time_belongs_to_it(stall: MakeStall) -> None:
    """Recorded of sarama, whose Fetch requests leave out topic-partitions with which its application is behind."""
    late = stall("consume", 21, 1, 32, 38, unasked_ms=3_000, **GROUP)
    others = [stall("consume", 21, 1, at, end, **GROUP) for at, end in ((29, 30.5), (35, None))]
    other, unrelated = stall("consume", 22, 1, 33, 36, **GROUP), stall("consume", 21, 1, 200, 203, **GROUP)
    _, kinds = tell([], [late, *others[:1], other, unrelated])
    assert [kinds[s.stall_id] for s in (late, others[0], other, unrelated)] == ["slow_consumer"] * 2 + [
        "unexplained"
    ] * 2
    (incident,), _ = tell([], [late, *others])
    assert (incident["n_stalls"], incident["start_ns"], incident["end_ns"]) == (3, 29 * NS, None)


@pytest.mark.parametrize(("n", "kind"), [(5, "slow_consumer"), (4, "unexplained")])
def test_a_consumer_that_is_late_for_a_second_each_time_is_late_if_that_is_often(
    stall: MakeStall, n: int, kind: str
) -> None:
    """Recorded of a consumer whose host ran it for a tenth of a second in every two."""
    late = [stall("consume", 21, 1, 10 + 2 * i, 11.8 + 2 * i, unasked_ms=1_700, **GROUP) for i in range(n)]
    assert set(tell([], late)[1].values()) == {kind}
