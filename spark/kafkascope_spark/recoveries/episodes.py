"""Episodes of one client instance: from the first error on a resource to the next success on it.

(state, event) → state: (none, error) → open; (open, error) → open; (open, success) → recovered; (open, end of
client or capture) → fatal | gave_up | wrong_reaction | still_open. Memory is bounded: MAX_OPEN episodes at a
time, MAX_STEPS steps of each.
"""

import hashlib
from collections import deque
from dataclasses import dataclass, field

from kafkascope_spark.identity.instances import Instance
from kafkascope_spark.recoveries.reactions import reaction_to
from kafkascope_spark.recoveries.resources import Resource
from kafkascope_spark.wire import Row

MAX_STEPS = 100
"""Steps kept of one episode; what comes later is counted only."""
MAX_OPEN = 10_000
"""Episodes open at one time in one instance: more topic-partitions than a broker should lead."""
MAX_EVIDENCE = 10
STORM_ERRORS, STORM_NS, STORM_TOTAL = 10, 1_000_000_000, 50
"""More than 10 errors in one second, or more than 50 in one episode."""
BROKER_SETTLES_MS = 5_000
"""Brokers learn of new leaders, deleted topics and each other by errors (AbstractFetcherThread): what passes within
this time is their normal course."""
FIRST_TIMES = {
    "metadata": "refreshed_ns",
    "find_coordinator": "rediscovered_ns",
    "reconnect": "reconnected_ns",
    "join_group": "rejoined_ns",
    "heartbeat_join": "rejoined_ns",
    "retry": "retried_ns",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened: step name, when, where, and the request that proves it."""

    step: str
    ts_ns: int
    conn_id: str | None = None
    node_id: int | None = None
    request_id: str | None = None
    duration_us: int | None = None
    error_name: str | None = None


@dataclass(slots=True)
class Episode:
    """An open episode."""

    resource: Resource
    api_key: int | None
    number: int
    first: Mark
    errors: list[str] = field(default_factory=list)
    n_errors: int = 0
    last_ns: int = 0
    storm: bool = False
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=STORM_ERRORS + 1))
    times: dict[str, int] = field(default_factory=dict)
    steps: list[Mark] = field(default_factory=list)
    since_error: list[str] = field(default_factory=list)
    reactions: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    requests: set[str] = field(default_factory=set)
    n_wasted: int = 0
    n_retries: int = 0
    old_node_id: int | None = None

    def error(self, mark: Mark) -> None:
        """Another error on the resource."""
        name = mark.error_name or "UNKNOWN"
        self.n_errors += 1
        self.last_ns = mark.ts_ns
        if name not in self.errors:
            self.errors.append(name)
        self.recent.append(mark.ts_ns)
        if len(self.recent) > STORM_ERRORS and mark.ts_ns - self.recent[0] <= STORM_NS:
            self.storm = True
        self.storm = self.storm or self.n_errors > STORM_TOTAL
        if mark.request_id is None or mark.request_id not in self.requests:
            self.n_wasted += mark.request_id is not None
        if mark.request_id is not None and len(self.requests) < MAX_STEPS:
            self.requests.add(mark.request_id)
        if self.old_node_id is None:
            self.old_node_id = mark.node_id
        self._prove(mark)
        self.since_error = []
        self._step(mark)

    def react(self, mark: Mark) -> None:
        """The client did something while the episode was open: once per step after each error."""
        column = FIRST_TIMES.get(mark.step)
        if column:
            self.times.setdefault(column, mark.ts_ns)
        step = "heartbeat" if mark.step == "heartbeat_join" else mark.step
        if step == "retry":
            self.n_retries += 1
        if step in self.since_error:
            return
        self.since_error.append(step)
        if step not in self.reactions:
            self.reactions.append(step)
        self._step(
            Mark(step, mark.ts_ns, mark.conn_id, mark.node_id, mark.request_id, mark.duration_us, mark.error_name)
        )

    def _step(self, mark: Mark) -> None:
        if len(self.steps) < MAX_STEPS:
            self.steps.append(mark)

    def _prove(self, mark: Mark) -> None:
        proof = mark.request_id or mark.conn_id
        if proof and len(self.evidence) < MAX_EVIDENCE and proof not in self.evidence:
            self.evidence.append(proof)


class Episodes:
    """The open episodes of one instance; ended ones become rows."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._open: dict[Resource, Episode] = {}
        self._numbers: dict[Resource, int] = {}
        self._rows: list[tuple[str, Row]] = []

    def __bool__(self) -> bool:
        return bool(self._open)

    def is_open(self, resource: Resource) -> bool:
        """Whether there is an episode of the resource."""
        return resource in self._open

    def error(self, resource: Resource, mark: Mark, api_key: int | None = None) -> None:
        """An error on the resource."""
        episode = self._open.get(resource)
        if episode is None:
            if len(self._open) >= MAX_OPEN:
                return
            number = self._numbers[resource] = self._numbers.get(resource, 0) + 1
            episode = self._open[resource] = Episode(resource, api_key, number, mark)
        episode.error(mark)

    def react(self, mark: Mark, only: Resource | None = None) -> None:
        """The client did something: a step of every open episode, or of one."""
        if only is not None:
            if only in self._open:
                self._open[only].react(mark)
            return
        for episode in self._open.values():
            episode.react(mark)

    def success(self, resource: Resource, mark: Mark) -> None:
        """The resource works again."""
        episode = self._open.pop(resource, None)
        if episode is not None:
            episode._step(mark)
            episode._prove(mark)
            self._write(episode, "recovered", mark)

    def _is_brokers_course(self, episode: Episode) -> bool:
        if self._instance.kind.kind != "broker" or episode.resource[0] in ("connection", "authentication"):
            return False
        return episode.last_ns - episode.first.ts_ns < BROKER_SETTLES_MS * 1_000_000

    def of_kind(self, kind: str) -> list[Episode]:
        """The open episodes of a kind of resource."""
        return [e for e in self._open.values() if e.resource[0] == kind]

    def finish(self, alive: bool) -> list[tuple[str, Row]]:
        """End of the capture (alive) or of the client."""
        for episode in list(self._open.values()):
            self._write(episode, _outcome(episode, alive), None)
        self._open = {}
        return self._rows

    def _write(self, episode: Episode, outcome: str, end: Mark | None) -> None:
        if self._is_brokers_course(episode):
            return
        kind, name = episode.resource
        recovery_id = _digest("rec", self._instance.instance_id, kind, name, str(episode.number))
        start = episode.first.ts_ns
        reaction = reaction_to(episode.errors[0])
        row: Row = {
            "recovery_id": recovery_id,
            "client_instance_id": self._instance.instance_id,
            "cause_id": None,
            "resource_kind": kind,
            "resource": name,
            "first_error_name": episode.errors[0],
            "error_names": episode.errors,
            "n_errors": episode.n_errors,
            "expected_reaction": reaction.text,
            "reaction": ", ".join(episode.reactions) or "none",
            "outcome": outcome,
            "storm": episode.storm,
            "start_ns": start,
            **{column: episode.times.get(column) for column in dict.fromkeys(FIRST_TIMES.values())},
            "recovered_ns": end.ts_ns if end else None,
            "time_to_recover_ms": (end.ts_ns - start) // 1_000_000 if end else None,
            "n_wasted_requests": episode.n_wasted,
            "old_node_id": episode.old_node_id,
            "new_node_id": end.node_id if end and not (kind == "partition" and "-" not in name) else None,
            "evidence": episode.evidence,
        }
        self._rows.append(("recoveries", row))
        self._rows += [("recovery_steps", _step_row(recovery_id, i, s)) for i, s in enumerate(episode.steps, 1)]


def _outcome(episode: Episode, alive: bool) -> str:
    reaction = reaction_to(episode.errors[0])
    reacted = set(episode.reactions)
    if any(reaction_to(e).fatal for e in episode.errors):
        return "fatal"
    others = reaction.expected - {"retry"}
    if episode.n_retries > 2 and others and not reacted & others and episode.resource[0] != "connection":
        return "wrong_reaction"
    if reacted & reaction.forbidden and "retry" not in reacted:
        return "wrong_reaction"
    return "still_open" if alive else "gave_up"


def _step_row(recovery_id: str, seq: int, mark: Mark) -> Row:
    return {
        "recovery_id": recovery_id,
        "seq": seq,
        "step": mark.step,
        "conn_id": mark.conn_id,
        "node_id": mark.node_id,
        "ts_ns": mark.ts_ns,
        "duration_us": mark.duration_us,
        "request_id": mark.request_id,
        "error_name": mark.error_name,
    }


def _digest(prefix: str, *parts: str) -> str:
    return f"{prefix}-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:16]}"
