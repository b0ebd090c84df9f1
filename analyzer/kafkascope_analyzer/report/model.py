"""`report.json`: everything that is shown of a dataset, as one plain dict in a stable order.

The same dataset gives the same bytes: no wall clock, no paths but the names that the user gave. Times are nanoseconds
since the epoch (`*_ns`) and durations microseconds (`*_us`), as in the tables.
"""

import json
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import REPORT_FILE
from kafkascope_analyzer.dataset.stories import FINDINGS
from kafkascope_analyzer.dataset.table_rows import has_table
from kafkascope_analyzer.report import clients, overview, unread
from kafkascope_analyzer.report.broker_latency import broker_latency
from kafkascope_analyzer.report.client_traffic import client_traffic
from kafkascope_analyzer.report.findings import MOST_FINDINGS, counted
from kafkascope_analyzer.report.flow import flow
from kafkascope_analyzer.report.incidents.model import Summary
from kafkascope_analyzer.report.incidents.summary import summary_of
from kafkascope_analyzer.report.leader_load import leader_load
from kafkascope_analyzer.report.missing_stories import NO_STORIES, OLD_STORIES
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.rebalances import rebalances
from kafkascope_analyzer.report.removed_versions import removed_versions
from kafkascope_analyzer.report.request_rates import request_rates
from kafkascope_analyzer.report.transactions import transactions

REPORT_VERSION = 1


def overview_model(dataset: Dataset) -> dict[str, Any]:
    """The part of the report that comes from the tables of `ingest`. Raises UsageError where a table cannot be read."""
    return {
        "report_version": REPORT_VERSION,
        "capture": overview.capture(dataset),
        "connections": overview.connections(dataset),
        "cluster": overview.cluster(dataset),
        "apis": overview.apis(dataset),
        "errors": overview.errors(dataset),
        "unread": unread.unread(dataset),
    }


def report_model(dataset: Dataset) -> dict[str, Any]:
    """The whole report; `stories.present` says whether clients are in it. Raises UsageError where a
    table cannot be read.
    """
    model = overview_model(dataset)
    found = clients.clients(dataset)
    present = found.pop("present")
    summary = summary_of(dataset, model["errors"]["n"])
    for client in found["listed"]:
        client["stood_still"] = summary.stood_still.get(client["client_instance_id"])
    return {
        **model,
        "stories": {"present": present, "why_not": None if present else NO_STORIES},
        "headline": plain(summary.headline),
        "incidents": plain(summary.incidents),
        "findings": _of_stories(_findings(dataset, summary), stories=present),
        "clients": found,
        "rebalances": _of_stories(rebalances(dataset), stories=present),
        "transactions": _of_stories(transactions(dataset), stories=present),
        "flow": _of_stories(plain(flow(dataset)), stories=present),
        "request_rates": plain(request_rates(dataset)),
        "latency": broker_latency(dataset),
        "leaders": leader_load(dataset),
        "client_traffic": client_traffic(dataset),
        "removed_versions": removed_versions(dataset),
    }


def _findings(dataset: Dataset, summary: Summary) -> dict[str, Any]:
    """The findings; not present where no Kafka was read: then no rule had anything to judge."""
    found = summary.findings
    why_not = {"why_not": summary.headline.sentence} if summary.no_kafka else {}
    return why_not | {
        "present": has_table(dataset, FINDINGS) and not summary.no_kafka,
        "n": len(found),
        "by_severity": counted(found),
        "listed": plain(found[:MOST_FINDINGS]),
    }


def _of_stories(section: dict[str, Any], *, stories: bool) -> dict[str, Any]:
    """A section from a table that Spark writes, with the reason where the table is not there."""
    why_not = None if section["present"] else OLD_STORIES if stories else NO_STORIES
    return {"present": section["present"], "why_not": why_not, **section}


def to_json(model: dict[str, Any]) -> str:
    """The model as report.json holds it: ASCII, so that hostile text cannot reach a terminal, with a last newline."""
    return json.dumps(model, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def write_report(dataset: Dataset, model: dict[str, Any]) -> None:
    """Writes the model as report.json beside the tables, whole or not at all. Raises UsageError."""
    dataset.write_text(REPORT_FILE, to_json(model))
