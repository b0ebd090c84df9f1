"""The chain of steps that made a start's total, and the rows of its steps.

The chain is walked back from the step that made the client ready: before each step stands the one that ended last
before it began; what lies between is waiting. Chain and waits cover start to ready without a hole or an overlap,
so their durations add up to the total, to the microsecond.
"""

import bisect

from kafkascope_spark.startups.steps import BROKER_WHY, EXPECTED_ERRORS, MANIFOLD, Step
from kafkascope_spark.wire import Row


def number_attempts(steps: list[Step]) -> None:
    """Fill `attempt`, steps in order of their start: one more after each try of the same thing (Step.counted_by),
    of what is MANIFOLD after each that failed since the last success."""
    last: dict[tuple[str, str], Step] = {}
    for step in steps:
        before = last.get(step.counted_by)
        again = before is not None and (before.failed or step.name not in MANIFOLD)
        step.attempt = before.attempt + 1 if before is not None and again else 1
        last[step.counted_by] = step


def repeated_steps(steps: list[Step]) -> list[str]:
    """Names of the steps that were taken again, sorted; a JoinGroup that was told its member id is no repetition."""
    last: dict[tuple[str, str], Step] = {}
    repeated = set()
    for step in steps:
        before = last.get(step.counted_by)
        last[step.counted_by] = step
        if before is None or before.error_name in EXPECTED_ERRORS:
            continue
        if before.failed or step.name not in MANIFOLD:
            repeated.add(step.name)
    return sorted(repeated)


def on_critical_path(steps: list[Step], start_ns: int, ready_request_id: str) -> dict[int, int]:
    """Index of each step of the chain -> end of the step before it (start_ns for the first); steps are in order of
    their start."""
    mine = [i for i, s in enumerate(steps) if ready_request_id in s.request_ids]
    if not mine:
        return {}
    by_end = sorted((s.end_ns, i) for i, s in enumerate(steps))
    chain: dict[int, int] = {}
    at, limit = mine[-1], len(by_end)
    while True:
        limit = min(limit, bisect.bisect_right(by_end, (steps[at].start_ns, len(steps)))) - 1
        while limit >= 0 and (by_end[limit][1] == at or by_end[limit][1] in chain):
            limit -= 1
        if limit < 0:
            chain[at] = start_ns
            return chain
        chain[at], at = by_end[limit]


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
                "broker_why": None if broker_us is None else BROKER_WHY.get(step.name, "work"),
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


def _wait_why(step: Step, steps: list[Step], before: int | None) -> str:
    """What the client waited for before the step: back-off after a failure, records that were not there, or nothing
    that the wire shows (poll not called, nothing to send)."""
    if step.attempt > 1 or (before is not None and steps[before].failed and not _is_expected(steps[before])):
        return "backoff"
    polled = before is not None and steps[before].name == "first_fetch" and steps[before].conn_id == step.conn_id
    return "no_records" if polled and step.name == "first_records" else "client"


def _is_expected(step: Step) -> bool:
    return step.error_name in EXPECTED_ERRORS
