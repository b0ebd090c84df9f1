"""Starts of clients in words: the heading of each, how it ended, what took longest."""

from typing import Any

from kafkascope_analyzer.report.model.slowest_steps import slowest, slowest_text
from kafkascope_analyzer.report.words import clock, safe, span, start_text

Row = dict[str, Any]


def add_start_texts(start: Row, steps: list[Row], start_ns: int) -> None:
    """Adds `heading`, `ended`, `in_short`, `slowest_text` and `to_ns` to a row of stories/startups.

    steps: all of its steps; start_ns: the capture's first nanosecond.
    """
    number = f"Start {start['start_no']}" if (start["start_no"] or 1) > 1 else "Start"
    where = f" at {start['failed_step'].replace('_', ' ')}" if start["failed_step"] else ""
    total = "" if start["total_us"] is None else span(start["total_us"])
    error = f": {safe(start['error_name'])}" if start["error_name"] else ""
    subject = f" ({safe(start['failed_subject'])})" if start["failed_subject"] else ""
    outcome = start_text(start["outcome"])
    parts = slowest(steps)
    start["heading"] = f"{number} at {clock((start['start_ns'] or start_ns) - start_ns)}"
    start["ended"] = outcome + (f" after {total}" if total else "") + where + (error + subject if where else "")
    start["in_short"] = outcome + (f" {total}" if total else "") + where
    start["slowest_text"] = slowest_text(parts, start["total_us"]) if start["total_us"] else ""
    ends = [step["end_ns"] for step in steps if step["end_ns"] is not None]
    start["to_ns"] = start["ready_ns"] or max(ends, default=start["start_ns"])
