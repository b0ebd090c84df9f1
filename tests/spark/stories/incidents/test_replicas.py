"""Which replicas were in sync, from changes written by hand. Times are seconds."""

import pytest

from kafkascope_spark.stories.incidents.packets.replicas import IsrChange, Replicas


def change(at: int, *isr: int, name: str = "orders-0") -> IsrChange:
    return IsrChange(at, name, frozenset(isr), f"alter-{at}")


@pytest.mark.parametrize(
    ("changes", "dropped"),
    [
        ([change(5, 1, 3), change(9, 1, 2, 3)], [5]),
        ([change(1, 1, 2, 3), change(5, 1, 3)], [5]),
        ([change(5, 1, 3)], []),
        ([change(1, 1, 3), change(9, 1, 2, 3)], []),
    ],
    ids=["that comes back", "that was there", "that nobody knows", "that was gone before"],
)
def test_a_node_is_dropped_where_another_change_has_it(changes: list[IsrChange], dropped: list[int]) -> None:
    assert [each.ts_ns for each, node_id in Replicas(changes).without({2}, 4, 8) if node_id == 2] == dropped


def test_a_node_is_back_at_the_first_change_with_it_of_each_topic_partition() -> None:
    replicas = Replicas([change(9, 1, 2), change(7, 1, 2), change(8, 1, 2, name="orders-1"), change(3, 1, 2)])
    assert [(each.ts_ns, each.name) for each in replicas.back(2, 4, 20)] == [(7, "orders-0"), (8, "orders-1")]
    assert replicas.back_in("orders-1", 3, 4, 20) is None
