"""One open episode: its state, what it has cost, and the steps that tell it. Memory is bounded: the first and last
steps, the last few errors' times, the first proofs.
"""

from collections import deque
from dataclasses import dataclass, field

from kafkascope_spark.recoveries.conduct import Conduct
from kafkascope_spark.recoveries.marks import Journal, Mark
from kafkascope_spark.recoveries.reaction import Reaction
from kafkascope_spark.recoveries.resources import Resource
from kafkascope_spark.recoveries.states import LOST, TRANSITIONS, Happening, State, loser_of
from kafkascope_spark.wire import ErrorRun

FIRST_STEPS, LAST_STEPS = 80, 20
"""Steps kept of one episode: how it began and how it ended; the others are counted only."""
MAX_EVIDENCE = 10
STORM_ERRORS, STORM_NS, STORM_TOTAL = 10, 1_000_000_000, 50
"""More than 10 errors in one second, or more than 50 in one episode."""
BACKOFF_NS = 10_000_000
"""A pause before the next act that is worth telling."""
SOON_NS = 2_000_000_000
"""Metadata that is asked for within this time of an error is asked for because of it."""
FIRST_TIMES = {
    "metadata": "refreshed_ns",
    "find_coordinator": "rediscovered_ns",
    "reconnect": "reconnected_ns",
    "authenticate": "reauthenticated_ns",
    "join_group": "rejoined_ns",
    "retry": "retried_ns",
}
NO_NODE_APIS = frozenset({3, 10})
"""Metadata and FindCoordinator: the node that answers is not the one that it is about."""


@dataclass(slots=True)
class Episode:
    """An open episode; begins with its first error (error)."""

    resource: Resource
    api_key: int | None
    number: int
    first: Mark
    read: int
    """Position in the journal up to which it has read."""
    state: State = State.WELL
    reaction: Reaction = field(default_factory=lambda: Reaction(""))
    expected: str = ""
    conduct: Conduct = field(default_factory=Conduct)
    errors: list[str] = field(default_factory=list)
    n_errors: int = 0
    last_ns: int = 0
    """When its state last changed."""
    last_error_ns: int = 0
    last_error: str = ""
    is_fast: bool = False
    """Whether its errors came faster than a client's back-off lets them."""
    is_fatal: bool = False
    times: dict[str, int] = field(default_factory=dict)
    reactions: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    n_wasted: int = 0
    n_to_old: int = 0
    old_until_ns: int | None = None
    old_node_id: int | None = None
    trigger: str | None = None
    hinted: bool = False
    leader_id: int | None = None
    """Leader of the topic-partition, as the client was told since the first error."""
    lost_ns: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LOST, 0))
    _recent: deque[int] = field(default_factory=lambda: deque(maxlen=STORM_ERRORS + 1))
    _steps: list[Mark] = field(default_factory=list)
    _later: deque[Mark] = field(default_factory=lambda: deque(maxlen=LAST_STEPS))
    _since_error: set[str] = field(default_factory=set)
    _last_request: str | None = None
    _tried: str | None = None

    @property
    def steps(self) -> list[Mark]:
        """Its steps, by time; of many the first and the last."""
        return sorted([*self._steps, *self._later], key=lambda mark: mark.ts_ns)

    @property
    def storm(self) -> bool:
        """Whether it is one."""
        return self.is_fast or self.n_errors > STORM_TOTAL

    def move(self, happening: Happening, ts_ns: int) -> None:
        """The transition; the time since the one before is somebody's."""
        if self.state is not State.WELL and ts_ns > self.last_ns:
            self.lost_ns[loser_of(self.state, self.reaction)] += ts_ns - self.last_ns
            self.last_ns = ts_ns
        elif self.state is State.WELL:
            self.last_ns = ts_ns
        self.state = TRANSITIONS[self.state, happening]

    def error(self, mark: Mark, reaction: Reaction, journal: Journal) -> None:
        """Another error on the resource."""
        self.catch_up(journal)
        if self.state is not State.WELL and mark.duration_us is not None and mark.request_id != self._tried:
            sent_ns = mark.ts_ns - 1000 * mark.duration_us
            self._try(
                Mark("retry", sent_ns, mark.conn_id, mark.node_id, mark.request_id, mark.duration_us, claim=mark.claim)
            )
        self.move(Happening.ERROR, mark.ts_ns)
        self.reaction, self.last_error_ns = reaction, mark.ts_ns
        self.is_fatal = self.is_fatal or reaction.fatal
        self.expected = self.expected or reaction.text
        self.last_error = name = mark.error_name or "UNKNOWN"
        self.n_errors += 1
        if name not in self.errors:
            self.errors.append(name)
        self._recent.append(mark.ts_ns)
        if not self.is_fast and len(self._recent) > STORM_ERRORS:
            self.is_fast = mark.ts_ns - self._recent[0] <= STORM_NS
        if mark.request_id is not None and mark.request_id != self._last_request:
            self.n_wasted += 1
            self._last_request = mark.request_id
        if self.old_node_id is None and self.api_key not in NO_NODE_APIS:
            self.old_node_id = mark.node_id
        self.conduct.on_error(mark, reaction)
        self.prove(mark)
        self._since_error.clear()
        self._tell(mark)

    def error_run(self, mark: Mark, run: ErrorRun, reaction: Reaction, journal: Journal) -> None:
        """The same error again and again, all on one connection; mark: the last of them.

        It is told when the last one came. What the client did meanwhile on other connections is in the journal by then.
        """
        helped_ns = journal.last_ns(self.read, reaction.first)
        self.catch_up(journal)
        self._add_lost_time(run, reaction)
        self.reaction, self.last_error_ns = reaction, run.last_ns
        self.is_fatal = self.is_fatal or reaction.fatal
        self.expected = self.expected or reaction.text
        self.last_error = run.error_name
        if run.error_name not in self.errors:
            self.errors.append(run.error_name)
        self.n_errors, self.n_wasted = self.n_errors + run.n, self.n_wasted + run.n
        self._last_request = self._tried = run.last_request_id
        self._recent.append(run.last_ns)
        self.is_fast = self.is_fast or (run.last_ns - run.ts_ns) * STORM_ERRORS <= STORM_NS * (run.n - 1)
        if self.old_node_id is None and self.api_key not in NO_NODE_APIS:
            self.old_node_id = mark.node_id
        if mark.node_id is not None and mark.node_id == self.old_node_id:
            self.n_to_old, self.old_until_ns = self.n_to_old + run.n, run.last_sent_ns
        self.leader_id = self.leader_id if run.leader_id is None else run.leader_id
        self.conduct.on_error_run(mark, run, reaction, helped_ns)
        self.prove(mark)
        self._since_error.clear()
        self._tell(mark)

    def _add_lost_time(self, run: ErrorRun, reaction: Reaction) -> None:
        """Whose time passed during a run: while a request waited for its answer it was the broker's, between the
        requests that of the state after an error."""
        begin = min(run.ts_ns, run.last_ns) if self.state is State.WELL else self.last_ns
        passed = max(0, run.last_ns - begin)
        trying = min(passed, 1000 * (run.waited_us or 0))
        self.lost_ns[loser_of(State.TRYING, reaction)] += trying
        self.lost_ns[loser_of(State.WAITING, reaction)] += passed - trying
        self.last_ns = max(self.last_ns, run.last_ns)
        self.state = State.WAITING

    def catch_up(self, journal: Journal) -> None:
        """Read what the client did since this episode's last event."""
        if self.read == journal.end:
            return
        for happening, mark in journal.since(self.read):
            self.react(happening, mark)
        self.read = journal.end

    def react(self, happening: Happening, mark: Mark) -> None:
        """The client did something about it: told once per step after each error."""
        waited_ns = mark.ts_ns - self.last_ns
        if self.state is State.WAITING and waited_ns >= BACKOFF_NS and happening is not Happening.TOLD:
            self._tell(Mark("backoff", self.last_ns, duration_us=waited_ns // 1000))
        self.move(happening, mark.ts_ns)
        step = "join_group" if mark.step == "heartbeat_join" else mark.step
        if happening is not Happening.TRIED:
            self.conduct.on_step(mark._replace(step=step), is_asked=happening is Happening.ASKED)
        if not mark.is_told:
            return
        if step in FIRST_TIMES:
            self.times.setdefault(FIRST_TIMES[step], mark.ts_ns)
        if step == "metadata" and self.trigger is None:
            self.trigger = self._trigger_of(mark)
        if mark.step in self._since_error:
            return
        self._since_error.add(mark.step)
        told = "heartbeat" if mark.step == "heartbeat_join" else mark.step
        if told not in self.reactions:
            self.reactions.append(told)
        self._tell(mark if told == mark.step else mark._replace(step=told))

    def _trigger_of(self, metadata: Mark) -> str:
        asked_ns = metadata.ts_ns - 1000 * (metadata.duration_us or 0)
        newest_ns = self._recent[-1] if self._recent else self.first.ts_ns
        return "error" if self.first.ts_ns <= asked_ns <= newest_ns + SOON_NS else "age"

    def retry(self, mark: Mark, journal: Journal) -> None:
        """A request on the resource was sent."""
        self.catch_up(journal)
        self._try(mark)

    def _try(self, mark: Mark) -> None:
        if mark.ts_ns <= self.last_error_ns:
            return
        self._tried = mark.request_id
        if mark.node_id is not None and self.old_node_id is not None:
            if mark.node_id == self.old_node_id:
                self.n_to_old += 1
                self.old_until_ns = mark.ts_ns
            elif self.trigger is None and self.hinted:
                self.trigger = "hint"
        self.conduct.on_retry(mark)
        self.react(Happening.TRIED, mark)

    def success(self, mark: Mark, journal: Journal) -> None:
        """The resource works again."""
        self.catch_up(journal)
        self.move(Happening.SUCCEEDED, max(mark.ts_ns, self.last_ns))
        self._tell(mark)
        self.prove(mark)

    def end(self, journal: Journal, ts_ns: int) -> None:
        """The client or the capture ended."""
        self.catch_up(journal)
        self.move(Happening.ENDED, max(ts_ns, self.last_ns))

    def hint(self, mark: Mark, leader_id: int) -> None:
        """The error, which was told before, named the leader."""
        self.leader_id = leader_id
        self.conduct.on_step(mark, is_asked=False)
        if self.trigger is None:
            self.hinted = True
        if mark.step not in self.reactions:
            self._tell(mark)
            self.reactions.append(mark.step)

    def note(self, mark: Mark) -> None:
        """A step of the story that moves nothing."""
        if mark.step not in self._since_error:
            self._since_error.add(mark.step)
            self._tell(mark)

    def unheard(self, mark: Mark) -> None:
        """An error that never reached the client: named, and nothing else."""
        name = mark.error_name or "UNKNOWN"
        if name not in self.errors:
            self.errors.append(name)
            self._tell(mark)

    def _tell(self, mark: Mark) -> None:
        if len(self._steps) < FIRST_STEPS:
            self._steps.append(mark)
        else:
            self._later.append(mark)

    def prove(self, mark: Mark) -> None:
        """The mark's request, or connection, is evidence; the last place is for the success."""
        proof = mark.request_id or mark.conn_id
        most = MAX_EVIDENCE if mark.step == "success" else MAX_EVIDENCE - 1
        if proof and len(self.evidence) < most and proof not in self.evidence:
            self.evidence.append(proof)
