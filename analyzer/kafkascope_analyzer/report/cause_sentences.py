"""What is said of the recoveries of one client from one cause: errors, brokers, how they ended, what was expected."""

from collections.abc import Iterator
from typing import Any

from kafkascope_analyzer.report.words import count, list_of, node, outcome_text, safe

Model = dict[str, Any]


def cause_severity(cause: Model) -> tuple[bool, int, int]:
    """The order in which causes deserve their steps: what did not end well, then what took longest."""
    return cause["outcome"] == "recovered", -(cause["time_to_recover_ms"] or 0), cause["start_ns"] or 0


def cause_sentences(cause: Model, addresses: dict[int, str]) -> Iterator[str]:
    """Short sentences about a cause. addresses: by node id."""
    yield f"{count(cause['n_errors'], 'error')}, {count(cause['n_wasted_requests'], 'wasted request')}"
    old, new = cause["old_node_id"], cause["new_node_id"]
    if old is not None and new is not None and old != new:
        yield f"{node(old, addresses.get(old))} → {node(new, addresses.get(new))}"
    elif new is None and old is not None:
        yield f"at {node(old, addresses.get(old))}"
    others = [safe(e) for e in cause["error_names"] if e != cause["first_error_name"]]
    if others:
        yield f"also {list_of(others, 3)}"
    if len(cause["outcomes"]) > 1:
        yield "episodes: " + ", ".join(f"{n:,} {outcome_text(outcome)}" for outcome, n in cause["outcomes"].items())
    if cause["reaction"]:
        yield f"did: {safe(cause['reaction']).replace('_', ' ')}"
    if cause["expected_reaction"] and cause["outcome"] != "recovered":
        yield f"expected: {safe(cause['expected_reaction'])}"
