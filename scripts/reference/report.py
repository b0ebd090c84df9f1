"""docs/report.md: the keys of report.json, from its schema."""

from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.report.schema import report_schema
from kafkascope_analyzer.report.schema.shapes import Shape
from kafkascope_spark.stories.tables import STORY_TABLES

REPORT_HEAD = """# report.json

`analyze` and `stories` write it into the dataset; `kafkascope report OUT.kscope --json -` makes it anew and prints it.
The terminal report, Markdown and HTML are renderings of it. The same dataset gives the same bytes.

- Times are nanoseconds since the epoch (`*_ns`), durations microseconds (`*_us`) or milliseconds (`*_ms`); null is "the
  capture does not tell". Counts begin with `n`; `n_*` beside a list counts all, the list has a limit, so that the
  report on a whole day opens; the tables have everything.
- The file is ASCII: other characters are escaped. Strangers' text is as it was on the wire.
- Its schema (JSON Schema, draft 2020-12) is `kafkascope_analyzer/report/schema/report.schema.json`. `report_version`
  changes when a key changes its meaning or goes; new keys may come without that.
- A row of a table has the table's columns too ([tables.md](tables.md)), but for timestamps (`*_ts`).
"""


COLUMNS = {(column.name, column.doc) for table in (*INGEST_TABLES, *STORY_TABLES) for column in table.columns}
"""Every column of the tables, which are described on their own page."""
KEYS_HEAD = ("", "| key | type | what |", "|---|---|---|")


def report_page() -> str:
    """The keys of the report, and for each that is an object or a list of objects the keys in it."""
    keys = report_schema()["properties"]
    parts = [REPORT_HEAD, "| key | what |", "|---|---|"]
    parts += [f"| `{key}` | {shape['description']} |" for key, shape in keys.items()]
    for key, shape in keys.items():
        inner = shape.get("items", shape)
        if "properties" in inner:
            described = f"{shape['description'][0].upper()}{shape['description'][1:]}."
            parts += ["", f"## {key}", "", described, *KEYS_HEAD]
            parts += report_keys(inner, "[]." if "items" in shape else "")
    return "\n".join(parts) + "\n"


def report_keys(shape: Shape, before: str) -> list[str]:
    """A line a key, those of nested objects after it; columns of a table's row are on the page of tables."""
    is_row = shape.get("description", "").startswith("a row of")
    lines = []
    for key, inner in shape.get("properties", {}).items():
        if is_row and (key, inner.get("description")) in COLUMNS:
            continue
        kinds = inner["type"] if isinstance(inner["type"], list) else [inner["type"]]
        what = inner.get("description", "")
        items = inner.get("items", {})
        if items.get("description", "").startswith("a row of"):
            what += f" ({items['description'].replace('a row of', 'rows of')})"
        values = f": {', '.join(f'`{v}`' for v in inner['enum'] if v)}" if "enum" in inner else ""
        lines.append(f"| `{before}{key}` | {' or '.join(kinds)} | {(what + values).replace('|', '/')} |")
        nested = items if "properties" in items else inner
        lines += report_keys(nested, f"{before}{key}{'[]' if nested is items else ''}.")
    return lines
