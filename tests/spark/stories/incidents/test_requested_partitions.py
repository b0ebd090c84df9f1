"""Errors about topic-partitions for which the client had not asked, from what its requests named."""

from collections.abc import Collection

import pytest

from kafkascope_spark.stories.incidents.errors.other_partitions import mark_other_partitions
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.kinds.other_partition import OTHER_PARTITION
from kafkascope_spark.stories.incidents.kinds.stale_client import STALE_CLIENT
from kafkascope_spark.stories.incidents.packets.requested_partitions import Named, named_partitions

from .conftest import NS, MakeRow


@pytest.mark.parametrize(
    ("named", "is_other"),
    [
        ({"r-1": {"orders-2"}}, True),
        ({"r-1": {"orders-2", "orders-0"}}, False),
        ({"r-1": {"orders-2"}, "r-2": {"orders-0"}}, False),
        ({}, False),  # the capture does not show what they named
        ({"another": {"orders-2"}}, False),
    ],
)
def test_the_broker_is_at_fault_if_no_request_named_the_partition(
    recovery: MakeRow, named: Named, is_other: bool
) -> None:
    failure = Failure(STALE_CLIENT, "client-21", 5 * NS, None)
    row = recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, 5, None, evidence=("r-1", "r-2"))
    row.last_error_ns = 15 * NS
    failure.take_error(row)

    def ask(request_ids: Collection[str], from_ns: int, to_ns: int) -> Named:
        assert (set(request_ids), from_ns, to_ns) == ({"r-1", "r-2"}, 5 * NS, 15 * NS)
        return named

    mark_other_partitions([failure], ask)
    assert failure.kind is (OTHER_PARTITION if is_other else STALE_CLIENT)
    assert failure.topic.named == ({"orders-2"} if is_other else frozenset())
    assert failure.node_id == (1 if is_other else None)


def test_only_stale_clients_are_asked_about() -> None:
    def ask(request_ids: Collection[str], from_ns: int, to_ns: int) -> Named:
        raise AssertionError(request_ids)

    mark_other_partitions([Failure(LEADER_MOVE, "orders-0", 0, 1)], ask)


def test_without_a_dataset_nothing_is_known() -> None:
    assert named_partitions(None, ["r-1"], 0, 1) == {}
