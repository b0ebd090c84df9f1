"""Windows of time on connections that a story is about: a finding, a recovery, a startup."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.stories import RECOVERIES, RECOVERY_STEP_ROWS, STARTUP_STEP_ROWS, STARTUPS
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.report.scan import one_of, rows
from kafkascope_parsers.errors import UsageError

_TIMES = ("ts_ns", "request_last_ns", "response_ns", "response_last_ns")

Windows = dict[str, list[tuple[int, int]]]


def of_recovery(dataset: Path, name: str) -> Windows:
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


def of_startup(dataset: Path, name: str) -> Windows:
    """The connections of a start's steps, from its begin to its last step. Raises UsageError."""
    _check_there(dataset, "startups", "--startup")
    story = _one(rows(dataset, STARTUPS, ["start_ns", "ready_ns"], ds.field("startup_id") == name))
    if story is None:
        raise UsageError(f"--startup {name}: no such startup_id in stories/startups")
    steps = list(rows(dataset, STARTUP_STEP_ROWS, ["conn_id", "end_ns"], ds.field("startup_id") == name))
    ends = [step["end_ns"] for step in steps if step["end_ns"] is not None]
    window = (story["start_ns"], max([story["ready_ns"] or story["start_ns"], *ends]))
    return {step["conn_id"]: [window] for step in steps if step["conn_id"]}


def of_finding(dataset: Path, name: str) -> Windows:
    """The requests that prove a finding; its connections from first to last where it names no requests. Raises
    UsageError."""
    _check_there(dataset, "findings", "--finding")
    place = dataset / "stories" / "findings"
    columns = ["conn_ids", "first_ns", "last_ns", "evidence"]
    try:
        found = pq.read_table(place, columns=columns, filters=ds.field("finding_id") == name).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{place}: cannot be read: {error}") from error
    if not found:
        raise UsageError(f"--finding {name}: no such finding_id in stories/findings")
    proofs = [request_id for row in found for request_id in row["evidence"] or []]
    windows: Windows = {}
    for request in rows(dataset, REQUESTS, ["conn_id", *_TIMES], one_of("request_id", proofs)):
        times = [request[column] for column in _TIMES if request[column] is not None]
        windows.setdefault(request["conn_id"], []).append((min(times), max(times)))
    if not windows:
        windows = {conn_id: [(row["first_ns"], row["last_ns"])] for row in found for conn_id in row["conn_ids"] or []}
    return windows


def _one(found: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    return next(iter(found), None)


def _check_there(dataset: Path, table: str, option: str) -> None:
    if not (dataset / "stories" / table).is_dir():
        raise UsageError(
            f"{option} needs the table stories/{table}, and {dataset} has none; kafkascope stories {dataset} makes the "
            "stories"
        )
