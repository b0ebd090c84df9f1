"""Writes a report on standard output in the format that the user asked for."""

import sys
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.options import Format

if TYPE_CHECKING:
    from kafkascope_analyzer.report.model.report import Traffic


def show(model: "Traffic", how: Format, dataset: str, *, routine: bool = False) -> None:
    """The report: JSON as report.json holds it, or text, in which commands name the dataset; routine: whether the text
    lists routine incidents.
    """
    if how is Format.json:
        from kafkascope_analyzer.report.plain import to_json

        sys.stdout.write(to_json(model))
        return
    from kafkascope_analyzer.report.commands import at_place
    from kafkascope_analyzer.report.terminal.report import render_to

    render_to(at_place(model, dataset), sys.stdout, plain=how is Format.plain, routine=routine)
