"""What members read that the capture does not show, by rebalances made by hand."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafkascope_spark.stories.groups.hidden_owners import HiddenOwners
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.stalls.stall import Wait

PLACE = ("orders", 1)


def rebalance(
    owner: str | None, *, end_ns: int = 20, complete: bool = True, outcome: str = "stable", protocol: str = "classic"
) -> RebalanceRow:
    """orders-0 is given to a member that the capture shows, orders-1 to the owner: that one (seen), another (hidden),
    one whose assignment is not known (unknown), or nobody."""
    members = [SimpleNamespace(client_instance_id="ci-1", assigned=("orders-0",))]
    if owner == "seen":
        members[0].assigned = ("orders-0", "orders-1")
    elif owner == "hidden":
        members.append(SimpleNamespace(client_instance_id=None, assigned=("orders-1",)))
    elif owner == "unknown":
        members.append(SimpleNamespace(client_instance_id="ci-2", assigned=None))
    row = SimpleNamespace(outcome=outcome, end_ns=end_ns, members=members, members_complete=complete)
    row.group_protocol = protocol
    return cast("RebalanceRow", cast("Any", row))


def left(hidden: HiddenOwners, from_ns: int, to_ns: int | None) -> list[tuple[int, int | None, bool | None]]:
    return [(w.from_ns, w.to_ns, w.served) for w in hidden.without(PLACE, Wait(from_ns, to_ns))]


@pytest.mark.parametrize(
    ("row", "is_hidden"),
    [
        (rebalance("hidden"), True),
        (rebalance("hidden", complete=False), True),
        (rebalance("seen"), False),
        (rebalance(None), False),
        (rebalance(None, complete=False), True),
        (rebalance("unknown", complete=False), False),
        (rebalance("hidden", outcome="superseded"), False),
        (rebalance("hidden", protocol="consumer"), True),
        (rebalance("hidden", protocol="share"), False),
        (rebalance(None, complete=False, protocol="streams"), False),
    ],
)
def test_a_wait_ends_where_a_member_that_is_not_captured_got_the_partition(row: RebalanceRow, is_hidden: bool) -> None:
    """All members are known, and nobody has it: then nobody reads it. Members of a share group have it together, and
    those of a streams group have tasks."""
    hidden = HiddenOwners()
    hidden.take(row, None, {PLACE})
    assert left(hidden, 10, None) == ([(10, 20, None)] if is_hidden else [(10, None, True)])
    assert left(hidden, 25, None) == ([] if is_hidden else [(25, None, True)])
    assert left(hidden, 5, 15) == [(5, 15, True)]


def test_it_goes_on_when_a_member_that_is_captured_got_it_back() -> None:
    hidden = HiddenOwners()
    hidden.take(rebalance("hidden"), 40, {PLACE})
    hidden.take(rebalance("seen", end_ns=45), None, {PLACE})
    assert left(hidden, 25, 50) == [(40, 50, True)]
    assert left(hidden, 25, 38) == []
    assert left(hidden, 10, 50) == [(10, 20, None)]
    assert left(hidden, 41, 50) == [(41, 50, True)]


def test_only_what_was_unread_is_kept() -> None:
    hidden = HiddenOwners()
    hidden.take(rebalance("hidden"), None, ())
    assert left(hidden, 10, None) == [(10, None, True)]
