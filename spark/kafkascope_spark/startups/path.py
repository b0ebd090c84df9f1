"""Steps of a start, and the chain of them that made its total.

The chain is walked back from the step that made the client ready: before each step stands the one that ended last
before it began; what lies between is waiting. Chain and waits cover start to ready without a hole or an overlap,
so their durations add up to the total, to the microsecond.
"""

from dataclasses import dataclass, field

from kafkascope_spark.wire import Request, Row


@dataclass(slots=True)
class Step:
    """A step of a start."""

    name: str
    tie: str
    conn_id: str
    node_id: int | None
    start_ns: int
    end_ns: int
    broker_us: int | None
    subject: str | None
    outcome: str
    error_name: str | None
    request_ids: list[str] = field(default_factory=list)
    attempt: int = 1

    @classmethod
    def of(cls, name: str, request: Request) -> "Step":
        """The step that a request is."""
        end = request.response_ns if request.response_ns is not None else request.request_last_ns
        error = request.error_name if request.error_code else None
        outcome = "error" if error else "ok" if request.status in ("ok", "no_response_expected") else "unanswered"
        return cls(
            name=name,
            tie=request.request_id,
            conn_id=request.conn_id,
            node_id=request.node_id,
            start_ns=request.ts_ns,
            end_ns=max(end, request.ts_ns),
            broker_us=request.latency_us,
            subject=request.coordinator_key or request.group_id or request.transactional_id or request.sasl_mechanism,
            outcome=outcome,
            error_name=error,
            request_ids=[request.request_id],
        )


MANIFOLD = frozenset(
    {
        "tcp_connect",
        "tls_handshake",
        "api_versions",
        "metadata",
        "list_offsets",
        "offset_for_leader_epoch",
        "first_fetch",
    }
)
"""Steps that a client takes once for each connection, broker or partition: taking them again means something only
after a failure."""


def repeated_steps(steps: list[Step]) -> list[str]:
    """Names of the steps that were taken again on one subject; a JoinGroup that was told its member id is no
    repetition."""
    last: dict[tuple[str, str], Step] = {}
    repeated = set()
    for step in steps:
        key = (step.name, step.subject or step.conn_id)
        before = last.get(key)
        last[key] = step
        if before is None or before.error_name == "MEMBER_ID_REQUIRED":
            continue
        if step.name not in MANIFOLD or before.outcome != "ok":
            repeated.add(step.name)
    return sorted(repeated)


def on_critical_path(steps: list[Step], start_ns: int, ready_request_id: str) -> dict[int, int]:
    """Index of each step of the chain -> end of the step before it (start_ns for the first); steps are in order of
    their start."""
    mine = [i for i, s in enumerate(steps) if ready_request_id in s.request_ids]
    if not mine:
        return {}
    by_end = sorted(range(len(steps)), key=lambda i: (steps[i].end_ns, i))
    chain: dict[int, int] = {}
    at = mine[-1]
    limit = len(by_end)
    while True:
        limit = _last_ended(steps, by_end[:limit], at)
        if limit < 0:
            chain[at] = start_ns
            return chain
        chain[at] = steps[by_end[limit]].end_ns
        at = by_end[limit]


def _last_ended(steps: list[Step], by_end: list[int], at: int) -> int:
    """Place in by_end of the step that ended last before the step at began; -1 when there is none."""
    for place in range(len(by_end) - 1, -1, -1):
        other = by_end[place]
        if other != at and steps[other].end_ns <= steps[at].start_ns and steps[other].outcome != "cut":
            return place
    return -1


def step_rows(startup_id: str, start_ns: int, steps: list[Step], path: dict[int, int], phases: list[str]) -> list[Row]:
    """Rows of `startup_steps`. Microseconds are differences of times rounded since the start, so that they add up
    exactly."""
    rows = []
    busy_until = start_ns
    for i, step in enumerate(steps):
        before = path.get(i, min(busy_until, step.start_ns))
        busy_until = max(busy_until, step.end_ns)
        rows.append(
            {
                "startup_id": startup_id,
                "seq": i + 1,
                "phase": phases[i],
                "step": step.name,
                "subject": step.subject,
                "conn_id": step.conn_id,
                "node_id": step.node_id,
                "start_ns": step.start_ns,
                "end_ns": step.end_ns,
                "duration_us": (step.end_ns - start_ns) // 1000 - (step.start_ns - start_ns) // 1000,
                "broker_us": step.broker_us,
                "wait_us": (step.start_ns - start_ns) // 1000 - (before - start_ns) // 1000,
                "attempt": step.attempt,
                "outcome": step.outcome,
                "error_name": step.error_name,
                "on_critical_path": i in path,
                "request_ids": step.request_ids,
            }
        )
    return rows
