"""Windows of time on connections for a story: a finding, a recovery, a startup, an incident, a stall."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import CLUSTER, Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import STORIES
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read, rows
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.startups.table import StartupRow, StartupStepRow
from kafkascope_spark.stories.tables import (
    FINDINGS,
    INCIDENTS,
    RECOVERIES,
    RECOVERY_STEP_ROWS,
    STALLS,
)

_TIMES = ("ts_ns", "request_last_ns", "response_ns", "response_last_ns")


@dataclass(frozen=True, slots=True)
class _Recovery(Row):
    TABLE: ClassVar[Table] = RECOVERIES
    start_ns: int
    recovered_ns: int | None


@dataclass(frozen=True, slots=True)
class _RecoveryStep(Row):
    TABLE: ClassVar[Table] = RECOVERY_STEP_ROWS
    conn_id: str | None
    ts_ns: int
    duration_us: int | None


Windows = dict[str, list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class _Stall(Row):
    TABLE: ClassVar[Table] = STALLS
    from_ns: int
    to_ns: int | None
    evidence: tuple[str, ...]


def of_recovery(dataset: Dataset, name: str) -> Windows:
    """Returns the connections of an episode's steps, from its first error to its end. Raises UsageError."""
    _check_there(dataset, "recoveries", "--recovery")
    story = next(read(dataset, _Recovery, ds.field("recovery_id") == name), None)
    if story is None:
        raise _no_such(dataset, RECOVERIES, "--recovery", name)
    steps = list(read(dataset, _RecoveryStep, ds.field("recovery_id") == name))
    ends = [step.ts_ns + 1000 * (step.duration_us or 0) for step in steps]
    window = (story.start_ns, max([story.recovered_ns or story.start_ns, *ends]))
    return {step.conn_id: [window] for step in steps if step.conn_id}


def of_startup(dataset: Dataset, name: str) -> Windows:
    """Returns the connections of a start's steps, from its beginning to its last step. Raises UsageError."""
    _check_there(dataset, "startups", "--startup")
    start = next(read(dataset, StartupRow, ds.field("startup_id") == name), None)
    if start is None:
        raise _no_such(dataset, StartupRow.TABLE, "--startup", name)
    steps = list(read(dataset, StartupStepRow, ds.field("startup_id") == name))
    window = (start.start_ns, max([start.ready_ns or start.start_ns, *(step.end_ns for step in steps)]))
    return {step.conn_id: [window] for step in steps if step.conn_id}


def of_finding(dataset: Dataset, name: str) -> Windows:
    """Returns the requests that prove a finding, and the other connections that it is about, from its first to its last
    time. Raises UsageError."""
    _check_there(dataset, "findings", "--finding")
    columns = ["conn_ids", "first_ns", "last_ns", "evidence"]
    found = _one(rows(dataset, FINDINGS, columns, ds.field("finding_id") == name))
    if found is None:
        raise _no_such(dataset, FINDINGS, "--finding", name)
    proofs = found["evidence"] or []
    return _windows(dataset, proofs, found["conn_ids"] or [], (found["first_ns"], found["last_ns"]))


def of_incident(dataset: Dataset, name: str) -> Windows:
    """Returns the requests that prove an incident, its stalls and those of its consequences, and the connections that
    prove it from its beginning to its end. Raises UsageError."""
    _check_there(dataset, "incidents", "--incident")
    columns = ["incident_id", "root_incident_id", "start_ns", "end_ns", "evidence"]
    found = {row["incident_id"]: row for row in rows(dataset, INCIDENTS, columns)}
    if name not in found:
        raise _no_such(dataset, INCIDENTS, "--incident", name)
    family = [name, *sorted(row["incident_id"] for row in found.values() if row["root_incident_id"] == name)]
    proofs = [proof for member in family for proof in found[member]["evidence"] or ()]
    for stall in read(dataset, _Stall, one_of("incident_id", family)):
        proofs += stall.evidence
    incident = found[name]
    _, last_ns = dataset.capture_span or (0, incident["start_ns"])
    return _windows(dataset, proofs, [], (incident["start_ns"], incident["end_ns"] or last_ns))


def of_stall(dataset: Dataset, name: str) -> Windows:
    """Returns the requests that prove a stall. Raises UsageError."""
    _check_there(dataset, "stalls", "--stall")
    found = next(read(dataset, _Stall, ds.field("stall_id") == name), None)
    if found is None:
        raise _no_such(dataset, STALLS, "--stall", name)
    return _windows(dataset, list(found.evidence), [], (found.from_ns, found.to_ns))


def _windows(dataset: Dataset, proofs: list[str], conn_ids: list[str], span: tuple[int | None, int | None]) -> Windows:
    """Returns the requests among the proofs, and for the span of time the connections without any of these requests."""
    windows: Windows = {}
    for request in rows(dataset, REQUESTS, ["conn_id", *_TIMES], one_of("request_id", proofs)):
        times = [request[column] for column in _TIMES if request[column] is not None]
        windows.setdefault(request["conn_id"], []).append((min(times), max(times)))
    first, last = span
    if first is not None and last is not None:
        about = {*conn_ids, *(proof for proof in proofs if "-" not in proof)}
        for conn_id in sorted(about - windows.keys()):
            windows[conn_id] = [(first, last)]
    return windows


def _one(found: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    return next(iter(found), None)


def _no_such(dataset: Dataset, table: Table, option: str, name: str) -> UsageError:
    """Returns the error for an id that the table of a story does not have; it names similar ones."""
    column = next(column.name for column in table.columns if column.name != CLUSTER.name)
    known = [row[column] for row in rows(dataset, table, [column])]
    return UsageError(f"{option} {name}: no such {column} in stories/{table.name}{did_you_mean(name, known)}")


def _check_there(dataset: Dataset, table: str, option: str) -> None:
    if not dataset.has(f"{STORIES}/{table}"):
        raise UsageError(
            f"{option} needs the table stories/{table}, and {dataset} has none; kafkascope stories {dataset} makes the "
            "stories"
        )
