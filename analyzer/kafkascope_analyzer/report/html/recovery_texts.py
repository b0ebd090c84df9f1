"""Recoveries in words: the heading of each, how it ended, its steps; and those of one cause together."""

from collections import defaultdict
from typing import Any

from kafkascope_analyzer.report.explain.recovery import recovery_sentences
from kafkascope_analyzer.report.model.clients import worst_of_cause
from kafkascope_analyzer.report.model.recovery_outcomes import took_text
from kafkascope_analyzer.report.words import clock, count, outcome_text, safe, span

Row = dict[str, Any]

MOST_ALIKE = 8
"""Recoveries of one cause that are shown beside the worst of them."""
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


def add_recovery_texts(recovery: Row, start_ns: int) -> None:
    """Adds `heading`, `ended` and `sentences` to a row of stories/recoveries. start_ns: when the capture began."""
    begun = clock((recovery["start_ns"] or start_ns) - start_ns)
    resource = safe(recovery["resource"] or "?")
    recovery["heading"] = f"{begun} {safe(recovery['first_error_name'])} on {resource}"
    recovery["ended"] = outcome_text(recovery["outcome"]) + took_text(recovery)
    recovery["sentences"] = recovery_sentences(recovery)


def add_step_texts(recoveries: list[Row], evidence: dict[str, Row], connections: list[Row]) -> None:
    """Adds to each step its `text`, `at` (after the first error), `took` and, where only its connection tells it, its
    node_id. evidence: requests by id; connections: those with a lane.
    """
    nodes = {row["conn_id"]: row["node_id"] for row in connections}
    for recovery in recoveries:
        for step in recovery["steps"]:
            if step["node_id"] is None:
                step["node_id"] = nodes.get(step["conn_id"])
            step["text"] = _step_text(step, evidence.get(step["request_id"] or "", {}).get("api_name"))
            step["at"] = "" if step["ts_ns"] is None else f"+{span((step['ts_ns'] - recovery['start_ns']) // 1000)}"
            step["took"] = span(step["duration_us"])


def _step_text(step: Row, api_name: str | None) -> str:
    kind = step["step"]
    if kind == "hint":
        return f"answer names the leader: node {step['node_id']} (KIP-951)"
    if kind == "retry":
        return _STEPS[kind] + (f": {api_name}" if api_name else "")
    if kind not in _STEPS:
        return api_name or kind.replace("_", " ")
    text = safe(step["error_name"]) if kind == "error" and step["error_name"] else _STEPS[kind]
    return text + (f" ({api_name})" if api_name and kind in _WITH_API else "")


def causes_of(recoveries: list[Row], start_ns: int) -> list[Row]:
    """Recoveries of one client from one cause as one entry, by the time of the first: client_instance_id, `worst` (the
    recovery_id of the one that stands for all), `alike` (those of the first others), `heading`, `outcome` and `ended`.
    """
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in recoveries:
        found[row["client_instance_id"], row["cause_id"] or row["recovery_id"]].append(row)
    causes = []
    for (client, _), members in found.items():
        worst = worst_of_cause(members)
        others = [row for row in members if row is not worst]
        more = f" · {len(members):,} alike" if others else ""
        begun = clock((worst["start_ns"] or start_ns) - start_ns)
        causes.append(
            {
                "client_instance_id": client,
                "worst": worst["recovery_id"],
                "alike": [row["recovery_id"] for row in others[:MOST_ALIKE]],
                "recovery_ids": [row["recovery_id"] for row in members],
                "heading": f"{begun} {safe(worst['first_error_name'])}",
                "outcome": worst["outcome"],
                "ended": worst["ended"] + more,
            }
        )
    return causes


def recoveries_in_short(recoveries: list[Row]) -> str:
    """How many, and the longest: `12 recoveries, up to 4.20 s`; empty without any."""
    if not recoveries:
        return ""
    longest_ms = max(row["time_to_recover_ms"] or 0 for row in recoveries)
    longest = f", up to {span(1000 * longest_ms)}" if longest_ms else ""
    return count(len(recoveries), "recovery", "recoveries") + longest
