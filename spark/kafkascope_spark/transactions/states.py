"""The life of a transaction as its producer and its coordinator write it on the wire: (state, event) → state.

open: begun. committing, aborting: EndTxn was sent, no answer that counts seen. committed, aborted: answered, or its
markers were written, or nobody said otherwise. stopped: the coordinator aborted it, its timeout being over. replaced:
an InitProducerId of its own producer, or of the successor of one that had gone, aborted it. fenced: another instance
took the transactional id over. lost: the next one began, the end of this one is not in the capture.
"""

import enum


class State(enum.Enum):
    """Where the transaction is."""

    OPEN = "open"
    COMMITTING = "committing"
    ABORTING = "aborting"
    COMMITTED = "committed"
    ABORTED = "aborted"
    STOPPED = "stopped"
    REPLACED = "replaced"
    FENCED = "fenced"
    LOST = "lost"


class Happening(enum.Enum):
    """What moves it."""

    COMMIT_ASKED = "EndTxn asks for a commit; no answer, or one that says to ask again"
    COMMIT_DONE = "EndTxn was answered: committed"
    ABORT_ASKED = "EndTxn asks for an abort; no answer, or one that says to ask again"
    ABORT_DONE = "EndTxn was answered: aborted"
    END_REFUSED = "EndTxn was refused"
    COMMIT_MARKED = "a commit marker was written"
    ABORT_MARKED = "an abort marker was written, as its client asked for all that the capture shows"
    TIMED_OUT = "the coordinator aborted it: its timeout is over, or its client was gone"
    OUTDATED = "its epoch is over, and not for its timeout"
    TAKEN_OVER = "another instance's InitProducerId took the id over"
    SUCCEEDED = "the same, after its own client had gone"
    BEGUN_ANEW = "its own client's InitProducerId"
    SUPERSEDED = "the producer's next transaction began"


_S, _H = State, Happening
_ALWAYS: dict[tuple[State, Happening], State] = {
    (before, what): after
    for before in (_S.OPEN, _S.COMMITTING, _S.ABORTING)
    for what, after in (
        (_H.COMMIT_ASKED, _S.COMMITTING),
        (_H.COMMIT_DONE, _S.COMMITTED),
        (_H.ABORT_ASKED, _S.ABORTING),
        (_H.ABORT_DONE, _S.ABORTED),
        (_H.END_REFUSED, _S.OPEN),
        (_H.COMMIT_MARKED, _S.COMMITTED),
        (_H.TIMED_OUT, _S.STOPPED),
        (_H.OUTDATED, _S.FENCED),
    )
}
"""What does not depend on what was asked for."""

TRANSITIONS: dict[tuple[State, Happening], State] = _ALWAYS | {
    (_S.OPEN, _H.ABORT_MARKED): _S.ABORTED,
    (_S.OPEN, _H.TAKEN_OVER): _S.FENCED,
    (_S.OPEN, _H.SUCCEEDED): _S.REPLACED,
    (_S.OPEN, _H.BEGUN_ANEW): _S.REPLACED,
    (_S.OPEN, _H.SUPERSEDED): _S.LOST,
    (_S.COMMITTING, _H.ABORT_MARKED): _S.STOPPED,
    (_S.COMMITTING, _H.TAKEN_OVER): _S.COMMITTED,
    (_S.COMMITTING, _H.SUCCEEDED): _S.COMMITTED,
    (_S.COMMITTING, _H.BEGUN_ANEW): _S.COMMITTED,
    (_S.COMMITTING, _H.SUPERSEDED): _S.COMMITTED,
    (_S.FENCED, _H.ABORT_DONE): _S.ABORTED,
    (_S.ABORTING, _H.ABORT_MARKED): _S.ABORTED,
    (_S.ABORTING, _H.TAKEN_OVER): _S.ABORTED,
    (_S.ABORTING, _H.SUCCEEDED): _S.ABORTED,
    (_S.ABORTING, _H.BEGUN_ANEW): _S.ABORTED,
    (_S.ABORTING, _H.SUPERSEDED): _S.ABORTED,
}
"""What is not named does not move it: nothing moves a transaction that has ended, but that its client may ask for the
abort that the take-over has brought, be answered well, and go on. EndTxn that was sent counts as done when its
producer goes on, unless an answer or a marker says otherwise."""

ENDED = frozenset({_S.COMMITTED, _S.ABORTED, _S.STOPPED, _S.REPLACED, _S.FENCED, _S.LOST})

END_KINDS = {
    _S.COMMITTED: "commit",
    _S.ABORTED: "abort",
    _S.STOPPED: "coordinator",
    _S.REPLACED: "init_producer_id",
    _S.FENCED: "init_producer_id",
}
"""The column end_kind, by the state in which it ended."""
OUTCOMES = {
    _S.COMMITTED: "committed",
    _S.ABORTED: "aborted",
    _S.STOPPED: "aborted",
    _S.REPLACED: "aborted",
    _S.FENCED: "fenced",
    _S.LOST: "cut",
}
"""The column outcome, where the whole transaction is in the capture."""
