"""Consumers that leave their group because nobody polls them, from rebalances made by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.spark.stories.incidents.conftest import NS, MakeRow, MakeStall, row_of

from kafkascope_spark.stories.groups.table import DepartedMember, GroupMember, RebalanceRow
from kafkascope_spark.stories.incidents.clients.late_polls import late_polls
from kafkascope_spark.stories.incidents.clients.slow_consumers import slow_consumers
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.groups.slow_groups import join_slow_members
from kafkascope_spark.stories.incidents.kinds.not_fetched import NOT_FETCHED
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient

MakeRebalance = Callable[..., RebalanceRow]
TIMEOUT = "consumer poll timeout has expired."


@pytest.fixture
def turns(rebalance: MakeRebalance) -> Callable[..., list[RebalanceRow]]:
    """Rebalances in which the client at host 21 leaves, and joins again a second later."""

    def make(*leaves: float, why: str | None = None, again: bool = True) -> list[RebalanceRow]:
        gone = row_of(DepartedMember, client_id="client-21", client_instance_id="ci-21", how="left", why=why)
        rows = []
        for at in leaves:
            rows.append(replace(rebalance(at, at + 1), departed=(gone,)))
            if again:
                joined = row_of(GroupMember, client_instance_id="ci-21", is_new=True, joined_ns=int((at + 1) * NS))
                rows.append(replace(rebalance(at + 1, at + 2), members=(joined,)))
        return rows

    return make


@pytest.fixture
def known(client: MakeRow) -> dict[str, AffectedClient]:
    return {"ci-21": client(21, rebalance_timeout_ms=6_000)}


def test_a_client_that_says_so_was_slow_since_its_last_poll(
    turns: Callable[..., list[RebalanceRow]], known: dict[str, AffectedClient]
) -> None:
    (failure,) = slow_consumers(turns(20, 32, 44, why=TIMEOUT), known)
    assert (failure.subject, failure.client_instance_ids) == ("client-21 (10.0.0.21)", {"ci-21"})
    assert (failure.start_ns, failure.end_ns, len(failure.rebalances)) == (14 * NS, 45 * NS, 3)


def test_one_that_leaves_and_joins_again_several_times_does_the_same(
    turns: Callable[..., list[RebalanceRow]], known: dict[str, AffectedClient]
) -> None:
    assert len(list(slow_consumers(turns(20, 32), known))) == 1
    assert not list(slow_consumers(turns(20), known))
    assert not list(slow_consumers(turns(20, 32, again=False), known))


def test_one_that_leaves_for_another_reason_is_none(
    turns: Callable[..., list[RebalanceRow]], known: dict[str, AffectedClient]
) -> None:
    assert not list(slow_consumers(turns(20, 32, 44, why="the consumer is being closed"), known))


@pytest.mark.parametrize(
    ("library", "joined_s", "again_s", "n"),
    [("librdkafka", 13, 25, 1), ("librdkafka", 15, 25, 0), ("librdkafka", 13, 20.5, 0), ("sarama", 13, 25, 0)],
    ids=["as long as it may take", "a member for less", "back at once", "a library without such a limit"],
)
def test_one_that_leaves_once_was_slow_if_it_may_have_been(
    rebalance: MakeRebalance, client: MakeRow, library: str, joined_s: float, again_s: float, n: int
) -> None:
    def member(at: float) -> GroupMember:
        return row_of(GroupMember, client_instance_id="ci-21", is_new=True, joined_ns=int(at * NS))

    gone = row_of(DepartedMember, client_id="client-21", client_instance_id="ci-21", how="left")
    rows = [
        replace(rebalance(joined_s, joined_s + 1), members=(member(joined_s),)),
        replace(rebalance(20, 21), departed=(gone,)),
        replace(rebalance(again_s, again_s + 1), members=(member(again_s),)),
    ]
    found = list(slow_consumers(rows, {"ci-21": client(21, library=library, rebalance_timeout_ms=6_000)}))
    assert [(each.start_ns, each.end_ns) for each in found] == [(14 * NS, again_s * NS)] * n


def test_another_member_that_fetches_late_meanwhile_belongs_to_the_same_failure(
    turns: Callable[..., list[RebalanceRow]], known: dict[str, AffectedClient], stall: MakeStall
) -> None:
    """Recorded: two members whose application takes 0.35 s for a record; only one of them was too slow to stay."""
    (slow,) = slow_consumers(turns(20, 32, 44, why=TIMEOUT), known)
    (group_id,) = {row.group_id for row in slow.rebalances}
    meanwhile = list(late_polls([stall("consume", 22, 1, 15, 22, unasked_ms=6_000, group_id=group_id)]))
    before = list(late_polls([stall("consume", 21, 1, 9, 13, unasked_ms=3_000, group_id=group_id)]))
    assert not join_slow_members([slow], [*meanwhile, *before])
    assert (slow.late_members, slow.client_instance_ids) == (["client-22 (10.0.0.22)"], {"ci-21", "ci-22"})
    assert len(slow.stalls) == 2
    assert "; client-22 (10.0.0.22) of that group fetched late, too" in slow.kind.sentence(slow, Times(0))


def test_what_is_late_elsewhere_or_long_before_has_a_failure_of_its_own(
    turns: Callable[..., list[RebalanceRow]], known: dict[str, AffectedClient], stall: MakeStall
) -> None:
    (slow,) = slow_consumers(turns(20, 32, 44, why=TIMEOUT), known)
    (group_id,) = {row.group_id for row in slow.rebalances}
    elsewhere = list(late_polls([stall("consume", 22, 1, 15, 22, unasked_ms=6_000, group_id="another")]))
    before = list(late_polls([stall("consume", 22, 1, 2, 7, unasked_ms=4_000, group_id=group_id)]))
    assert set(join_slow_members([slow], [*elsewhere, *before])) == {*elsewhere, *before}
    assert not slow.late_members
    assert not slow.stalls


def test_members_of_a_group_that_fetch_late_together_are_one_failure(stall: MakeStall) -> None:
    """Recorded: two librdkafka consumers whose application takes 0.35 s for a record; neither left the group."""
    both = [stall("consume", host, 1, 10 + host % 2, 30, unasked_ms=9_000, group_id="app") for host in (21, 22)]
    both.append(stall("consume", 23, 1, 12, 30, unasked_ms=9_000, group_id="another"))
    (app, another) = join_slow_members([], late_polls(both))
    assert (app.subject, app.late_members) == ("client-22 (10.0.0.22)", ["client-21 (10.0.0.21)"])
    assert app.hosts == {"10.0.0.21", "10.0.0.22"}
    assert "; client-21 (10.0.0.21) of that group fetched late, too" in app.kind.sentence(app, Times(0))
    assert not another.late_members


def test_members_that_only_left_partitions_out_do_not_make_another_one_slow(stall: MakeStall) -> None:
    left_out = list(late_polls([stall("consume", 21, 1, 10, 30, unasked_ms=9_000, group_id="app")]))
    left_out[0].kind = NOT_FETCHED
    others = list(late_polls([stall("consume", 22, 1, 40, 50, unasked_ms=9_000, group_id="app")]))
    assert len(join_slow_members([], [*left_out, *others])) == 2
