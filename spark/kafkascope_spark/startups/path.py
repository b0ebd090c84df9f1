"""The chain of steps that made a start's total, and the rows of its steps.

The chain is walked back from the step that made the client ready: before each step stands the one that ended last
before it began, of those that it can depend on; what lies between is waiting. Chain and waits cover start to ready
without a hole or an overlap, so their durations add up to the total, to the microsecond.
"""

import bisect

from kafkascope_spark.startups.steps import BROKER_WHY, MANIFOLD, OPENING, Step
from kafkascope_spark.wire import Row


def number_attempts(steps: list[Step]) -> None:
    """Fill `attempt` and `after_failure`, steps in order of their start: one more after each try of the same thing
    (Step.counted_by), of what is MANIFOLD after each that failed since the last success."""
    last: dict[tuple[str, str], Step] = {}
    for step in steps:
        what = step.counted_by
        before = last.get(what)
        last[what] = step
        if before is not None and (before.failed or step.name not in MANIFOLD):
            step.attempt = before.attempt + 1
        step.after_failure = before is not None and before.failed and not before.is_told


def repeated_steps(steps: list[Step], usual: frozenset[str] = frozenset()) -> list[str]:
    """Names of the steps that were taken again, sorted, but for what such a client usually takes again; a JoinGroup
    that was told its member id is no repetition."""
    last: dict[tuple[str, str], Step] = {}
    repeated = set()
    for step in steps:
        what = step.counted_by
        before = last.get(what)
        last[what] = step
        if before is None or before.is_told or (step.name in usual and not before.failed):
            continue
        if before.failed or step.name not in MANIFOLD:
            repeated.add(step.name)
    return sorted(repeated)


def on_critical_path(steps: list[Step], start_ns: int, ready_request_id: str) -> dict[int, int]:
    """Index of each step of the chain -> end of the step before it (start_ns for the first); steps are in order of
    their start. Names looked up before the first SYN are no part of it."""
    mine = [i for i, s in enumerate(steps) if ready_request_id in s.request_ids]
    if not mine:
        return {}
    by_end = sorted((s.end_ns, i) for i, s in enumerate(steps))
    early = {i for i, s in enumerate(steps) if s.start_ns < start_ns}
    chain: dict[int, int] = {}
    at = mine[-1]
    while True:
        chain[at] = start_ns
        before = _before(steps, by_end, at, {*chain, *early})
        if before is None:
            return chain
        chain[at], at = steps[before].end_ns, before


def _before(steps: list[Step], by_end: list[tuple[int, int]], at: int, without: set[int]) -> int | None:
    """Index of the step that ended last before the step at began, of those that it can depend on."""
    place = bisect.bisect_right(by_end, (steps[at].start_ns, len(steps)))
    while place > 0:
        place -= 1
        other = by_end[place][1]
        if other not in without and _may_depend(steps[at], steps[other]):
            return other
    return None


def _may_depend(step: Step, other: Step) -> bool:
    """What opens a connection follows what went before on it; anything else follows any answer, but not the opening
    of another connection, unless that failed."""
    if step.conn_id == other.conn_id:
        return True
    if step.name in OPENING and step.name != "tcp_connect":
        return False
    return other.failed or other.name not in OPENING


def total_us(start_ns: int, ready_ns: int) -> int:
    """What the chain adds up to."""
    return (ready_ns - start_ns) // 1000


def step_rows(startup_id: str, start_ns: int, steps: list[Step], path: dict[int, int], phases: list[str]) -> list[Row]:
    """Rows of `startup_steps`. Microseconds are differences of times rounded since the start, so that they add up
    exactly."""
    rows = []
    busy_until = start_ns
    ended: dict[int, int] = {}
    for i, step in enumerate(steps):
        before = path.get(i, min(busy_until, step.start_ns))
        busy_until = max(busy_until, step.end_ns)
        duration_us = (step.end_ns - start_ns) // 1000 - (step.start_ns - start_ns) // 1000
        wait_us = (step.start_ns - start_ns) // 1000 - (before - start_ns) // 1000
        broker_us = None if step.broker_us is None else max(0, min(step.broker_us, duration_us))
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
                "duration_us": duration_us,
                "broker_us": broker_us,
                "broker_why": None if broker_us is None else _broker_why(step),
                "network_us": duration_us - (broker_us or 0),
                "wait_us": wait_us,
                "wait_why": _wait_why(step, steps, ended.get(before)) if wait_us else None,
                "attempt": step.attempt,
                "outcome": step.outcome,
                "error_name": step.error_name,
                "on_critical_path": i in path,
                "request_ids": step.request_ids,
            }
        )
        ended[step.end_ns] = i
    return rows


def _broker_why(step: Step) -> str:
    return "work" if step.failed else BROKER_WHY.get(step.name, "work")


def _wait_why(step: Step, steps: list[Step], before: int | None) -> str:
    """What the client waited for before the step: back-off after a failure, records that were not there, or nothing
    that the wire shows (poll not called, nothing to send)."""
    if step.after_failure or (before is not None and steps[before].failed and not steps[before].is_told):
        return "backoff"
    polled = before is not None and steps[before].name == "first_fetch" and steps[before].conn_id == step.conn_id
    return "no_records" if polled and step.name == "first_records" else "client"
