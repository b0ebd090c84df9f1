"""`ReactionCheck`: whether the client took a step that does not help, or continued as if there had been no error.

Only requests that were sent after the client had the error count, while the episode is open: requests in flight prove
nothing. The tolerated time is longer than the longest back-off of any client (retry.backoff.max.ms is 1 s, and a fifth
more by jitter).
"""

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun
from kafkascope_spark.stories.recoveries.journal import EpisodeStep
from kafkascope_spark.stories.recoveries.reaction import Reaction

SECOND = 1_000_000_000
PATIENCE_NS = 2 * SECOND
REJOIN_PATIENCE_NS = 10 * SECOND
"""Time in which a client has to join its group again; longer because it does so only when the application polls."""
BLIND_RETRIES = 3
FORBIDDEN_STEPS = 3
HASTE_NS = 10_000_000
"""A retry sooner than this has no pause: clients pause 20 ms (the first AddPartitionsToTxn of a transaction) to 1 s
before they repeat a request."""
HASTY_RETRIES = 10


class ReactionCheck:
    """Checks the steps of one client for one resource."""

    def __init__(self) -> None:
        self.wrong: str | None = None
        """The wrong reaction in words; None if there was none."""
        self._reaction = Reaction("")
        self._error: EpisodeStep | None = None
        self._blind_since_ns = 0
        self._n_blind = 0
        self._n_forbidden = 0
        self._n_hasty = 0
        self._judged: str | None = None

    def on_error(self, step: EpisodeStep, reaction: Reaction) -> None:
        """Handles an error on the resource. Its request was a retry, which is checked against the previous error."""
        if self._error is not None and step.duration_us is not None:
            self._judge(step, step.ts_ns - 1000 * step.duration_us)
        if self._error is None or reaction is not self._reaction or step.retry_key != self._error.retry_key:
            self._start_over(step.ts_ns)
        if reaction.forbidden != self._reaction.forbidden:
            self._n_forbidden = 0
        self._error, self._reaction = step, reaction

    def on_error_run(self, step: EpisodeStep, run: ErrorRun, reaction: Reaction, helped_ns: int) -> None:
        """Handles a run of repeated errors. step: the last of them; helped_ns: time of the client's last helpful step.

        All requests except the first were retries. If a helpful step came during the run on another connection, it may
        have come before any of the retries: then none of them is checked.
        """
        if self._error is None or reaction is not self._reaction or step.retry_key != self._error.retry_key:
            self._start_over(run.ts_ns)
        if reaction.forbidden != self._reaction.forbidden:
            self._n_forbidden = 0
        self._error, self._reaction, self._judged = step, reaction, run.last_request_id
        if run.leader_id is not None and "hint" in reaction.first:
            self._start_over(run.last_ns)
        elif helped_ns >= run.ts_ns:
            self._start_over(helped_ns)
        elif self._is_blind(reaction) and self._blind_since_ns <= run.ts_ns:
            self._n_blind += run.n
            if self._n_blind >= BLIND_RETRIES and run.last_sent_ns - self._blind_since_ns > _patience(reaction):
                self._blame(self._n_blind)
        if reaction.waits:
            pause_ns = (run.last_ns - run.ts_ns - 1000 * (run.waited_us or 0)) // run.n
            self._n_hasty = self._n_hasty + run.n if pause_ns < HASTE_NS else 0
            self._blame_haste()

    @staticmethod
    def _is_blind(reaction: Reaction) -> bool:
        """Whether a retry after the error changes nothing by itself."""
        return bool(reaction.first) or (reaction.fatal and not reaction.is_denied)

    def _start_over(self, ts_ns: int) -> None:
        self._blind_since_ns, self._n_blind = ts_ns, 0

    def on_step(self, step: EpisodeStep, *, is_asked: bool) -> None:
        """Handles a step: a request (is_asked), a response, a connection or a join."""
        if step.name in self._reaction.first:
            self._start_over(step.ts_ns)
        if is_asked and step.name in self._reaction.forbidden:
            self._n_forbidden += 1
            if self._n_forbidden >= FORBIDDEN_STEPS:
                self.wrong = f"{step.name} {self._n_forbidden} times, which does not help here"

    def on_retry(self, step: EpisodeStep) -> None:
        """Handles a request on the resource."""
        self._judge(step, step.ts_ns)

    def _judge(self, step: EpisodeStep, sent_ns: int) -> None:
        error, reaction = self._error, self._reaction
        if error is None or sent_ns <= error.ts_ns or (step.request_id == self._judged and step.request_id is not None):
            return
        self._judged = step.request_id
        if reaction.waits:
            self._n_hasty = self._n_hasty + 1 if sent_ns - error.ts_ns < HASTE_NS else 0
            self._blame_haste()
        if self._is_blind(reaction) and step.retry_key == error.retry_key:
            self._n_blind += 1
            if self._n_blind >= BLIND_RETRIES and sent_ns - self._blind_since_ns > _patience(reaction):
                self._blame(self._n_blind)

    def _blame_haste(self) -> None:
        if self._n_hasty >= HASTY_RETRIES:
            self.wrong = f"{self._n_hasty} retries without a pause"

    def _blame(self, n_blind: int) -> None:
        needed = " or ".join(sorted(self._reaction.first)) or "an end"
        self.wrong = f"{n_blind} retries that changed nothing, without {needed}"


def _patience(reaction: Reaction) -> int:
    return REJOIN_PATIENCE_NS if "join_group" in reaction.first else PATIENCE_NS
