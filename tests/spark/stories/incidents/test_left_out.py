"""Consumers whose leader moved, and that never fetched the topic-partition again, and members that ask a former
coordinator again and again."""

from collections.abc import Callable, Sequence

import pytest

from kafkascope_spark.stories.incidents.clients.left_out import LEFT_OUT_MS, left_after_moves, mark_left_out
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.not_fetched import NOT_FETCHED
from kafkascope_spark.stories.incidents.kinds.slow_consumer import SLOW_CONSUMER
from kafkascope_spark.stories.incidents.packets.fetch_counts import FetchedBy
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient

from .advised import advised
from .conftest import NS, MakeRow, MakeStall
from .test_machine import tell

MOVED = "NOT_LEADER_OR_FOLLOWER"


@pytest.mark.parametrize(
    ("refreshed_s", "retried_s", "end_s", "kind"),
    [
        (10.3, None, None, "not_fetched"),
        (10.3, 11, None, "leader_move"),
        (None, None, None, "leader_move"),
        (10.3, None, 40, "leader_move"),
    ],
    ids=["knows the leader", "fetches from it", "knows no leader", "is served later"],
)
def test_a_consumer_that_knows_the_new_leader_and_does_not_fetch(
    refreshed_s: float | None,
    retried_s: float | None,
    end_s: float | None,
    kind: str,
    stall: MakeStall,
    recovery: MakeRow,
    client: Callable[..., AffectedClient],
) -> None:
    """https://github.com/confluentinc/librdkafka/issues/4492: the partition stays in validate-epoch-wait."""
    waited = stall("consume", 21, 1, 10.2, end_s, group_id="billing")
    seen = {
        "refreshed_ns": None if refreshed_s is None else int(refreshed_s * NS),
        "retried_ns": None if retried_s is None else int(retried_s * NS),
        "n_errors": 1,
    }
    moved = recovery(MOVED, 21, 1, 10, end_s, outcome="still_open" if end_s is None else "recovered", **seen)
    incidents, kinds = tell([], [waited], [moved], clients=[client(21, "librdkafka")])
    assert kinds == {waited.stall_id: kind}
    if kind == "not_fetched":
        (incident,) = (each for each in incidents if each["kind"] == kind)
        assert "it knew the new leader" in incident["sentence"]
        assert "Restart client-21 (10.0.0.21), and update its library" in advised(incident)


@pytest.mark.parametrize("asks", [False, True])
def test_a_member_that_does_not_look_for_its_coordinator(
    asks: bool, stall: MakeStall, recovery: MakeRow, client: Callable[..., AffectedClient]
) -> None:
    """https://github.com/confluentinc/librdkafka/issues/2944. asks: whether it sent FindCoordinator."""
    waited = stall("membership", 21, 1, 10, None, group_id="billing", topic=None, partition=None)
    own = {"resource_kind": "coordinator", "resource": "billing", "first_api_key": 12}
    stays = recovery("NOT_COORDINATOR", 21, 1, 10, None, **own, outcome="wrong_reaction", n_errors=52)
    stays.rediscovered_ns = 11 * NS if asks else None
    finds = recovery("NOT_COORDINATOR", 22, 1, 10, 12, **own, n_errors=1, new_node_id=2, rediscovered_ns=11 * NS)
    (incident,), _ = tell([], [waited], [stays, finds], clients=[client(21), client(22)])
    went_on = "went on asking node 1, which answered NOT_COORDINATOR 52 times, and never sent FindCoordinator; for"
    assert (went_on in incident["sentence"]) == (not asks)
    assert ("Nothing has to be done" in advised(incident)) == asks


@pytest.mark.parametrize(("n", "kind"), [(30, NOT_FETCHED), (29, SLOW_CONSUMER)])
def test_a_consumer_that_fetched_each_second_meanwhile_was_not_slow(n: int, kind: object, stall: MakeStall) -> None:
    """Its records waited for 30 s; the Fetch that ended the wait does not count."""
    failure = Failure(SLOW_CONSUMER, "client-21", 10 * NS, 40 * NS)
    failure.stalls = [stall("consume", 21, 1, 38, 40), stall("consume", 21, 1, 10, 40)]

    def count(questions: Sequence[FetchedBy]) -> list[int]:
        assert [*questions] == [FetchedBy("10.0.0.21", "client-21", 10 * NS, 40 * NS - 1)]
        return [n]

    mark_left_out([failure], count)
    assert (failure.kind, failure.n_other_fetches) == (kind, n)


def test_each_consumer_that_left_partitions_out_is_one_failure(stall: MakeStall, recovery: MakeRow) -> None:
    """Host 21 left two topic-partitions out; host 22 waited for less than a consumer needs to find a leader."""
    waits = [stall("consume", 21, 1, at, None, partition=partition) for at, partition in ((12, 1), (10, 0))]
    short = stall("consume", 22, 1, 10, None, waited_ms=LEFT_OUT_MS - 1)
    moved = [
        recovery(MOVED, host, 1, 10, None, resource=f"orders-{partition}", refreshed_ns=11 * NS)
        for host, partition in ((21, 0), (21, 1), (22, 0))
    ]
    (failure,) = left_after_moves([*waits, short], moved)
    assert (failure.kind, failure.start_ns, failure.hosts) == (NOT_FETCHED, 10 * NS, {"10.0.0.21"})
    assert failure.stalls == waits
    assert list(left_after_moves(waits, moved[2:])) == []
