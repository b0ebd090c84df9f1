"""Windows of time on connections that a story is about: a finding, a recovery, a startup."""

from collections.abc import Iterable
from typing import Any

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import STORIES, Dataset
from kafkascope_analyzer.dataset.stories import FINDINGS, RECOVERIES, RECOVERY_STEP_ROWS, STARTUP_STEP_ROWS, STARTUPS
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.report.scan import one_of, rows
from kafkascope_parsers.errors import UsageError

_TIMES = ("ts_ns", "request_last_ns", "response_ns", "response_last_ns")

Windows = dict[str, list[tuple[int, int]]]


def of_recovery(dataset: Dataset, name: str) -> Windows:
    """The connections of an episode's steps, from its first error to its end. Raises UsageError."""
    _check_there(dataset, "recoveries", "--recovery")
    story = _one(rows(dataset, RECOVERIES, ["start_ns", "recovered_ns"], ds.field("recovery_id") == name))
    if story is None:
        raise UsageError(f"--recovery {name}: no such recovery_id in stories/recoveries")
    columns = ["conn_id", "ts_ns", "duration_us"]
    steps = list(rows(dataset, RECOVERY_STEP_ROWS, columns, ds.field("recovery_id") == name))
    ends = [step["ts_ns"] + 1000 * (step["duration_us"] or 0) for step in steps if step["ts_ns"] is not None]
    window = (story["start_ns"], max([story["recovered_ns"] or story["start_ns"], *ends]))
    return {step["conn_id"]: [window] for step in steps if step["conn_id"]}


def of_startup(dataset: Dataset, name: str) -> Windows:
    """The connections of a start's steps, from its begin to its last step. Raises UsageError."""
    _check_there(dataset, "startups", "--startup")
    story = _one(rows(dataset, STARTUPS, ["start_ns", "ready_ns"], ds.field("startup_id") == name))
    if story is None:
        raise UsageError(f"--startup {name}: no such startup_id in stories/startups")
    steps = list(rows(dataset, STARTUP_STEP_ROWS, ["conn_id", "end_ns"], ds.field("startup_id") == name))
    ends = [step["end_ns"] for step in steps if step["end_ns"] is not None]
    window = (story["start_ns"], max([story["ready_ns"] or story["start_ns"], *ends]))
    return {step["conn_id"]: [window] for step in steps if step["conn_id"]}


def of_finding(dataset: Dataset, name: str) -> Windows:
    """The requests that prove a finding, and from its first to its last time the connections that it is about and that
    none of those requests is on. Raises UsageError."""
    _check_there(dataset, "findings", "--finding")
    columns = ["conn_ids", "first_ns", "last_ns", "evidence"]
    found = _one(rows(dataset, FINDINGS, columns, ds.field("finding_id") == name))
    if found is None:
        raise UsageError(f"--finding {name}: no such finding_id in stories/findings")
    proofs = found["evidence"] or []
    windows: Windows = {}
    for request in rows(dataset, REQUESTS, ["conn_id", *_TIMES], one_of("request_id", proofs)):
        times = [request[column] for column in _TIMES if request[column] is not None]
        windows.setdefault(request["conn_id"], []).append((min(times), max(times)))
    if found["first_ns"] is not None and found["last_ns"] is not None:
        about = {*(found["conn_ids"] or ()), *(proof for proof in proofs if "-" not in proof)}
        for conn_id in sorted(about - windows.keys()):
            windows[conn_id] = [(found["first_ns"], found["last_ns"])]
    return windows


def _one(found: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    return next(iter(found), None)


def _check_there(dataset: Dataset, table: str, option: str) -> None:
    if not dataset.has(f"{STORIES}/{table}"):
        raise UsageError(
            f"{option} needs the table stories/{table}, and {dataset} has none; kafkascope stories {dataset} makes the "
            "stories"
        )
