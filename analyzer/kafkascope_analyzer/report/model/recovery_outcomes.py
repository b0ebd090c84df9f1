"""What a recovery's outcome and first error say: whether it recovered, and since when its client was affected."""

from typing import Any

from kafkascope_analyzer.report.words import span

NOT_RECOVERED = ("still_open", "gave_up", "fatal", "wrong_reaction")
"""Outcomes of recoveries other than `recovered`."""
_UNANSWERED = ("REQUEST_UNANSWERED", "RESPONSE_LATE", "CONNECTION_UNANSWERED")
"""First errors that concern a client before it notices: from the request, or SYN, that got no answer."""


def affected_since(recovery: dict[str, Any]) -> int:
    """Since when the client was affected: the first error, or the request that this error left without an answer."""
    start: int = recovery["start_ns"] or 0
    unanswered = recovery["first_error_name"] in _UNANSWERED
    return min(start, recovery["failing_ns"] or start) if unanswered else start


def took_text(recovery: dict[str, Any]) -> str:
    """` after 103 ms`: from the first error to the first success, as table recoveries has it; empty without one."""
    return "" if recovery["time_to_recover_ms"] is None else f" after {span(1000 * recovery['time_to_recover_ms'])}"
