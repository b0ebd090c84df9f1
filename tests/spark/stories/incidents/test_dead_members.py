"""Groups that waited for members whose processes had ended, from rows by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafkascope_spark.stories.groups.table import GroupMember, RebalanceRow
from kafkascope_spark.stories.incidents.clients.died_clients import died_clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.groups.dead_members import give_dead
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.rows.incident_rows import actions_of
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient

from .conftest import NS, MakeStall, row_of

MakeClient = Callable[..., AffectedClient]
MakeRebalance = Callable[..., RebalanceRow]


@pytest.fixture
def waiting(rebalance: MakeRebalance, stall: MakeStall) -> tuple[Failure, list[RebalanceRow]]:
    """A group of one member, which joined at 5 s; its next rebalance begins at 18 s and does not end."""
    member = row_of(GroupMember, client_instance_id="ci-21", client_id="client-21", session_timeout_ms=45_000)
    first = replace(rebalance(5, 6), members=(member,))
    failure = Failure(MEMBER, "group orders-app", 13 * NS, None)
    failure.stalls.append(stall("consume", 21, 1, 13, None, group_id="orders-app"))
    failure.rebalances.append(rebalance(18, None))
    return failure, [first, *failure.rebalances]


def test_a_group_waits_for_the_session_of_a_process_that_was_killed(
    waiting: tuple[Failure, list[RebalanceRow]], client: MakeClient
) -> None:
    """As in a recording: the consumer was killed and started again at once, and read nothing for 26 s."""
    failure, rebalances = waiting
    dead = client(21, end_state="died", died_ns=13 * NS, session_timeout_ms=45_000)
    clients = {dead.client_instance_id: dead}
    give_dead([failure], rebalances, clients)
    said = sentence_of(failure, None, 0)
    assert "the process of client-21 (10.0.0.21) ended at 00:13.000" in said
    assert "until the session timeout (45000 ms) is over, so that the restarted process" in said
    advice = " ".join(action.text for action in actions_of(failure, Observed(failure, clients, {})))
    assert "session.timeout.ms" in advice
    assert "No member went away" not in advice
    assert list(died_clients([dead], [failure])) == []


@pytest.mark.parametrize("died_at", [4.0, 18.5, None], ids=["before it joined", "later", "not at all"])
def test_who_did_not_die_in_between_is_not_waited_for(
    waiting: tuple[Failure, list[RebalanceRow]], client: MakeClient, died_at: float | None
) -> None:
    failure, rebalances = waiting
    died_ns = None if died_at is None else int(died_at * NS)
    give_dead([failure], rebalances, {"ci-21": client(21, died_ns=died_ns, session_timeout_ms=45_000)})
    assert failure.members.dead == []


@pytest.mark.parametrize(
    ("died_at", "is_dead"), [(17.0, True), (25.0, False), (None, False)], ids=["before", "after", "not at all"]
)
def test_a_removed_member_whose_process_had_ended_is_no_late_joiner(
    rebalance: MakeRebalance, client: MakeClient, died_at: float | None, is_dead: bool
) -> None:
    """As in a recording: a consumer exited at a record that it could not process and was started again at once. It
    joined as a new member, and the group waited for the old one, whose session was not over yet."""
    removing = rebalance(19, 23, {"client-21": 17})
    lost = [replace(member, silent_ms=2_900, session_timeout_ms=6_000) for member in removing.departed]
    failure = Failure(MEMBER, "group orders-app", 17 * NS, 23 * NS)
    failure.rebalances.append(replace(removing, departed=tuple(lost)))
    died_ns = None if died_at is None else int(died_at * NS)
    dead = client(21, end_state="died", died_ns=died_ns, session_timeout_ms=6_000)
    give_dead([failure], failure.rebalances, {dead.client_instance_id: dead})
    said = sentence_of(failure, 23 * NS, 0)
    assert ("the process of client-21 (10.0.0.21) ended at 00:17.000 without leaving" in said) is is_dead
    assert ("its application did not poll" in said) is not is_dead
