"""The schema of report.json: every key with its type and a sentence.

`report.schema.json` beside this file is what `report_schema()` gives, written by scripts/reference_pages.py.
"""

import json
from importlib.resources import files

from kafkascope_analyzer.report.schema import capture, stories
from kafkascope_analyzer.report.schema.shapes import Shape, fields, whole

SCHEMA_FILE = "report.schema.json"


def report_schema() -> Shape:
    """JSON Schema, draft 2020-12, of report.json."""
    version = {**whole("1; it changes when a key changes its meaning or goes"), "const": 1}
    keys = {
        "report_version": version,
        "capture": capture.capture(),
        "connections": capture.connections(),
        "cluster": capture.cluster(),
        "apis": capture.apis(),
        "errors": capture.errors(),
        "unread": capture.unread(),
        "stories": stories.stories(),
        "headline": stories.headline(),
        "incidents": stories.incidents(),
        "findings": stories.findings(),
        "clients": stories.clients(),
        "restarts": stories.restarts(),
        "rebalances": stories.rebalances(),
        "transactions": stories.transactions(),
        "flow": stories.flow(),
        "request_rates": capture.request_rates(),
        "latency": capture.latency(),
        "leaders": capture.leaders(),
        "client_traffic": capture.client_traffic(),
        "removed_versions": capture.removed_versions(),
    }
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "kafkascope report.json, version 1"}
    return {**head, **fields("What a dataset of kafkascope tells", keys)}


def schema_text() -> str:
    """The schema as the file holds it."""
    return json.dumps(report_schema(), indent=1, ensure_ascii=True) + "\n"


def packaged_schema() -> Shape:
    """The schema that came with the package."""
    shape: Shape = json.loads((files(__package__) / SCHEMA_FILE).read_text("ascii"))
    return shape
