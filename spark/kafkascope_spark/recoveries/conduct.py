"""Whether the client did what its reaction forbids, or went on as if nothing had been said.

Judged while the episode is open, and only by what was sent after the client had the error: what was in flight proves
nothing. Patience is longer than any client's longest back-off (retry.backoff.max.ms is 1 s, and a fifth more).
"""

import numpy as np

from kafkascope_spark.recoveries.marks import Mark
from kafkascope_spark.recoveries.reaction import Reaction
from kafkascope_spark.runs import Repeats

SECOND = 1_000_000_000
PATIENCE_NS = 2 * SECOND
REJOIN_PATIENCE_NS = 10 * SECOND
"""Clients rejoin their group when the application polls."""
BLIND_RETRIES = 3
FORBIDDEN_STEPS = 3
HASTE_NS = 10_000_000
"""Clients pause 20 ms (the first AddPartitionsToTxn of a transaction) to 1 s before the same again."""
HASTY_RETRIES = 10


class Conduct:
    """What one client did about one resource."""

    def __init__(self) -> None:
        self.wrong: str | None = None
        """What it did wrong, in words; None as long as it did nothing wrong."""
        self._reaction = Reaction("")
        self._error: Mark | None = None
        self._blind_since_ns = 0
        self._n_blind = 0
        self._n_forbidden = 0
        self._n_hasty = 0
        self._judged: str | None = None

    def on_error(self, mark: Mark, reaction: Reaction) -> None:
        """Another error on the resource. The request that met it was a try, and is judged by the error before."""
        if self._error is not None and mark.duration_us is not None:
            self._judge(mark, mark.ts_ns - 1000 * mark.duration_us)
        if self._error is None or reaction is not self._reaction or mark.claim != self._error.claim:
            self._start_over(mark.ts_ns)
        if reaction.forbidden != self._reaction.forbidden:
            self._n_forbidden = 0
        self._error, self._reaction = mark, reaction

    def takes_again(self, mark: Mark, reaction: Reaction) -> bool:
        """Whether more errors like mark are judged by on_errors_again."""
        if self._error is None or reaction.waits:
            return False
        return reaction is self._reaction and mark.claim == self._error.claim

    def on_errors_again(self, mark: Mark, repeats: Repeats) -> None:
        """What on_retry, on_error and on_step (of the hint) do about each in turn; mark: an error like all of them."""
        reaction, error = self._reaction, self._error
        assert error is not None
        is_blind = bool(reaction.first) or (reaction.fatal and not reaction.is_denied)
        is_told = repeats.leader_id is not None and "hint" in reaction.first
        judged, self._judged = repeats.tries(error.ts_ns, self._judged, of_errors=False)
        counted = np.cumsum(judged) if is_blind else np.zeros(len(judged), np.int64)
        n_blind, since = self._n_blind + counted, np.full(len(judged), self._blind_since_ns)
        if is_told:
            at = np.flatnonzero(repeats.is_error)
            told = np.searchsorted(at, np.arange(len(judged)), side="left") - 1
            is_after = told >= 0
            n_blind = np.where(is_after, counted - counted[at[told]], n_blind)
            since = np.where(is_after, repeats.ts_ns[at[told]], since)
            self._n_blind, self._blind_since_ns = int(counted[-1] - counted[at[-1]]), int(repeats.ts_ns[at[-1]])
        else:
            self._n_blind = int(n_blind[-1])
        blamed = judged & is_blind & (n_blind >= BLIND_RETRIES) & (repeats.sent_ns - since > _patience(reaction))
        if blamed.any():
            self._blame(int(n_blind[blamed][-1]))
        self._error = mark

    def _start_over(self, ts_ns: int) -> None:
        self._blind_since_ns, self._n_blind = ts_ns, 0

    def on_step(self, mark: Mark, *, is_asked: bool) -> None:
        """The client asked (is_asked), connected or joined, or was told."""
        if mark.step in self._reaction.first:
            self._start_over(mark.ts_ns)
        if is_asked and mark.step in self._reaction.forbidden:
            self._n_forbidden += 1
            if self._n_forbidden >= FORBIDDEN_STEPS:
                self.wrong = f"{mark.step} {self._n_forbidden} times, which does not help here"

    def on_retry(self, mark: Mark) -> None:
        """A request on the resource."""
        self._judge(mark, mark.ts_ns)

    def _judge(self, mark: Mark, sent_ns: int) -> None:
        error, reaction = self._error, self._reaction
        if error is None or sent_ns <= error.ts_ns or (mark.request_id == self._judged and mark.request_id is not None):
            return
        self._judged = mark.request_id
        if reaction.waits:
            self._n_hasty = self._n_hasty + 1 if sent_ns - error.ts_ns < HASTE_NS else 0
            if self._n_hasty >= HASTY_RETRIES:
                self.wrong = f"{self._n_hasty} retries without a pause"
        is_over = reaction.fatal and not reaction.is_denied
        if (reaction.first or is_over) and mark.claim == error.claim:
            self._n_blind += 1
            if self._n_blind >= BLIND_RETRIES and sent_ns - self._blind_since_ns > _patience(reaction):
                self._blame(self._n_blind)

    def _blame(self, n_blind: int) -> None:
        needed = " or ".join(sorted(self._reaction.first)) or "an end"
        self.wrong = f"{n_blind} retries that changed nothing, without {needed}"


def _patience(reaction: Reaction) -> int:
    return REJOIN_PATIENCE_NS if "join_group" in reaction.first else PATIENCE_NS
