"""Starts of clients with their steps, loaded whole from the story tables: what `timeline` draws and `diff` compares."""

from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CADENCES, CLIENTS, STARTUP_STEP_ROWS, STARTUPS
from kafkascope_analyzer.dataset.table_rows import capture_span, has_table, one_of, rows
from kafkascope_analyzer.report.missing_stories import NO_STORIES
from kafkascope_parsers.errors import UsageError

Row = dict[str, Any]

_CLIENT = ["client_instance_id", "client_id", "client_ip", "kind", "group_protocol", "group_id", "transactional_id"]
_CLIENT += ["software_name", "software_version", "first_ns"]


def clients_of(dataset: Dataset, wanted: str | None = None) -> list[Row]:
    """The clients of a dataset but for brokers, by the time they were first seen; with `wanted`, those whose
    client_instance_id or client_id it is, brokers too.

    Raises UsageError where there are no stories, or no client of that name.
    """
    if not has_table(dataset, STARTUPS):
        raise UsageError(f"{dataset}: {NO_STORIES}")
    everyone = list(rows(dataset, CLIENTS, _CLIENT))
    everyone.sort(key=lambda c: (c["first_ns"] or 0, c["client_instance_id"]))
    if wanted is None:
        return [c for c in everyone if c["kind"] != "broker"]
    found = [c for c in everyone if wanted in (c["client_instance_id"], c["client_id"])]
    if not found:
        names = sorted({c["client_id"] for c in everyone if c["client_id"] and c["kind"] != "broker"})
        some = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise UsageError(f"{dataset} has no client {wanted}; it has {some or 'none with a client id'}")
    return found


def starts_model(dataset: Dataset, client: str | None, startup_id: str | None) -> Row:
    """start_ns of the capture, and `clients` with their `starts` and `cadences`: of all clients, of one, or one
    start alone. Raises UsageError as clients_of and start_with_client do.
    """
    owner = None if startup_id is None else start_with_client(dataset, startup_id)[1]["client_instance_id"]
    found = clients_of(dataset, owner or client)
    ids = [c["client_instance_id"] for c in found]
    starts, loops = starts_of(dataset, ids), cadences_of(dataset, ids)
    for row in found:
        mine = starts[row["client_instance_id"]]
        row["starts"] = [s for s in mine if startup_id in (None, s["startup_id"])]
        row["cadences"] = loops[row["client_instance_id"]]
    return {"start_ns": capture_span(dataset)[0], "clients": found}


def starts_of(dataset: Dataset, client_instance_ids: list[str]) -> dict[str, list[Row]]:
    """client_instance_id -> its starts in order, each with its `steps` in order."""
    found: dict[str, list[Row]] = {i: [] for i in client_instance_ids}
    for row in rows(dataset, STARTUPS, _without_ts(STARTUPS), one_of("client_instance_id", client_instance_ids)):
        found[row["client_instance_id"]].append({**row, "steps": []})
    by_id = {start["startup_id"]: start for starts in found.values() for start in starts}
    columns = _without_ts(STARTUP_STEP_ROWS)
    for row in rows(dataset, STARTUP_STEP_ROWS, columns, one_of("startup_id", sorted(by_id))):
        by_id[row.pop("startup_id")]["steps"].append(row)
    for start in by_id.values():
        start["steps"].sort(key=lambda step: step["seq"])
    for starts in found.values():
        starts.sort(key=lambda start: start["start_no"])
    return found


def cadences_of(dataset: Dataset, client_instance_ids: list[str]) -> dict[str, list[Row]]:
    """client_instance_id -> its loops; none where the stories are older than that table."""
    found: dict[str, list[Row]] = {i: [] for i in client_instance_ids}
    for row in rows(
        dataset, CADENCES, [c.name for c in CADENCES.columns], one_of("client_instance_id", client_instance_ids)
    ):
        found[row["client_instance_id"]].append(row)
    for loops in found.values():
        loops.sort(key=lambda loop: (loop["cadence"], loop["conn_id"] or ""))
    return found


def _without_ts(table: Any) -> list[str]:
    return [c.name for c in table.columns if not c.name.endswith("_ts") and c.name != "ts"]


def start_with_client(dataset: Dataset, startup_id: str) -> tuple[Row, Row]:
    """The start with its `steps`, and its client. Raises UsageError where there is no such start."""
    found = next(rows(dataset, STARTUPS, ["client_instance_id"], one_of("startup_id", [startup_id])), None)
    if found is None:
        raise UsageError(f"{dataset} has no start {startup_id}; table stories/startups has them")
    identity = found["client_instance_id"]
    start = next(s for s in starts_of(dataset, [identity])[identity] if s["startup_id"] == startup_id)
    client = next(rows(dataset, CLIENTS, _CLIENT, one_of("client_instance_id", [identity])), dict.fromkeys(_CLIENT))
    return start, client
