"""`Episode`: an open episode with its state, its costs and its steps. Memory is bounded: only the first and last steps,
the times of the last few errors and the first pieces of evidence are kept.
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
"""Number of steps that are kept from the begin and the end of an episode; others are dropped."""
MAX_EVIDENCE = 10
MAX_REPORTS = 32
STORM_ERRORS, STORM_NS, STORM_TOTAL = 10, 1_000_000_000, 50
"""A storm has more than 10 errors in one second, or more than 50 in one episode."""
BACKOFF_NS = 10_000_000
"""Shortest pause before the next step that is reported as back-off."""
SOON_NS = 2_000_000_000
"""A Metadata request within this time of an error was caused by it."""
TIMED_STEPS = frozenset({"metadata", "find_coordinator", "reconnect", "authenticate", "join_group", "retry"})
"""Steps of which an episode keeps the time of the first."""
NO_NODE_APIS = frozenset({METADATA, FIND_COORDINATOR})
"""APIs whose responding node is not the node that the response is about."""


@dataclass(slots=True)
class Episode:
    """An open episode. It begins with its first error (`error`)."""

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
    """Time of the last change of its state."""
    last_error_ns: int = 0
    last_error: str = ""
    is_fast: bool = False
    """Whether its errors came faster than a client's back-off allows."""
    is_fatal: bool = False
    times: dict[str, int] = field(default_factory=dict)
    """Step of TIMED_STEPS -> time of the first one."""
    reactions: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    n_wasted: int = 0
    n_lookups: int = 0
    """Number of FindCoordinator responses after which the coordinator still did not work."""
    n_to_old: int = 0
    old_until_ns: int | None = None
    old_node_id: int | None = None
    trigger: RefreshTrigger | None = None
    hinted: bool = False
    leader_id: int | None = None
    """Leader of the topic-partition in responses since the first error."""
    leader_reports: dict[tuple[str, int], LeaderReport] = field(default_factory=dict)
    """Reports of leaders since the first error, by server and leader; at most MAX_REPORTS."""
    lost_ns: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LOST, 0))
    _recent: deque[int] = field(default_factory=lambda: deque(maxlen=STORM_ERRORS + 1))
    _steps: list[EpisodeStep] = field(default_factory=list)
    _later: deque[EpisodeStep] = field(default_factory=lambda: deque(maxlen=LAST_STEPS))
    _since_error: set[str] = field(default_factory=set)
    _last_request: str | None = None
    _tried: str | None = None

    @property
    def steps(self) -> list[EpisodeStep]:
        """Returns its steps in order of time; if there are many, the first and the last ones. A retry whose response is
        another step of the episode lasts until that step."""
        steps = [*self._steps, *self._later]
        answered = (step for step in steps if step.name in ("error", "success") and step.request_id is not None)
        answered_ns = {step.request_id: step.ts_ns for step in answered}
        return sorted((_with_duration(step, answered_ns) for step in steps), key=lambda step: step.ts_ns)

    @property
    def storm(self) -> bool:
        """Whether the episode is a storm."""
        return self.is_fast or max(self.n_errors, self.n_lookups) > STORM_TOTAL

    def move(self, trigger: Trigger, ts_ns: int) -> None:
        """Changes the state, and adds the time since the last change to the party that is responsible for it."""
        if self.state is not State.WELL and ts_ns > self.last_ns:
            self.lost_ns[loser_of(self.state, self.reaction)] += ts_ns - self.last_ns
            self.last_ns = ts_ns
        elif self.state is State.WELL:
            self.last_ns = ts_ns
        self.state = TRANSITIONS[self.state, trigger]

    def error(self, step: EpisodeStep, reaction: Reaction, journal: Journal) -> None:
        """Adds an error on the resource."""
        self.catch_up(journal)
        if self.state is not State.WELL and step.duration_us is not None and step.request_id != self._tried:
            self._try(
                EpisodeStep(
                    "retry",
                    _sent_ns(step),
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
        if not self._recent or _sent_ns(step) >= self._recent[-1]:
            self._recent.append(step.ts_ns)  # requests on their way before the error before came are no further tries
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
        """Adds a run of repeated errors on one connection. step: the last of them.

        It is added at the time of the last error. The journal already contains what the client did on other connections
        in between.
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
        is_again = run.last_sent_ns >= run.ts_ns  # else all were on their way before the first error came
        is_quick = (run.last_ns - run.ts_ns) * STORM_ERRORS <= STORM_NS * (run.n - 1)
        self.is_fast = self.is_fast or (is_again and is_quick)
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
        """Divides the time of a run: the time between request and response counts for the broker, the time between
        requests for the state after an error."""
        begin = min(run.ts_ns, run.last_ns) if self.state is State.WELL else self.last_ns
        passed = max(0, run.last_ns - begin)
        trying = min(passed, 1000 * (run.waited_us or 0))
        self.lost_ns[loser_of(State.TRYING, reaction)] += trying
        self.lost_ns[loser_of(State.WAITING, reaction)] += passed - trying
        self.last_ns = max(self.last_ns, run.last_ns)
        self.state = State.WAITING

    def catch_up(self, journal: Journal) -> None:
        """Processes the journal entries since this episode's last event."""
        if self.read == journal.end:
            return
        for trigger, step in journal.since(self.read):
            self.react(trigger, step)
        self.read = journal.end

    def react(self, trigger: Trigger, step: EpisodeStep) -> None:
        """Handles a reaction of the client: one step of each name is kept after each error."""
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
        newest_ns = max(self.last_error_ns, self.first.ts_ns)
        return "error" if self.first.ts_ns <= asked_ns <= newest_ns + SOON_NS else "age"

    def retry(self, step: EpisodeStep, journal: Journal) -> None:
        """Handles a request on the resource."""
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
        """Ends the episode because the resource works again."""
        self.catch_up(journal)
        self.move(Trigger.SUCCEEDED, max(step.ts_ns, self.last_ns))
        self._add_step(step)
        self.add_evidence(step)

    def end(self, journal: Journal, ts_ns: int) -> None:
        """Ends the episode because the client or the capture ended."""
        self.catch_up(journal)
        self.move(Trigger.ENDED, max(ts_ns, self.last_ns))

    def hint(self, step: EpisodeStep, leader_id: int) -> None:
        """Handles the leader in an error response."""
        self.leader_id = leader_id
        self.reaction_check.on_step(step, is_asked=False)
        if self.trigger is None:
            self.hinted = True
        if step.name not in self.reactions:
            self._add_step(step)
            self.reactions.append(step.name)

    def note_leader(self, report: LeaderReport) -> None:
        """Records a leader in a Metadata response."""
        self.leader_id = report.leader_id
        key = report.server, report.leader_id
        known = self.leader_reports.get(key)
        if known is not None or len(self.leader_reports) < MAX_REPORTS:
            n, first_ns = (0, report.first_ns) if known is None else (known.n, known.first_ns)
            self.leader_reports[key] = report._replace(n=n + report.n, first_ns=first_ns)

    def note(self, step: EpisodeStep) -> None:
        """Adds a step that does not change the state."""
        if step.name not in self._since_error:
            self._since_error.add(step.name)
            self._add_step(step)

    def late_error(self, step: EpisodeStep) -> None:
        """Adds an error that never reached the client; it only appears in the steps and the error names."""
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
        """Adds the step's request, or connection, as evidence; the last place is reserved for the success."""
        proof = step.request_id or step.conn_id
        most = MAX_EVIDENCE if step.name == "success" else MAX_EVIDENCE - 1
        if proof and len(self.evidence) < most and proof not in self.evidence:
            self.evidence.append(proof)


def _with_duration(step: EpisodeStep, answered_ns: Mapping[str | None, int]) -> EpisodeStep:
    """Returns a retry with the time until its response, if the response is a step of the episode."""
    if step.name != "retry" or step.duration_us is not None or step.request_id not in answered_ns:
        return step
    return step._replace(duration_us=(answered_ns[step.request_id] - step.ts_ns) // 1000)


def _sent_ns(step: EpisodeStep) -> int:
    """Returns when the request of an error was sent; the time of the error if that is not known."""
    return step.ts_ns - 1000 * (step.duration_us or 0)
