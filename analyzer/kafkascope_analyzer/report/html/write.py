"""Makes the HTML report and writes it, whole or not at all."""

import os
from pathlib import Path

from kafkascope_analyzer.report.formatting import LONGEST_PROSE, safe, visible
from kafkascope_analyzer.report.html.embedded_data import packed_columns, packed_json, shown
from kafkascope_analyzer.report.html.page import page
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.page_model.page_model import PageModel
from kafkascope_analyzer.report.plain import plain

MOST_BRIEF = 50


def write_html(report: Report, model: PageModel, place: Path) -> None:
    """Writes the report as one HTML file.

    model: the result of page_model for the same report. The same models give the same bytes. Raises OSError where the
    file cannot be written.
    """
    write_page(render_html(report, model), place)


def write_page(text: str, place: Path) -> None:
    """Writes a page, whole or not at all. Raises OSError."""
    beside = place.with_name(f".{place.name}.partial")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)


def render_html(report: Report, model: PageModel) -> str:
    """Returns the file's text."""
    brief = [visible(sentence[:LONGEST_PROSE]) for sentence in brief_of(report)]
    values = shown(plain(model.story), report.capture.begin_ns)
    islands = {"data-story": packed_json(values), "data-columns": packed_columns(model.columns)}
    return page(safe(model.story.capture.title), brief, islands)


def brief_of(report: Report) -> list[str]:
    """Returns the report in a few sentences, for readers without scripts."""
    sentences = [report.headline.sentence, *report.headline.details]
    sentences += [f"{row.severity}: {row.title}, {row.when}" for row in report.incidents.listed]
    sentences += [f"{row.severity}: {row.sentence}" for row in report.findings.listed]
    return sentences[:MOST_BRIEF]
