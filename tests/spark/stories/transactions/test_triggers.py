"""What an event means for a transaction: EndTxn and markers (KIP-98, KIP-890), and which transaction a late one is
of."""

from typing import Any

import pytest

from kafkascope_spark.stories.transactions.event import EventKind, TransactionEvent
from kafkascope_spark.stories.transactions.states import State, Trigger
from kafkascope_spark.stories.transactions.transaction import Transaction
from kafkascope_spark.stories.transactions.triggers import (
    LATE_MARKERS_NS,
    TRY_AGAIN,
    accepted_ns,
    are_markers_of,
    fill_in,
    is_late_for,
    learn_protocol,
    trigger_of_end,
    trigger_of_markers,
)

S = 1_000_000_000
TIMEOUT_MS = 60_000


def transaction(**more: Any) -> Transaction:
    """Producer id 7, epoch 3, begun at 10 s and accepted at once."""
    facts: dict[str, Any] = {"client": "ci-1", "left_ns": None, "begin_ns": 10 * S, "seen_begin": True}
    facts |= {"timeout_ms": TIMEOUT_MS, "accepted_ns": 10 * S, "protocol": "v1"}
    return Transaction(1, 7, 3, **facts | more)


def event(kind: EventKind = EventKind.MARKERS, at_s: float = 20, **more: Any) -> TransactionEvent:
    facts: dict[str, Any] = {"producer_id": 7, "producer_epoch": 3, "committed": False}
    return TransactionEvent(kind, int(at_s * S), "r-1", **facts | more)


@pytest.mark.parametrize(
    ("committed", "errors", "answered", "expected"),
    [
        (True, set(), True, Trigger.COMMIT_CONFIRMED),
        (False, set(), True, Trigger.ABORT_CONFIRMED),
        (True, set(), False, Trigger.COMMIT_REQUESTED),
        (False, set(), False, Trigger.ABORT_REQUESTED),
        (True, {TRY_AGAIN}, True, Trigger.COMMIT_REQUESTED),
        (True, {"INVALID_TXN_STATE"}, True, Trigger.END_REFUSED),
        (True, {"PRODUCER_FENCED"}, True, Trigger.EPOCH_BUMPED),
        (False, {"INVALID_PRODUCER_EPOCH"}, True, Trigger.EPOCH_BUMPED),
    ],
)
def test_end_txn(committed: bool, errors: set[str], answered: bool, expected: Trigger) -> None:
    ends = event(EventKind.END, committed=committed, answered_ns=21 * S if answered else None)
    assert trigger_of_end(ends, transaction(), errors, 20 * S) is expected


def test_an_old_epoch_after_the_timeout_is_the_coordinators_abort() -> None:
    """The coordinator aborts a transaction after transaction.timeout.ms and raises the epoch."""
    ends = event(EventKind.END, at_s=71, committed=True, answered_ns=71 * S)
    errors = {"INVALID_PRODUCER_EPOCH"}
    assert trigger_of_end(ends, transaction(), errors, 70 * S) is Trigger.EPOCH_BUMPED
    assert trigger_of_end(ends, transaction(), errors, 71 * S) is Trigger.COORDINATOR_ABORTED


def test_the_abort_of_a_producer_with_an_old_epoch_is_answered_without_an_error() -> None:
    fenced = transaction(has_epoch_error=True)
    aborts, commits = (event(EventKind.END, committed=c, answered_ns=20 * S) for c in (False, True))
    assert trigger_of_end(aborts, fenced, set(), 20 * S) is Trigger.EPOCH_BUMPED
    assert trigger_of_end(commits, fenced, set(), 20 * S) is Trigger.COMMIT_CONFIRMED


def test_markers_of_a_commit() -> None:
    assert trigger_of_markers(event(committed=True), transaction(), 20 * S) is Trigger.COMMIT_MARKED


@pytest.mark.parametrize(
    ("facts", "epoch", "at_s", "expected"),
    [
        ({}, 3, 20, Trigger.ABORT_MARKED),  # its EndTxn is not in the capture
        ({}, 3, 71, Trigger.COORDINATOR_ABORTED),  # transaction.timeout.ms was over
        ({}, 4, 20, Trigger.EPOCH_BUMPED),  # v1: only a new producer or the coordinator raises the epoch
        ({"timeout_ms": None}, 4, 20, Trigger.COORDINATOR_ABORTED),
        ({"state": State.ABORTING}, 4, 71, Trigger.ABORT_MARKED),
        ({"protocol": "v2"}, 4, 20, Trigger.ABORT_MARKED),  # v2: each transaction has an epoch of its own
        ({"protocol": "v2", "left_ns": 15 * S}, 4, 20, Trigger.COORDINATOR_ABORTED),
        ({"protocol": "v2", "left_ns": 20 * S - LATE_MARKERS_NS}, 4, 20, Trigger.ABORT_MARKED),
        ({"left_ns": 15 * S}, 3, 20, Trigger.ABORT_MARKED),  # v1: the epoch would be another one
    ],
)
def test_markers_of_an_abort(facts: dict[str, Any], epoch: int, at_s: int, expected: Trigger) -> None:
    assert trigger_of_markers(event(producer_epoch=epoch), transaction(**facts), at_s * S) is expected


@pytest.mark.parametrize(
    ("facts", "of_event", "expected"),
    [
        ({}, {}, True),
        ({}, {"producer_id": 8}, False),
        ({}, {"producer_epoch": 4}, True),  # the coordinator raised the epoch and aborted
        ({}, {"producer_epoch": 4, "committed": True}, False),
        ({}, {"producer_epoch": 5}, False),
        ({}, {"producer_epoch": 2}, False),
        ({}, {"producer_epoch": None}, False),
        ({"protocol": "v2"}, {}, False),
        ({"protocol": "v2"}, {"producer_epoch": 4, "committed": True}, True),
        ({"accepted_ns": None}, {}, False),
        ({"accepted_ns": 21 * S}, {}, False),
        ({"accepted_ns": None, "seen_begin": False}, {}, True),
        ({"accepted_ns": None, "state": State.ABORTED}, {}, True),
    ],
)
def test_the_transaction_to_which_markers_belong(
    facts: dict[str, Any], of_event: dict[str, Any], expected: bool
) -> None:
    """Markers of the transaction before may come while the next one asks to begin: the coordinator refuses that until
    they are written."""
    assert are_markers_of(transaction(**facts), event(**of_event)) is expected


def test_when_the_coordinator_accepted_the_begin() -> None:
    adds = event(EventKind.REQUEST, answered_ns=21 * S)
    refused = event(EventKind.REQUEST, answered_ns=21 * S, errors=(TRY_AGAIN,))
    unanswered = event(EventKind.REQUEST)
    written = event(EventKind.WRITTEN, answered_ns=21 * S, errors=("NOT_LEADER_OR_FOLLOWER",))
    assert [accepted_ns(one) for one in (adds, refused, unanswered, written)] == [21 * S, None, 20 * S, 21 * S]


@pytest.mark.parametrize(
    ("facts", "of_event", "outdated", "expected"),
    [
        ({"protocol": "v2"}, {}, False, True),  # each transaction of v2 has its own epoch
        ({}, {}, False, False),  # with v1 it may be the next one
        ({"state": State.TIMED_OUT}, {}, False, True),
        ({"fenced_by": "ci-2"}, {}, True, True),
        ({"fenced_by": "ci-2"}, {}, False, False),
        ({"fenced_by": "ci-2"}, {"producer_epoch": 4}, True, False),
        ({"fenced_by": "ci-2"}, {"producer_id": None, "client": "ci-1"}, True, True),
        ({"fenced_by": "ci-2"}, {"producer_id": None, "client": "ci-3"}, True, False),
        ({}, {"producer_id": None, "client": "ci-1"}, True, False),
    ],
)
def test_a_request_that_comes_after_the_end(
    facts: dict[str, Any], of_event: dict[str, Any], outdated: bool, expected: bool
) -> None:
    assert is_late_for(transaction(**facts), event(EventKind.REQUEST, **of_event), outdated=outdated) is expected


def test_facts_that_earlier_requests_did_not_show() -> None:
    """Produce requests carry no producer id here, and requests of leaders no client."""
    unknown = Transaction(1, None, None, None, None, 10 * S, True, None)
    fill_in(unknown, event(EventKind.REQUEST, client="ci-9", left_ns=30 * S))
    assert (unknown.producer_id, unknown.producer_epoch, unknown.client, unknown.left_ns) == (7, 3, "ci-9", 30 * S)
    fill_in(unknown, event(EventKind.REQUEST, producer_id=8, client="ci-10"))
    assert (unknown.producer_id, unknown.client) == (7, "ci-9")


def test_requests_to_the_coordinator_decide_the_protocol() -> None:
    """A leader that got a batch verifies it with AddPartitionsToTxn v4 or later whatever the producer speaks."""
    shown = transaction(protocol=None)
    for kind, protocol, expected in (
        (EventKind.SEEN, "v2", "v2"),
        (EventKind.REQUEST, "v1", "v1"),
        (EventKind.WRITTEN, "v2", "v1"),
        (EventKind.END, None, "v1"),
    ):
        learn_protocol(shown, event(kind, protocol=protocol))
        assert shown.protocol == expected
