"""Sentences about the recoveries of one client from one cause: errors, brokers, how they ended, the
expected reaction."""

from collections.abc import Iterator

from kafkascope_analyzer.report.formatting import count, list_of, node, outcome_text, safe
from kafkascope_analyzer.report.model.cluster import Cluster
from kafkascope_analyzer.report.model.recoveries import RecoveredCause


def cause_severity(cause: RecoveredCause) -> tuple[bool, int, int]:
    """Returns the sort key of causes whose steps are shown first: those that did not end well, then those that took
    longest."""
    return cause.outcome == "recovered", -(cause.time_to_recover_ms or 0), cause.start_ns


def cause_sentences(cause: RecoveredCause, cluster: Cluster) -> Iterator[str]:
    """Yields short sentences about a cause. cluster: has the brokers' addresses."""
    yield f"{count(cause.n_errors, 'error')}, {count(cause.n_wasted_requests, 'wasted request')}"
    old, new = cause.old_node_id, cause.new_node_id
    if old is not None and new is not None and old != new:
        yield f"{node(old, cluster.address_of(old))} → {node(new, cluster.address_of(new))}"
    elif new is None and old is not None:
        yield f"at {node(old, cluster.address_of(old))}"
    others = [safe(e) for e in cause.error_names if e != cause.first_error_name]
    if others:
        yield f"also {list_of(others, 3)}"
    if len(cause.outcomes) > 1:
        yield "episodes: " + ", ".join(f"{n:,} {outcome_text(outcome)}" for outcome, n in cause.outcomes.items())
    if cause.reaction:
        yield f"did: {safe(cause.reaction).replace('_', ' ')}"
    if cause.expected_reaction and cause.outcome != "recovered":
        yield f"expected: {safe(cause.expected_reaction)}"
