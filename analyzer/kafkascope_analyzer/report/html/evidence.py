"""The requests that findings, episodes and starts name as their proof: what they are and their packet numbers."""

from collections.abc import Iterable
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, rows
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.report.proofs import latency_text

MOST_REQUESTS = 30_000
Row = dict[str, Any]

_COLUMNS = ["request_id", "conn_id", "api_name", "api_version", "ts_ns", "latency_us", "error_code", "error_name"]
_COLUMNS += ["status", "node_id", "capture_id", "request_packet_no", "response_packet_no"]


def load_evidence(dataset: Dataset, named: Iterable[str | None]) -> dict[str, Row]:
    """request_id -> the request, for those of the named that are requests; `took` is its latency in words."""
    wanted = list(dict.fromkeys(name for name in named if name))[:MOST_REQUESTS]
    found = {}
    for row in rows(dataset, REQUESTS, _COLUMNS, one_of("request_id", wanted)):
        row["error_name"] = row["error_name"] if row.pop("error_code") else None
        row["took"] = latency_text(row["status"], row.pop("latency_us"))
        found[row.pop("request_id")] = row
    return {name: found[name] for name in wanted if name in found}


def named_by(story: dict[str, Any]) -> list[str | None]:
    """The ids that the stories name, those of transactions first."""
    named: list[str | None] = []
    for name in ("transactions", "rebalances"):
        named += [i for row in story[name]["listed"] for i in row.get("evidence") or ()]
    for episode in story["episodes"]["listed"]:
        named += episode["evidence"]
        named += [step["request_id"] for step in episode["steps"]]
    for start in story["starts"]["listed"]:
        named += [name for step in start["steps"] for name in step["request_ids"]]
    return named


def proved_by(model: dict[str, Any]) -> list[str | None]:
    """The ids that prove incidents and findings."""
    incidents = [*model["incidents"]["listed"], *model["incidents"]["routine"]]
    return [proof["id"] for row in [*incidents, *model["findings"]["listed"]] for proof in row["evidence"]]
