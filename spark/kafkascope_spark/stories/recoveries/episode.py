"""One open episode: its state, what it has cost, and its steps. Memory is bounded: the first and last
steps, the last few errors' times, the first proofs.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun
from kafkascope_parsers.api_keys import FIND_COORDINATOR, METADATA
from kafkascope_spark.stories.recoveries.client_recovery import LeaderReport
from kafkascope_spark.stories.recoveries.journal import EpisodeStep, Journal
from kafkascope_spark.stories.recoveries.reaction import Reaction
from kafkascope_spark.stories.recoveries.reaction_check import ReactionCheck
from kafkascope_spark.stories.recoveries.resources import Resource
from kafkascope_spark.stories.recoveries.states import LOST, TRANSITIONS, State, Trigger, loser_of
from kafkascope_spark.stories.recoveries.table import RefreshTrigger

FIRST_STEPS, LAST_STEPS = 80, 20
"""Steps kept of one episode: how it began and how it ended; the others are counted only."""
MAX_EVIDENCE = 10
MAX_REPORTS = 32
STORM_ERRORS, STORM_NS, STORM_TOTAL = 10, 1_000_000_000, 50
"""More than 10 errors in one second, or more than 50 in one episode."""
BACKOFF_NS = 10_000_000
"""A pause before the next act that is worth telling."""
SOON_NS = 2_000_000_000
"""Metadata that is asked for within this time of an error is asked for because of it."""
TIMED_STEPS = frozenset({"metadata", "find_coordinator", "reconnect", "authenticate", "join_group", "retry"})
"""Steps of which an episode keeps when the first was."""
NO_NODE_APIS = frozenset({METADATA, FIND_COORDINATOR})
"""The node that answers is not the one that it is about."""


@dataclass(slots=True)
class Episode:
    """An open episode; begins with its first error (error)."""

    resource: Resource
    api_key: int | None
    number: int
    first: EpisodeStep
    read: int
    """Position in the journal up to which it has read."""
    state: State = State.WELL
    reaction: Reaction = field(default_factory=lambda: Reaction(""))
    expected: str = ""
    reaction_check: ReactionCheck = field(default_factory=ReactionCheck)
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
    """TIMED_STEPS -> when the first was."""
    reactions: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    n_wasted: int = 0
    n_lookups: int = 0
    """Answers to FindCoordinator after which the coordinator did not respond either."""
    n_to_old: int = 0
    old_until_ns: int | None = None
    old_node_id: int | None = None
    trigger: RefreshTrigger | None = None
    hinted: bool = False
    leader_id: int | None = None
    """Leader of the topic-partition, as answers named it since the first error."""
    leader_reports: dict[tuple[str, int], LeaderReport] = field(default_factory=dict)
    """By the server that named a leader since the first error, and the leader: at most MAX_REPORTS."""
    lost_ns: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LOST, 0))
    _recent: deque[int] = field(default_factory=lambda: deque(maxlen=STORM_ERRORS + 1))
    _steps: list[EpisodeStep] = field(default_factory=list)
    _later: deque[EpisodeStep] = field(default_factory=lambda: deque(maxlen=LAST_STEPS))
    _since_error: set[str] = field(default_factory=set)
    _last_request: str | None = None
    _tried: str | None = None

    @property
    def steps(self) -> list[EpisodeStep]:
        """Its steps, by time; of many the first and the last. A retry that named the resource among others was known
        before its response: it lasts until the step that the response is."""
        steps = [*self._steps, *self._later]
        answered = (step for step in steps if step.name in ("error", "success") and step.request_id is not None)
        answered_ns = {step.request_id: step.ts_ns for step in answered}
        return sorted((_with_duration(step, answered_ns) for step in steps), key=lambda step: step.ts_ns)

    @property
    def storm(self) -> bool:
        """Whether it is one."""
        return self.is_fast or max(self.n_errors, self.n_lookups) > STORM_TOTAL

    def move(self, trigger: Trigger, ts_ns: int) -> None:
        """The transition; the time since the one before is somebody's."""
        if self.state is not State.WELL and ts_ns > self.last_ns:
            self.lost_ns[loser_of(self.state, self.reaction)] += ts_ns - self.last_ns
            self.last_ns = ts_ns
        elif self.state is State.WELL:
            self.last_ns = ts_ns
        self.state = TRANSITIONS[self.state, trigger]

    def error(self, step: EpisodeStep, reaction: Reaction, journal: Journal) -> None:
        """Another error on the resource."""
        self.catch_up(journal)
        if self.state is not State.WELL and step.duration_us is not None and step.request_id != self._tried:
            sent_ns = step.ts_ns - 1000 * step.duration_us
            self._try(
                EpisodeStep(
                    "retry",
                    sent_ns,
                    step.conn_id,
                    step.node_id,
                    step.request_id,
                    step.duration_us,
                    retry_key=step.retry_key,
                )
            )
        self.move(Trigger.ERROR, step.ts_ns)
        self.reaction, self.last_error_ns = reaction, step.ts_ns
        self.is_fatal = self.is_fatal or reaction.fatal
        self.expected = self.expected or reaction.text
        self.last_error = name = step.error_name or "UNKNOWN"
        self.n_errors += 1
        if name not in self.errors:
            self.errors.append(name)
        self._recent.append(step.ts_ns)
        if not self.is_fast and len(self._recent) > STORM_ERRORS:
            self.is_fast = step.ts_ns - self._recent[0] <= STORM_NS
        if step.request_id is not None and step.request_id != self._last_request:
            self.n_wasted += 1
            self._last_request = step.request_id
        if self.old_node_id is None and self.api_key not in NO_NODE_APIS:
            self.old_node_id = step.node_id
        self.reaction_check.on_error(step, reaction)
        self.add_evidence(step)
        self._since_error.clear()
        self._add_step(step)

    def error_run(self, step: EpisodeStep, run: ErrorRun, reaction: Reaction, journal: Journal) -> None:
        """The same error again and again, all on one connection; step: the last of them.

        It comes when the last one did. What the client did meanwhile on other connections is in the journal by then.
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
            self.old_node_id = step.node_id
        if step.node_id is not None and step.node_id == self.old_node_id:
            self.n_to_old, self.old_until_ns = self.n_to_old + run.n, run.last_sent_ns
        self.leader_id = self.leader_id if run.leader_id is None else run.leader_id
        self.reaction_check.on_error_run(step, run, reaction, helped_ns)
        self.add_evidence(step)
        self._since_error.clear()
        self._add_step(step)

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
        for trigger, step in journal.since(self.read):
            self.react(trigger, step)
        self.read = journal.end

    def react(self, trigger: Trigger, step: EpisodeStep) -> None:
        """The client did something about it: a step of each name is kept once after each error."""
        waited_ns = step.ts_ns - self.last_ns
        if self.state is State.WAITING and waited_ns >= BACKOFF_NS and trigger is not Trigger.ANSWERED:
            self._add_step(EpisodeStep("backoff", self.last_ns, duration_us=waited_ns // 1000))
        self.move(trigger, step.ts_ns)
        step_name = "join_group" if step.name == "heartbeat_join" else step.name
        if trigger is not Trigger.TRIED:
            self.reaction_check.on_step(step._replace(name=step_name), is_asked=trigger is Trigger.ASKED)
        if not step.is_reported:
            return
        if step_name in TIMED_STEPS:
            self.times.setdefault(step_name, step.ts_ns)
        if step_name == "metadata" and self.trigger is None:
            self.trigger = self._trigger_of(step)
        if step.name in self._since_error:
            return
        self._since_error.add(step.name)
        reaction = "heartbeat" if step.name == "heartbeat_join" else step.name
        if reaction not in self.reactions:
            self.reactions.append(reaction)
        self._add_step(step if reaction == step.name else step._replace(name=reaction))

    def _trigger_of(self, metadata: EpisodeStep) -> RefreshTrigger:
        asked_ns = metadata.ts_ns - 1000 * (metadata.duration_us or 0)
        newest_ns = self._recent[-1] if self._recent else self.first.ts_ns
        return "error" if self.first.ts_ns <= asked_ns <= newest_ns + SOON_NS else "age"

    def retry(self, step: EpisodeStep, journal: Journal) -> None:
        """A request on the resource was sent."""
        self.catch_up(journal)
        self._try(step)

    def _try(self, step: EpisodeStep) -> None:
        if step.ts_ns <= self.last_error_ns:
            return
        self._tried = step.request_id
        if step.node_id is not None and self.old_node_id is not None:
            if step.node_id == self.old_node_id:
                self.n_to_old += 1
                self.old_until_ns = step.ts_ns
            elif self.trigger is None and self.hinted:
                self.trigger = "hint"
        self.reaction_check.on_retry(step)
        self.react(Trigger.TRIED, step)

    def success(self, step: EpisodeStep, journal: Journal) -> None:
        """The resource works again."""
        self.catch_up(journal)
        self.move(Trigger.SUCCEEDED, max(step.ts_ns, self.last_ns))
        self._add_step(step)
        self.add_evidence(step)

    def end(self, journal: Journal, ts_ns: int) -> None:
        """The client or the capture ended."""
        self.catch_up(journal)
        self.move(Trigger.ENDED, max(ts_ns, self.last_ns))

    def hint(self, step: EpisodeStep, leader_id: int) -> None:
        """The error that came before named the leader."""
        self.leader_id = leader_id
        self.reaction_check.on_step(step, is_asked=False)
        if self.trigger is None:
            self.hinted = True
        if step.name not in self.reactions:
            self._add_step(step)
            self.reactions.append(step.name)

    def note_leader(self, report: LeaderReport) -> None:
        """A broker named the leader in Metadata."""
        self.leader_id = report.leader_id
        key = report.server, report.leader_id
        known = self.leader_reports.get(key)
        if known is not None or len(self.leader_reports) < MAX_REPORTS:
            n, first_ns = (0, report.first_ns) if known is None else (known.n, known.first_ns)
            self.leader_reports[key] = report._replace(n=n + report.n, first_ns=first_ns)

    def note(self, step: EpisodeStep) -> None:
        """A step of the story that moves nothing."""
        if step.name not in self._since_error:
            self._since_error.add(step.name)
            self._add_step(step)

    def late_error(self, step: EpisodeStep) -> None:
        """An error that never reached the client: named, and nothing else."""
        name = step.error_name or "UNKNOWN"
        if name not in self.errors:
            self.errors.append(name)
            self._add_step(step)

    def _add_step(self, step: EpisodeStep) -> None:
        if len(self._steps) < FIRST_STEPS:
            self._steps.append(step)
        else:
            self._later.append(step)

    def add_evidence(self, step: EpisodeStep) -> None:
        """The step's request, or connection, is evidence; the last place is for the success."""
        proof = step.request_id or step.conn_id
        most = MAX_EVIDENCE if step.name == "success" else MAX_EVIDENCE - 1
        if proof and len(self.evidence) < most and proof not in self.evidence:
            self.evidence.append(proof)


def _with_duration(step: EpisodeStep, answered_ns: Mapping[str | None, int]) -> EpisodeStep:
    """A retry with the time until its response, where a step of the episode is that response."""
    if step.name != "retry" or step.duration_us is not None or step.request_id not in answered_ns:
        return step
    return step._replace(duration_us=(answered_ns[step.request_id] - step.ts_ns) // 1000)
