"""The schema of report.json: every key with its type and description, made from the dataclass Report.

`report.schema.json` beside this file is the result of `report_schema()`, written by scripts/reference_pages.py.
"""

import json
from importlib.resources import files

from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.model.traffic import REPORT_VERSION
from kafkascope_analyzer.report.schema.shapes import Shape, shape_of

SCHEMA_FILE = "report.schema.json"


def report_schema() -> Shape:
    """Returns the JSON Schema, draft 2020-12, of report.json."""
    shape = shape_of(Report)
    properties = shape["properties"]
    assert isinstance(properties, dict)
    properties["report_version"] |= {"const": REPORT_VERSION}
    title = f"kafkascope report.json, version {REPORT_VERSION}"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **shape}


def schema_text() -> str:
    """Returns the schema as the text of the file."""
    return json.dumps(report_schema(), indent=1, ensure_ascii=True) + "\n"


def packaged_schema() -> Shape:
    """Returns the schema that came with the package."""
    shape: Shape = json.loads((files(__package__) / SCHEMA_FILE).read_text("ascii"))
    return shape
