"""The critical path of a start, and the rows of its steps.

The critical path is followed back from the step that made the client ready. The predecessor of a step is the one that
ended last before it began, among the steps on which it can depend; the time between the two is waiting. Steps and waits
of the path cover the time from start to ready without a gap or an overlap, so that their durations add up to the total
to the microsecond.
"""

import bisect

from kafkascope_spark.stories.startups.steps import BROKER_WHY, OPENING, REPEATABLE, Step
from kafkascope_spark.stories.startups.table import BrokerWhy, Phase, StartupStepRow, WaitWhy


def number_attempts(steps: list[Step]) -> None:
    """Sets `attempt` and `after_failure` of the steps, which are in order of their start.

    The number grows with each step of the same attempt_key; for a REPEATABLE step only after one that failed.
    """
    last: dict[tuple[str, str], Step] = {}
    for step in steps:
        what = step.attempt_key
        before = last.get(what)
        last[what] = step
        if before is not None and (before.failed or step.name not in REPEATABLE):
            step.attempt = before.attempt + 1
        step.after_failure = before is not None and before.failed and not before.is_informed


def repeated_steps(steps: list[Step], usual: frozenset[str] = frozenset()) -> list[str]:
    """Names of the steps that were repeated, sorted.

    usual: steps that the client's library repeats without a failure. A JoinGroup with the member id that the response
    before assigned is no repetition.
    """
    last: dict[tuple[str, str], Step] = {}
    repeated = set()
    for step in steps:
        what = step.attempt_key
        before = last.get(what)
        last[what] = step
        if before is None or before.is_informed or (step.name in usual and not before.failed):
            continue
        if before.failed or step.name not in REPEATABLE:
            repeated.add(step.name)
    return sorted(repeated)


def on_critical_path(steps: list[Step], start_ns: int, ready_request_id: str) -> dict[int, int]:
    """Index of each step of the critical path -> end of the step before it (start_ns for the first).

    Steps are in order of their start. DNS look-ups before the first SYN are not part of the path.
    """
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
    """Index of the step that ended last before the step `at` began, among those on which it can depend."""
    place = bisect.bisect_right(by_end, (steps[at].start_ns, len(steps)))
    while place > 0:
        place -= 1
        other = by_end[place][1]
        if other not in without and _may_depend(steps[at], steps[other]):
            return other
    return None


def _may_depend(step: Step, other: Step) -> bool:
    """Whether the step can depend on the other one.

    A step that opens a connection depends on earlier steps of that connection. Any other step depends on any response,
    and on the opening of another connection only if that failed.
    """
    if step.conn_id == other.conn_id:
        return True
    if step.name in OPENING and step.name != "tcp_connect":
        return False
    return other.failed or other.name not in OPENING


def total_us(start_ns: int, ready_ns: int) -> int:
    """The sum of the critical path in microseconds."""
    return (ready_ns - start_ns) // 1000


def step_rows(
    startup_id: str, start_ns: int, steps: list[Step], path: dict[int, int], phases: list[Phase]
) -> list[StartupStepRow]:
    """Rows of `startup_steps`. Microseconds are differences of times that are rounded relative to the start, so that
    they add up exactly. The rows are filled by position: by name it takes three times as long."""
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
            StartupStepRow(
                startup_id,
                i + 1,
                phases[i],
                step.name,
                step.subject,
                step.conn_id,
                step.node_id,
                step.start_ns,
                step.end_ns,
                duration_us,
                broker_us,
                None if broker_us is None else _broker_why(step),
                duration_us - (broker_us or 0),
                wait_us,
                _wait_why(step, steps, ended.get(before)) if wait_us else None,
                step.attempt,
                step.outcome,
                step.error_name,
                i in path,
                step.request_ids,
            )
        )
        ended[step.end_ns] = i
    return rows


def _broker_why(step: Step) -> BrokerWhy:
    return "work" if step.failed else BROKER_WHY.get(step.name, "work")


def _wait_why(step: Step, steps: list[Step], before: int | None) -> WaitWhy:
    """Why the client waited before the step: back-off after a failure, no records to read, or a reason inside the
    client that packets do not show (poll not called, nothing to send)."""
    if step.after_failure or (before is not None and steps[before].failed and not steps[before].is_informed):
        return "backoff"
    polled = before is not None and steps[before].name == "first_fetch" and steps[before].conn_id == step.conn_id
    return "no_records" if polled and step.name == "first_records" else "client"
