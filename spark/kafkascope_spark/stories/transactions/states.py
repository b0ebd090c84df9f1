"""The lifecycle of a transaction, as requests of its producer and its coordinator show it: (state, trigger) → state.

Open: begun. Committing, aborting: EndTxn was sent, and no final response was seen. Committed, aborted: EndTxn was
answered, or the markers were written, or its producer went on. Timed out: the coordinator aborted it. Replaced: an
InitProducerId of its own producer, or of the successor of a producer that had ended, aborted it. Fenced: another
instance took over the transactional id. Lost: the next transaction began; the end of this one is not in the capture.

A state changes only through `next_state`. Every pair of state and trigger is in TRANSITIONS or in IGNORED.
"""

import enum


class State(enum.Enum):
    """State of a transaction."""

    OPEN = "open"
    COMMITTING = "committing"
    ABORTING = "aborting"
    COMMITTED = "committed"
    ABORTED = "aborted"
    TIMED_OUT = "timed out"
    REPLACED = "replaced"
    FENCED = "fenced"
    LOST = "lost"


class Trigger(enum.Enum):
    """An event that may change the state of a transaction."""

    COMMIT_REQUESTED = "EndTxn asks for a commit, and has no answer, or one that says to try again"
    COMMIT_CONFIRMED = "EndTxn was answered: committed"
    ABORT_REQUESTED = "EndTxn asks for an abort, and has no answer, or one that says to try again"
    ABORT_CONFIRMED = "EndTxn was answered: aborted"
    END_REFUSED = "EndTxn was refused"
    COMMIT_MARKED = "a commit marker was written"
    ABORT_MARKED = "an abort marker was written, and nothing shows that the producer did not ask for it"
    COORDINATOR_ABORTED = "the coordinator aborted the transaction: its timeout was over, or its client was gone"
    EPOCH_BUMPED = "the producer's epoch is no longer valid, and not because of the transaction's timeout"
    TAKEN_OVER = "another instance's InitProducerId took the transactional id over"
    SUCCEEDED = "another instance's InitProducerId took the transactional id over after the client had gone"
    REINITIALIZED = "the client's own InitProducerId"
    SUPERSEDED = "the producer's next transaction began"
    NOTHING_FOLLOWED = "no later event can belong to the transaction"
    ONLY_BLOCKED_READERS_SEEN = "the capture shows nothing of the transaction but the consumers that it blocked"


_S, _T = State, Trigger
_RUNNING = (_S.OPEN, _S.COMMITTING, _S.ABORTING)
_FROM_ANY_RUNNING: dict[tuple[State, Trigger], State] = {
    (before, trigger): after
    for before in _RUNNING
    for trigger, after in (
        (_T.COMMIT_REQUESTED, _S.COMMITTING),
        (_T.COMMIT_CONFIRMED, _S.COMMITTED),
        (_T.ABORT_REQUESTED, _S.ABORTING),
        (_T.ABORT_CONFIRMED, _S.ABORTED),
        (_T.END_REFUSED, _S.OPEN),
        (_T.COMMIT_MARKED, _S.COMMITTED),
        (_T.COORDINATOR_ABORTED, _S.TIMED_OUT),
        (_T.EPOCH_BUMPED, _S.FENCED),
    )
}
"""Transitions that are the same from all running states."""

TRANSITIONS: dict[tuple[State, Trigger], State] = _FROM_ANY_RUNNING | {
    (_S.OPEN, _T.ABORT_MARKED): _S.ABORTED,
    (_S.OPEN, _T.TAKEN_OVER): _S.FENCED,
    (_S.OPEN, _T.SUCCEEDED): _S.REPLACED,
    (_S.OPEN, _T.REINITIALIZED): _S.REPLACED,
    (_S.OPEN, _T.SUPERSEDED): _S.LOST,
    (_S.OPEN, _T.ONLY_BLOCKED_READERS_SEEN): _S.LOST,
    (_S.COMMITTING, _T.ABORT_MARKED): _S.TIMED_OUT,
    (_S.COMMITTING, _T.TAKEN_OVER): _S.COMMITTED,
    (_S.COMMITTING, _T.SUCCEEDED): _S.COMMITTED,
    (_S.COMMITTING, _T.REINITIALIZED): _S.COMMITTED,
    (_S.COMMITTING, _T.SUPERSEDED): _S.COMMITTED,
    (_S.COMMITTING, _T.NOTHING_FOLLOWED): _S.COMMITTED,
    (_S.ABORTING, _T.ABORT_MARKED): _S.ABORTED,
    (_S.ABORTING, _T.TAKEN_OVER): _S.ABORTED,
    (_S.ABORTING, _T.SUCCEEDED): _S.ABORTED,
    (_S.ABORTING, _T.REINITIALIZED): _S.ABORTED,
    (_S.ABORTING, _T.SUPERSEDED): _S.ABORTED,
    (_S.ABORTING, _T.NOTHING_FOLLOWED): _S.ABORTED,
    (_S.FENCED, _T.ABORT_CONFIRMED): _S.ABORTED,
}
"""The transitions. A sent EndTxn counts as done when its producer goes on, unless a response or a marker shows
otherwise. A fenced client may request the abort that the take-over has already caused; if the response has no error, it
goes on."""

ENDED = frozenset({_S.COMMITTED, _S.ABORTED, _S.TIMED_OUT, _S.REPLACED, _S.FENCED, _S.LOST})

IGNORED: frozenset[tuple[State, Trigger]] = frozenset(
    {(state, trigger) for state in ENDED for trigger in Trigger} - set(TRANSITIONS)
    | {
        (_S.OPEN, _T.NOTHING_FOLLOWED),
        (_S.COMMITTING, _T.ONLY_BLOCKED_READERS_SEEN),
        (_S.ABORTING, _T.ONLY_BLOCKED_READERS_SEEN),
    }
)
"""Triggers that leave the state as it is. Requests and markers of a transaction may arrive after its end; a transaction
that is open at the end of the capture stays open."""

END_KINDS = {
    _S.COMMITTED: "commit",
    _S.ABORTED: "abort",
    _S.TIMED_OUT: "coordinator",
    _S.REPLACED: "init_producer_id",
    _S.FENCED: "init_producer_id",
}
"""The column end_kind by final state."""
OUTCOMES = {
    _S.COMMITTED: "committed",
    _S.ABORTED: "aborted",
    _S.TIMED_OUT: "aborted",
    _S.REPLACED: "aborted",
    _S.FENCED: "fenced",
    _S.LOST: "cut",
}
"""The column outcome by final state, if the whole transaction is in the capture."""


def next_state(state: State, trigger: Trigger) -> State | None:
    """Returns the next state; None if the trigger is ignored. Raises ValueError for a pair in neither table."""
    if (state, trigger) in IGNORED:
        return None
    after = TRANSITIONS.get((state, trigger))
    if after is None:
        raise ValueError(f"a transaction that is {state.value} does not know {trigger.name}")
    return after
