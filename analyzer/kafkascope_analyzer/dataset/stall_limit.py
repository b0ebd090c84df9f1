"""The shortest wait that is a stall (`--stall`): one limit for the stories, the manifest and the reports."""

from kafkascope_analyzer.dataset.durations import parse_duration
from kafkascope_parsers.errors import UsageError

DEFAULT_STALL_MS = 1_000
LEAST_STALL_MS = 500
"""Lowest limit: ingest keeps no shorter waits, so with a lower one stalls would be missing silently."""
MOST_STALL_MS = 3_600_000


def parse_stall(text: str) -> int:
    """Returns the milliseconds of a duration such as 500ms, 2s, 1.5s or 1min. Raises UsageError where it is not a
    duration, or not a valid limit."""
    stall_ms = parse_duration(text, "--stall") // 1_000_000
    if not LEAST_STALL_MS <= stall_ms <= MOST_STALL_MS:
        least, most = limit_text(LEAST_STALL_MS), limit_text(MOST_STALL_MS)
        raise UsageError(f"--stall {text}: must be from {least} (shorter waits are not in the events) to {most}")
    return stall_ms


def limit_text(stall_ms: int) -> str:
    """Returns the limit as reports write it: 500 ms, 1 s, 2.5 s, 60 min."""
    if stall_ms < 1_000:
        return f"{stall_ms} ms"
    return f"{stall_ms // 60_000} min" if stall_ms % 60_000 == 0 else f"{stall_ms / 1_000:g} s"
