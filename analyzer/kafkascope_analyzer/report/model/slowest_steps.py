"""The parts of a start's critical path that took longest, as rows and in words."""

from collections.abc import Iterable
from typing import Any

from kafkascope_analyzer.report.words import percent, span

Row = dict[str, Any]

_WHO = {"client": "before {step}: client idle", "broker": "{step}: broker", "network": "{step}: network and client"}
_LEAST_SHARE = 20
"""A part is named where it took at least one in so many of the whole."""


def slowest(steps: list[Row]) -> list[Row]:
    """The parts of the critical path that took longest: who made the client wait, at which step, microseconds."""
    parts: list[Row] = []
    for step in steps:
        if not step["on_critical_path"]:
            continue
        broker = min(step["broker_us"] or 0, step["duration_us"] or 0)
        for who, us in (
            ("client", step["wait_us"] or 0),
            ("broker", broker),
            ("network", (step["duration_us"] or 0) - broker),
        ):
            if us > 0:
                parts.append(
                    {"step": step["step"], "subject": step["subject"], "node_id": step["node_id"], "who": who, "us": us}
                )
    return sorted(parts, key=lambda part: -part["us"])[:3]


def slowest_text(parts: Iterable[Row], total_us: int) -> str:
    """The parts that took a twentieth or more of the whole: `join group: broker 3.01 s (94.2 %); …`; may be empty."""
    return "; ".join(_text(part, total_us) for part in parts if part["us"] * _LEAST_SHARE >= total_us)


def _text(part: Row, total_us: int) -> str:
    who = _WHO[part["who"]].format(step=part["step"].replace("_", " "))
    return f"{who} {span(part['us'])} ({percent(part['us'], total_us)})"
