"""Consumers whose leader moved, and that never fetched the topic-partition again, and members that ask a former
coordinator again and again."""

from collections.abc import Callable

import pytest

from kafkascope_spark.stories.incidents.affected_client import AffectedClient

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
