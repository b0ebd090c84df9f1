"""Recoveries in words: the steps of each, and the recoveries of one cause together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafkascope_analyzer.report.formatting import clock, safe, span
from kafkascope_analyzer.report.model.recoveries import worst_of_cause
from kafkascope_analyzer.report.page_model.evidence import Evidence
from kafkascope_analyzer.report.page_model.starts_and_recoveries import WordedRecovery, WordedStep
from kafkascope_analyzer.report.rows import grouped
from kafkascope_spark.stories.recoveries.table import RecoveryOutcome

MOST_ALIKE = 8
"""Most recoveries of one cause that are shown besides the worst of them."""
_STEPS = {
    "error": "error",
    "backoff": "client pauses",
    "metadata": "Metadata",
    "find_coordinator": "FindCoordinator",
    "reconnect": "connects",
    "api_versions": "ApiVersions",
    "authenticate": "authenticates",
    "success": "works again",
    "retry": "tries again",
}
_WITH_API = ("error", "success")


@dataclass(frozen=True, slots=True)
class PageCause:
    """Recoveries of a client from one cause. worst: the recovery_id of the one that represents all; alike: recovery_ids
    of the first others.
    """

    client_instance_id: str
    worst: str
    alike: tuple[str, ...]
    recovery_ids: tuple[str, ...]
    heading: str
    outcome: RecoveryOutcome
    ended: str


def with_step_texts(
    recoveries: Sequence[WordedRecovery], evidence: Mapping[str, Evidence], nodes: Mapping[str, int | None]
) -> tuple[WordedRecovery, ...]:
    """Returns the recoveries with the words of their steps. The broker of a step that only a connection shows is the
    connection's.

    evidence: requests by id; nodes: the brokers of connections.
    """
    return tuple(
        replace(row, steps=tuple(_step(step, row.start_ns, evidence, nodes) for step in row.steps))
        for row in recoveries
    )


def _step(
    step: WordedStep, begin_ns: int, evidence: Mapping[str, Evidence], nodes: Mapping[str, int | None]
) -> WordedStep:
    request = evidence.get(step.request_id or "")
    node_id = nodes.get(step.conn_id or "") if step.node_id is None else step.node_id
    return replace(
        step,
        node_id=node_id,
        text=_step_text(step, node_id, request.api_name if request else None),
        at=f"+{span((step.ts_ns - begin_ns) // 1000)}",
        took=span(step.duration_us),
    )


def _step_text(step: WordedStep, node_id: int | None, api_name: str | None) -> str:
    kind = step.step
    if kind == "hint":
        return f"answer names the leader: node {node_id} (KIP-951)"
    if kind == "retry":
        return _STEPS[kind] + (f": {api_name}" if api_name else "")
    if kind not in _STEPS:
        return api_name or step.words
    text = safe(step.error_name) if kind == "error" and step.error_name else _STEPS[kind]
    return text + (f" ({api_name})" if api_name and kind in _WITH_API else "")


def causes_of(recoveries: Sequence[WordedRecovery], start_ns: int) -> tuple[PageCause, ...]:
    """Returns the recoveries of one client from one cause as one entry, by the time of the first."""
    return tuple(_cause(members, start_ns) for members in grouped(recoveries, lambda row: row.cause_key).values())


def _cause(members: list[WordedRecovery], start_ns: int) -> PageCause:
    worst = worst_of_cause(members)
    others = [row.recovery_id for row in members if row is not worst]
    return PageCause(
        client_instance_id=worst.client_instance_id,
        worst=worst.recovery_id,
        alike=tuple(others[:MOST_ALIKE]),
        recovery_ids=tuple(row.recovery_id for row in members),
        heading=f"{clock(worst.start_ns - start_ns)} {safe(worst.first_error_name)}",
        outcome=worst.outcome,
        ended=worst.ended + (f" · {len(members):,} alike" if others else ""),
    )
