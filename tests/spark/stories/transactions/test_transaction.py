"""One transaction and its row."""

from typing import Any

import pytest

from kafkascope_spark.stories.transactions.event import EventKind, TransactionEvent
from kafkascope_spark.stories.transactions.states import State, Trigger
from kafkascope_spark.stories.transactions.transaction import (
    DEFAULT_LONGEST_MS,
    MOST_EVIDENCE,
    ROUTINE_EVIDENCE,
    Transaction,
)

S = 1_000_000_000


def transaction(**more: Any) -> Transaction:
    """Producer id 7, epoch 3, begun at 10 s with a timeout of 60 s."""
    facts: dict[str, Any] = {"client": "ci-1", "left_ns": None, "begin_ns": 10 * S, "seen_begin": True}
    return Transaction(4, 7, 3, **facts | {"timeout_ms": 60_000} | more)


@pytest.mark.parametrize(
    ("facts", "end_s", "outcome", "left_s"),
    [
        ({}, 20, "open", None),
        ({}, 71, "hanging", None),  # open for longer than its timeout
        ({}, 70, "open", None),
        ({"timeout_ms": None}, 71, "open", None),
        ({"timeout_ms": None}, 11 + DEFAULT_LONGEST_MS // 1000, "hanging", None),
        ({"left_ns": 15 * S}, 20, "hanging", 15),  # its client ended and left it open
        ({"left_ns": 20 * S}, 20, "open", None),
        ({"state": State.TIMED_OUT, "end_ns": 70 * S, "left_ns": 15 * S}, 99, "hanging", 15),
        ({"state": State.TIMED_OUT, "end_ns": 70 * S, "left_ns": 80 * S}, 99, "aborted", None),
        ({"state": State.COMMITTED, "end_ns": 12 * S, "left_ns": 11 * S}, 99, "committed", None),
        ({"state": State.COMMITTED, "end_ns": 12 * S, "seen_begin": False}, 99, "cut", None),
        ({"state": State.FENCED, "end_ns": 12 * S, "seen_begin": False}, 99, "fenced", None),
        ({"state": State.LOST}, 99, "cut", None),
    ],
)
def test_outcome_and_when_its_client_left_it_open(
    facts: dict[str, Any], end_s: int, outcome: str, left_s: int | None
) -> None:
    made = transaction(**facts).row("orders-tx", end_s * S)
    assert (made.outcome, made.left_ns) == (outcome, None if left_s is None else left_s * S)


def test_the_end_is_that_of_the_event_that_ends_it() -> None:
    one = transaction()
    assert one.apply(Trigger.COMMIT_REQUESTED, 11 * S)
    assert (one.is_over, one.end_ns) == (False, None)
    assert one.apply(Trigger.COMMIT_CONFIRMED, 12 * S)
    assert (one.is_over, one.end_ns) == (True, 12 * S)
    assert not one.apply(Trigger.ABORT_MARKED, 13 * S)
    assert (one.state, one.end_ns) == (State.COMMITTED, 12 * S)


def test_one_that_was_lost_has_no_end() -> None:
    one = transaction()
    one.apply(Trigger.SUPERSEDED, 20 * S)
    made = one.row("orders-tx", 99 * S)
    assert (made.end_ns, made.duration_ms, made.end_kind) == (None, None, None)


def test_the_duration_of_an_open_one_is_that_until_the_capture_ends() -> None:
    assert transaction().row("orders-tx", 15 * S).duration_ms == 5_000
    assert transaction(seen_begin=False).row("orders-tx", 15 * S).duration_ms is None


def test_one_that_only_blocked_readers_show_has_no_number() -> None:
    made = transaction().row(None, 15 * S)
    assert (made.transactional_id, made.transaction_no) == (None, None)
    assert transaction().row("orders-tx", 15 * S).transaction_no == 4


@pytest.mark.parametrize(
    ("producer", "expected"), [((7, 3), True), ((7, 4), False), ((8, 3), False), ((None, None), True)]
)
def test_of_which_epoch_it_is(producer: tuple[int | None, int | None], expected: bool) -> None:
    assert transaction().is_of(*producer) is expected
    assert Transaction(1, None, None, None, None, 0, True, None).is_of(*producer)


def test_evidence_keeps_room_for_what_ends_it() -> None:
    one = transaction()
    for number in range(100):
        one.add_evidence(number, f"r-{number:02}", None)
    one.add_evidence(200, "r-end", decides=True)
    kept = one.row("orders-tx", 15 * S).evidence
    assert kept == (*(f"r-{number:02}" for number in range(ROUTINE_EVIDENCE)), "r-end")
    for number in range(300, 400):
        one.add_evidence(number, f"r-{number}", decides=True)
    assert len(one.row("orders-tx", 15 * S).evidence) == MOST_EVIDENCE


def test_errors_about_the_epoch_are_remembered() -> None:
    one = transaction()
    for errors, expected in ((("CONCURRENT_TRANSACTIONS",), False), (("PRODUCER_FENCED",), True), ((), True)):
        one.add_errors(TransactionEvent(EventKind.REQUEST, 0, "r", errors=errors))
        assert one.has_epoch_error is expected
    assert one.row("orders-tx", 15 * S).error_names == ("CONCURRENT_TRANSACTIONS", "PRODUCER_FENCED")
