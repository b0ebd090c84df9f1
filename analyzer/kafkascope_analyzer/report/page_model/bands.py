"""Starts and recoveries as the bands that the timeline draws on the lanes of clients, with their words.

Only the longest of a client's recoveries from one cause is a band.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kafkascope_analyzer.report.formatting import count, outcome_text, safe, span
from kafkascope_analyzer.report.page_model.starts_and_recoveries import WordedRecovery, WordedStart


@dataclass(frozen=True, slots=True)
class Band:
    """A start or a recovery. to_ns: None where it is not over; lines: lines of the tooltip; steps: steps with their
    times."""

    client_instance_id: str
    kind: str
    from_ns: int
    to_ns: int | None
    title: str
    lines: tuple[str, ...]
    steps_at_ns: tuple[int, ...]
    steps: tuple[str, ...]


def bands_of(starts: Sequence[WordedStart], recoveries: Sequence[WordedRecovery], end_ns: int) -> tuple[Band, ...]:
    """Returns the bands. end_ns: the capture's last nanosecond."""
    return (
        *(_start(row, row.start_ns) for row in starts if row.start_ns is not None),
        *(_recovery(row, end_ns) for row in _longest(recoveries, end_ns)),
    )


def _start(start: WordedStart, start_ns: int) -> Band:
    total = "" if start.total_us is None else span(start.total_us)
    steps = [(step.start_ns, step) for step in start.steps if step.on_critical_path]
    return Band(
        client_instance_id=start.client_instance_id,
        kind="start",
        from_ns=start_ns,
        to_ns=start.to_ns,
        title=f"start {total or start.outcome_text}",
        lines=(f"start: {start.outcome_text}", *([f"took {total}"] if total else [])),
        steps_at_ns=tuple(at_ns for at_ns, _ in steps),
        steps=tuple(step.words for _, step in steps),
    )


def _longest(recoveries: Sequence[WordedRecovery], end_ns: int) -> list[WordedRecovery]:
    found: dict[tuple[str, str], WordedRecovery] = {}
    for row in recoveries:
        key = row.cause_key
        if key not in found or _lasted(row, end_ns) > _lasted(found[key], end_ns):
            found[key] = row
    return list(found.values())


def _lasted(recovery: WordedRecovery, end_ns: int) -> int:
    return (recovery.recovered_ns or end_ns) - recovery.affected_ns


def _recovery(row: WordedRecovery, end_ns: int) -> Band:
    error = safe(row.first_error_name)
    lasted = outcome_text(row.outcome) if row.recovered_ns is None else span(_lasted(row, end_ns) // 1000)
    figures = f"{count(row.n_errors, 'error')}, {count(row.n_wasted_requests, 'wasted request')}"
    return Band(
        client_instance_id=row.client_instance_id,
        kind="recovery",
        from_ns=row.affected_ns,
        to_ns=row.recovered_ns,
        title=f"{error} {lasted}",
        lines=(f"{error} on {safe(row.resource)}", row.ended, figures),
        steps_at_ns=tuple(step.ts_ns for step in row.steps),
        steps=tuple(step.words for step in row.steps),
    )
