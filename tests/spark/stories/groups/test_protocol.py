"""What the machines of all group protocols have in common."""

from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest
from kafkascope_parsers import api_keys
from kafkascope_parsers.group_protocols.classic import CLASSIC
from kafkascope_spark.stories.groups.classic_states import CLASSIC_TRANSITIONS, ClassicEvent, ClassicState
from kafkascope_spark.stories.groups.event_order import Event, Phase
from kafkascope_spark.stories.groups.generation import Generation
from kafkascope_spark.stories.groups.protocol import GroupMachine


class Machine(GroupMachine[ClassicState, ClassicEvent]):
    """A machine that follows commits alone."""

    def __init__(self) -> None:
        super().__init__("g", CLASSIC, 9, CLASSIC_TRANSITIONS)
        self._handlers = {(Phase.RESPONSE, api_keys.OFFSET_COMMIT): self._commit_refused}

    def begin(self) -> Generation:
        self._now = Generation("g", CLASSIC, 0)
        self._on(ClassicEvent.JOIN)
        return self._now


def commit(error: str | None, api_key: int = api_keys.OFFSET_COMMIT, **more: Any) -> GroupRequest:
    body = {"request_id": "r-1", "api_key": api_key, "status": "ok", "error_name": error}
    return GroupRequest.of(body | more)


@pytest.mark.parametrize(
    ("request_", "phase", "n_refused"),
    [
        (commit("ILLEGAL_GENERATION"), Phase.RESPONSE, 1),
        (commit("REBALANCE_IN_PROGRESS"), Phase.RESPONSE, 1),
        (commit(None), Phase.RESPONSE, 0),
        (commit("NOT_COORDINATOR"), Phase.RESPONSE, 0),
        (commit("ILLEGAL_GENERATION"), Phase.REQUEST, 0),
        (commit("ILLEGAL_GENERATION", api_keys.HEARTBEAT), Phase.RESPONSE, 0),
    ],
)
def test_a_commit_that_the_group_refused_counts_for_its_round(
    request_: GroupRequest, phase: Phase, n_refused: int
) -> None:
    """A coordinator that moved refuses commits too: the group has not gone on then. Requests of APIs without a handler
    are left alone."""
    machine = Machine()
    now = machine.begin()
    assert [*machine.take(Event(1, phase, 0, request_))] == []
    assert now.n_refused == n_refused


def test_a_commit_before_any_round_counts_for_none() -> None:
    machine = Machine()
    assert [*machine.take(Event(1, Phase.RESPONSE, 0, commit("ILLEGAL_GENERATION")))] == []


def test_the_state_follows_the_table() -> None:
    machine = Machine()
    assert machine.state is ClassicState.UNSEEN
    machine.begin()
    assert machine.state is ClassicState.PREPARING
