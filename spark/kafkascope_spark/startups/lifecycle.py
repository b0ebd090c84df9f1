"""A start of a client instance: from its first SYN to ready, or to what kept it from that.

States: waiting (no connection) → starting (a connection was opened) → ready | failed | gave_up | cut → waiting
(when all its connections were gone). A start is `cut` when the capture begins or ends inside it: no start is made
up for a client that was there before the capture. Memory is bounded by MAX_STEPS per start.
"""

from dataclasses import dataclass, field

from kafkascope_spark import wire
from kafkascope_spark.identity.instances import Instance
from kafkascope_spark.recoveries.reactions import NO_EPISODE
from kafkascope_spark.startups.path import Step, on_critical_path, repeated_steps, step_rows
from kafkascope_spark.startups.steps import ONCE, PHASE_OF_STEP, is_ready_answer, required_steps, step_of, usual_steps
from kafkascope_spark.wire import Connection, Request, Row

MAX_STEPS = 2_000
"""Steps kept of one start: a client that retries for hours in vain tells nothing new after these."""
LAST_STEPS = 3
"""Steps at the end of a start that tell whether it failed: later successes on other brokers are tried in between."""
SILENCE_NS = 30_000_000_000
"""A client with nothing in flight for so long at the end of the capture went silent (three default heartbeat
sessions of 10 s)."""
FATAL = frozenset(
    [
        "SASL_AUTHENTICATION_FAILED",
        "UNSUPPORTED_SASL_MECHANISM",
        "ILLEGAL_SASL_STATE",
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "FENCED_INSTANCE_ID",
        "PRODUCER_FENCED",
        "UNSUPPORTED_VERSION",
        "INVALID_TOPIC_EXCEPTION",
        "INVALID_GROUP_ID",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_SESSION_TIMEOUT",
        "GROUP_MAX_SIZE_REACHED",
        "INVALID_REQUIRED_ACKS",
        "MESSAGE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_TRANSACTION_TIMEOUT",
        "UNSUPPORTED_ASSIGNOR",
    ]
)
"""Errors that no client gets over by trying again."""


@dataclass(slots=True)
class Start:
    """A start in progress."""

    start_ns: int
    seen_whole: bool
    steps: list[Step] = field(default_factory=list)
    conn_ids: set[str] = field(default_factory=set)
    told_ns: int | None = None
    """First Metadata answer: the end of the bootstrap phase."""
    ready: Request | None = None
    done: set[str] = field(default_factory=set)
    fatal: Step | None = None


class Startups:
    """The starts of one instance. Feed it events in order; finish gives what is still open."""

    def __init__(self, instance: Instance, capture_ns: tuple[int, int]) -> None:
        self._instance = instance
        self._capture_ns = capture_ns
        self._start: Start | None = None
        self._settled = False
        self._number = 0
        self._open: set[str] = set()
        self._last_ns = 0
        self._rows: list[tuple[str, Row]] = []
        self._lacks_beginning = _lacks_beginning(instance)

    def on_open(self, connection: Connection) -> None:
        """A connection was opened, or first seen."""
        at = connection.begin_ns
        self._settle(at)
        if self._start is not None and not self._open and at - self._last_ns > SILENCE_NS:
            self._end(self._outcome())
        if self._start is None and (not self._settled or not self._open):
            whole = connection.opened_in_capture and not (self._number == 0 and self._lacks_beginning)
            self._start, self._settled = Start(at, whole), False
        self._open.add(connection.conn_id)
        self._last_ns = max(self._last_ns, at)
        if self._start is not None:
            self._start.conn_ids.add(connection.conn_id)
            if connection.syn_ns is not None:
                self._add(_tcp_connect(connection))

    def on_request(self, request: Request) -> None:
        """A request was sent."""
        self._settle(request.ts_ns)
        self._last_ns = max(self._last_ns, request.ts_ns)
        if self._start is not None:
            for step in self._steps(request):
                self._add(step)

    def on_answer(self, request: Request) -> None:
        """An answer arrived: perhaps the one that makes the client ready."""
        start, at = self._start, request.response_ns
        if start is None or at is None:
            return
        self._last_ns = max(self._last_ns, at)
        if request.api_key == wire.METADATA and start.told_ns is None and request.ok:
            start.told_ns = at
        if start.ready is None and is_ready_answer(request, self._instance.kind):
            start.ready = request

    def on_sent_unasked(self, request: Request) -> None:
        """A Produce with acks=0 was sent: nobody acknowledges it, the client is as ready as it gets."""
        if self._start is not None and self._start.ready is None and is_ready_answer(request, self._instance.kind):
            self._start.ready = request

    def on_close(self, connection: Connection, at: int) -> None:
        """A connection ended."""
        self._settle(at)
        self._open.discard(connection.conn_id)

    def finish(self) -> list[tuple[str, Row]]:
        """End of the capture or of the client: the rows of all starts."""
        self._settle(None)
        if self._start is not None:
            self._end(self._outcome())
        return self._rows

    def _settle(self, now: int | None) -> None:
        """Once time has passed the answer that made the client ready, the start is over."""
        start = self._start
        if start is not None and start.ready is not None and (now is None or now > _ready_ns(start.ready)):
            self._end("ready" if start.seen_whole else "cut")

    def _outcome(self) -> str:
        start = self._start
        assert start is not None
        if not start.seen_whole:
            return "cut"
        if start.fatal is not None:
            return "failed"
        if self._open and self._capture_ns[1] - self._last_ns < SILENCE_NS:
            return "cut"
        if any(_is_failure(s) for s in start.steps[-LAST_STEPS:]):
            return "failed"
        return "gave_up"

    def _steps(self, request: Request) -> list[Step]:
        assert self._start is not None
        name = step_of(request, self._instance.kind)
        if name is None or (name in ONCE and name in self._start.done):
            return []
        if name == "first_produce":
            return _produce_steps(request)
        return [Step.of(name, request)]

    def _add(self, step: Step) -> None:
        start = self._start
        assert start is not None
        if len(start.steps) >= MAX_STEPS:
            return
        start.done.add(step.name)
        start.steps.append(step)
        if step.error_name in FATAL and step.name != "api_versions":
            start.fatal = start.fatal or step

    def _end(self, outcome: str) -> None:
        start = self._start
        assert start is not None
        self._number += 1
        self._start, self._settled = None, True
        startup_id = f"{self._instance.instance_id}-{self._number}"
        ready_ns = _ready_ns(start.ready) if start.ready is not None and outcome == "ready" else None
        steps = _until(start.steps, ready_ns)
        path = on_critical_path(steps, start.start_ns, start.ready.request_id) if start.ready and ready_ns else {}
        self._rows.append(("startups", self._row(start, (startup_id, outcome, ready_ns), (steps, path))))
        phases = [_phase(s, start.told_ns) for s in steps]
        self._rows += [("startup_steps", r) for r in step_rows(startup_id, start.start_ns, steps, path, phases)]

    def _row(
        self, start: Start, told: tuple[str, str, int | None], told_steps: tuple[list[Step], dict[int, int]]
    ) -> Row:
        startup_id, outcome, ready_ns = told
        steps, path = told_steps
        names = [s.name for s in steps]
        bad = start.fatal or next((s for s in reversed(steps) if _is_failure(s)), None)
        failed = bad if outcome == "failed" else None
        whole = outcome == "ready"
        kind = self._instance.kind
        return {
            "startup_id": startup_id,
            "client_instance_id": self._instance.instance_id,
            "start_no": self._number,
            "start_ns": start.start_ns,
            "ready_ns": ready_ns,
            "total_ms": (ready_ns - start.start_ns) // 1_000_000 if ready_ns is not None else None,
            "outcome": outcome,
            "failed_step": failed.name if failed else None,
            "error_name": failed.error_name if failed else None,
            "critical_path": [steps[i].name for i in sorted(path)],
            "missing_steps": [s for s in required_steps(kind) if s not in names] if whole else [],
            "extra_steps": sorted(set(names) - usual_steps(kind)) if whole else [],
            "repeated_steps": repeated_steps(steps),
            "n_connections": len({s.conn_id for s in steps} | (start.conn_ids if not whole else set())),
            "evidence": _evidence(start, failed),
        }


def _is_failure(step: Step) -> bool:
    """Whether the step failed; an unanswered poll or rebalance at the end is a client that left while it waited."""
    if step.outcome == "unanswered":
        return PHASE_OF_STEP.get(step.name, "direct") in ("direct", "discovery") or step.name == "init_producer_id"
    return step.outcome != "ok" and step.error_name not in NO_EPISODE


def _lacks_beginning(instance: Instance) -> bool:
    """Whether the instance ran before the capture: a connection whose opening is not in it, or a counter that is
    already far."""
    spoken = [c for c in instance.connections if c.n_requests]
    if any(not c.opened_in_capture for c in spoken):
        return True
    firsts = [c.ids[0][1] for c in spoken if c.ids]
    return bool(firsts) and min(firsts) > MAX_FIRST_ID


MAX_FIRST_ID = 16
"""A client that starts sends its first request with the id 0 or 1; Java takes a few ids for requests that wait for
their connection."""


def _ready_ns(request: Request) -> int:
    return request.response_ns if request.response_ns is not None else request.request_last_ns


def _until(steps: list[Step], ready_ns: int | None) -> list[Step]:
    """In order of time, with attempts counted; without what began after ready."""
    kept = sorted((s for s in steps if ready_ns is None or s.start_ns < ready_ns), key=lambda s: (s.start_ns, s.tie))
    tries: dict[tuple[str, str], int] = {}
    for step in kept:
        key = (step.name, step.subject or step.conn_id)
        tries[key] = step.attempt = tries.get(key, 0) + 1
    return kept


def _phase(step: Step, told_ns: int | None) -> str:
    if told_ns is None or step.start_ns < told_ns:
        return "bootstrap"
    return PHASE_OF_STEP.get(step.name, "direct")


def _evidence(start: Start, failed: Step | None) -> list[str]:
    if start.ready is not None:
        return [start.ready.request_id]
    return failed.request_ids or [failed.conn_id] if failed else []


def _tcp_connect(connection: Connection) -> Step:
    assert connection.syn_ns is not None
    up = connection.up_ns
    refused = connection.close_kind == "refused"
    end = up if up is not None else connection.close_ns if connection.close_ns is not None else connection.last_ns
    return Step(
        name="tcp_connect",
        tie=connection.conn_id,
        conn_id=connection.conn_id,
        node_id=connection.node_id,
        start_ns=connection.syn_ns,
        end_ns=max(end, connection.syn_ns),
        broker_us=None,
        subject=connection.server,
        outcome="ok" if up is not None and not refused else "error" if refused else "unanswered",
        error_name="CONNECTION_REFUSED" if refused else None if up is not None else "CONNECTION_UNANSWERED",
        request_ids=[],
    )


def _produce_steps(request: Request) -> list[Step]:
    """The first Produce, and apart from it the broker's answer."""
    step = Step.of("first_produce", request)
    if not request.ok:
        return [step]
    step.broker_us = None
    ack = Step.of("first_produce_ack", request)
    step.end_ns = ack.start_ns = request.request_last_ns
    ack.tie += "+"
    return [step, ack] if request.response_ns is not None else [step]
