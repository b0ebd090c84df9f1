"""Writes a report on standard output in the format that the user asked for."""

import sys
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.options import Format

if TYPE_CHECKING:
    from kafkascope_analyzer.report.model.report import Report
    from kafkascope_analyzer.report.model.traffic import Traffic


def show(model: "Report", how: Format, dataset: str, *, routine: bool = False) -> None:
    """The report: JSON as report.json holds it, or text, in which commands name the dataset; routine: whether the text
    lists routine incidents.
    """
    if how is Format.json:
        from kafkascope_analyzer.report.plain import to_json

        sys.stdout.write(to_json(model))
        return
    from kafkascope_analyzer.report.commands import at_place
    from kafkascope_analyzer.report.terminal.page import write_parts
    from kafkascope_analyzer.report.terminal.report import render

    write_parts(render(at_place(model, dataset), routine=routine), sys.stdout, plain=how is Format.plain)


def show_traffic(model: "Traffic", how: Format) -> None:
    """The part of the report that comes from the tables of `ingest`."""
    if how is Format.json:
        from kafkascope_analyzer.report.plain import to_json

        sys.stdout.write(to_json(model))
        return
    from kafkascope_analyzer.report.terminal.overview import render_overview
    from kafkascope_analyzer.report.terminal.page import write_parts

    write_parts(render_overview(model), sys.stdout, plain=how is Format.plain)
