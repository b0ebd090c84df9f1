"""Starts and recoveries as the bands that the timeline draws on the lanes of clients, with their words.

Of a client's recoveries from one cause only the one that lasted longest is a band.
"""

from typing import Any

from kafkascope_analyzer.report.words import count, safe, span

Row = dict[str, Any]


def bands_of(starts: list[Row], recoveries: list[Row], end_ns: int) -> list[Row]:
    """Bands as rows: client_instance_id, kind (start or recovery), from_ns, to_ns (null: not over), title, lines of the
    tooltip, and the steps with their times. end_ns: the capture's last nanosecond.
    """
    return [*map(_start, starts), *(_recovery(row, end_ns) for row in _longest(recoveries, end_ns))]


def _start(start: Row) -> Row:
    total = "" if start["total_us"] is None else span(start["total_us"])
    steps = [step for step in start["steps"] if step["on_critical_path"] and step["start_ns"] is not None]
    return {
        "client_instance_id": start["client_instance_id"],
        "kind": "start",
        "from_ns": start["start_ns"],
        "to_ns": start["to_ns"],
        "title": f"start {total or start['outcome_text']}",
        "lines": [f"start: {start['outcome_text']}", *([f"took {total}"] if total else [])],
        "steps_at_ns": [step["start_ns"] for step in steps],
        "steps": [step["step"].replace("_", " ") for step in steps],
    }


def _longest(recoveries: list[Row], end_ns: int) -> list[Row]:
    found: dict[tuple[str, str], Row] = {}
    for row in recoveries:
        key = row["client_instance_id"], row["cause_id"] or row["recovery_id"]
        if key not in found or _lasted(row, end_ns) > _lasted(found[key], end_ns):
            found[key] = row
    return list(found.values())


def _lasted(recovery: Row, end_ns: int) -> int:
    return int((recovery["recovered_ns"] or end_ns) - recovery["since_ns"])


def _recovery(row: Row, end_ns: int) -> Row:
    error, steps = safe(row["first_error_name"]), [step for step in row["steps"] if step["ts_ns"] is not None]
    lasted = row["outcome_text"] if row["recovered_ns"] is None else span(_lasted(row, end_ns) // 1000)
    figures = f"{count(row['n_errors'] or 0, 'error')}, {count(row['n_wasted_requests'] or 0, 'wasted request')}"
    return {
        "client_instance_id": row["client_instance_id"],
        "kind": "recovery",
        "from_ns": row["since_ns"],
        "to_ns": row["recovered_ns"],
        "title": f"{error} {lasted}",
        "lines": [f"{error} on {safe(row['resource'] or '?')}", row["ended"], figures],
        "steps_at_ns": [step["ts_ns"] for step in steps],
        "steps": [step["step"].replace("_", " ") for step in steps],
    }
