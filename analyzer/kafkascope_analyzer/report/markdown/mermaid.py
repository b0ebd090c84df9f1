"""An episode as a Mermaid sequence diagram: the messages between the client and the brokers until it was over."""

from kafkascope_analyzer.report.formatting import safe, span
from kafkascope_analyzer.report.markdown.text import label
from kafkascope_analyzer.report.model.clients import Client
from kafkascope_analyzer.report.model.recoveries import RecoveredCause
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep

FIRST_STEPS, LAST_STEPS = 16, 8
"""Steps of a long episode that are drawn: from its beginning and from its end."""


def sequence(client: Client, recovery: RecoveredCause) -> list[str]:
    """Returns the diagram's lines, without a fence."""
    steps, begun = recovery.steps, recovery.start_ns
    left = max(0, len(steps) - FIRST_STEPS - LAST_STEPS)
    nodes = {step.node_id for step in steps if step.step != "backoff"}
    lines = ["sequenceDiagram", f"    participant C as {label(client.client_id or 'client')}"]
    lines += [f"    participant {_name(n)} as {label(_called(n))}" for n in sorted(nodes, key=_by_id) if n is not None]
    if None in nodes:
        lines.append(f"    participant {_name(None)} as {label(_called(None))}")
    for place, step in enumerate(steps):
        if left and FIRST_STEPS <= place < len(steps) - LAST_STEPS:
            if place == FIRST_STEPS:
                lines.append(f"    Note over C: {left} steps more")
            continue
        lines.append(_line(step, begun))
    return lines


def _by_id(node_id: int | None) -> int:
    return -1 if node_id is None else node_id


def _name(node_id: int | None) -> str:
    """Returns the participant's name in the diagram; node ids may be negative."""
    return "N" if node_id is None else f"N{node_id}".replace("-", "m")


def _called(node_id: int | None) -> str:
    return "a broker" if node_id is None else f"node {node_id}"


def _line(step: RecoveryStep, begun: int) -> str:
    at = f"+{span((step.ts_ns - begun) // 1000)}"
    kind, who = step.step, _name(step.node_id)
    took = f" in {span(step.duration_us)}" if step.duration_us else ""
    if kind == "backoff":
        return f"    Note over C: {label(at + ' pauses ' + span(step.duration_us))}"
    if kind == "error":
        return f"    {who}--xC: {label(at + ' ' + safe(step.error_name or 'error'))}"
    if kind in ("success", "hint"):
        return f"    {who}-->>C: {label(at + ' ' + kind)}"
    return f"    C->>{who}: {label(at + ' ' + kind.replace('_', ' ') + took)}"
