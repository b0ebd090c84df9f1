"""The types of report.json as TypeScript declarations.

scripts/reference_pages.py writes them to report/html/script/report.d.ts, so that the type checker compares the page's
script with the schema: a key that a report does not have is an error there.
"""

import json
from typing import Any

from kafkascope_analyzer.report.html.story import ROWS
from kafkascope_analyzer.report.schema import report_schema
from kafkascope_analyzer.report.schema.shapes import shape_of

_HEAD = "// Made by scripts/reference_pages.py from the dataclasses of the report and of the page: change those.\n"
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def report_types() -> str:
    """The text of report.d.ts."""
    parts = [_HEAD, f"export interface Report {_type(report_schema(), '')}\n"]
    parts += [f"export interface {name} {_type(shape_of(kind, clip=False), '')}\n" for name, kind in ROWS.items()]
    return "\n".join(parts)


def _type(shape: Any, indent: str) -> str:
    """The type of a shape; indent is that of the line on which it stands."""
    if "const" in shape:
        return json.dumps(shape["const"])
    if "enum" in shape:
        return " | ".join(json.dumps(value) for value in shape["enum"])
    kinds = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
    return " | ".join(_of_kind(kind, shape, indent) for kind in kinds)


def _of_kind(kind: str, shape: Any, indent: str) -> str:
    if kind == "array":
        inner = _type(shape["items"], indent)
        return f"({inner})[]" if "|" in inner.partition("{")[0] or inner.endswith("| null") else f"{inner}[]"
    if kind != "object":
        return _SIMPLE[kind]
    if "properties" not in shape:
        return f"Record<string, {_type(shape['additionalProperties'], indent)}>"
    return _object(shape, indent)


def _object(shape: Any, indent: str) -> str:
    deeper = indent + "  "
    lines = []
    for key, inner in shape["properties"].items():
        if inner.get("description"):
            lines.append(f"{deeper}/** {inner['description'].replace('*/', '* /')} */")
        lines.append(f"{deeper}{key}: {_type(inner, deeper)};")
    return "\n".join(["{", *lines, f"{indent}}}"])
