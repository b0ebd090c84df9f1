"""Every state knows every trigger: it changes, or ignores it by declaration."""

import itertools

import pytest

from kafkascope_spark.stories.transactions.states import (
    END_KINDS,
    ENDED,
    IGNORED,
    OUTCOMES,
    TRANSITIONS,
    State,
    Trigger,
    next_state,
)


def test_each_pair_is_in_exactly_one_table() -> None:
    every = set(itertools.product(State, Trigger))
    assert set(TRANSITIONS) | IGNORED == every
    assert not set(TRANSITIONS) & IGNORED


def test_a_pair_in_neither_table_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TRANSITIONS, (State.OPEN, Trigger.TAKEN_OVER))
    with pytest.raises(ValueError, match="does not know TAKEN_OVER"):
        next_state(State.OPEN, Trigger.TAKEN_OVER)


def test_only_a_fenced_transaction_changes_after_its_end() -> None:
    """KIP-890: the abort that the take-over has brought is answered without an error."""
    changes = {pair for pair in TRANSITIONS if pair[0] in ENDED}
    assert changes == {(State.FENCED, Trigger.ABORT_CONFIRMED)}


def test_each_end_has_an_outcome_and_only_a_lost_one_has_no_end_kind() -> None:
    assert set(OUTCOMES) == ENDED
    assert ENDED - set(END_KINDS) == {State.LOST}
