#!/usr/bin/env python3
"""Writes the files that are made from the program's own declarations: the reference pages under docs/ (a module each in
scripts/reference), the schema of report.json that comes with the package, and its types for the script of the HTML
report.

scripts/reference_pages.py            # writes them
scripts/reference_pages.py --check    # exit 1 where one is not current
"""

import sys
from collections.abc import Callable
from pathlib import Path

from reference.advice import advice_page
from reference.commands import commands_page
from reference.protocol import protocol_page
from reference.report import report_page
from reference.roles import roles_page
from reference.tables import tables_page

from kafkascope_analyzer.report.schema import schema_text
from kafkascope_analyzer.report.schema.typescript import story_types
from kafkascope_spark.stories.findings.pages import index_page, rule_page
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.incidents.kinds import KINDS
from kafkascope_spark.stories.incidents.pages import kinds_page

Page = Callable[[], str]

DOCS = Path(__file__).resolve().parent.parent / "docs"
REPORT = "../analyzer/kafkascope_analyzer/report"
GENERATED = "<!-- Made by scripts/reference_pages.py: change the source, not this page. -->\n"
PAGES: dict[str, Page] = {
    "report.md": report_page,
    "tables.md": tables_page,
    "commands.md": commands_page,
    "protocol.md": protocol_page,
    "roles.md": roles_page,
    "advice.md": advice_page,
    "incidents.md": lambda: kinds_page(KINDS),
    "rules/README.md": lambda: index_page(RULES),
    **{f"rules/{rule.name}.md": lambda rule=rule: rule_page(rule) for rule in RULES},  # type: ignore[misc]
}
"""Path below docs/ -> the page, which is written below the line GENERATED."""
FILES: dict[str, Page] = {
    f"{REPORT}/schema/report.schema.json": schema_text,
    f"{REPORT}/html/script/facts/story.d.ts": story_types,
}


def contents() -> dict[str, str]:
    """The content of each generated file, by its path from docs/."""
    pages = {name: f"{GENERATED}{page()}" for name, page in PAGES.items()}
    return pages | {name: made() for name, made in FILES.items()}


def main() -> int:
    made = {DOCS / name: text for name, text in contents().items()}
    if "--check" not in sys.argv[1:]:
        for path, text in made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [str(path) for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if stale:
        print(f"not current: {', '.join(stale)}; run scripts/reference_pages.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
