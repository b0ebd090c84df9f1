"""Writes results on standard output in the requested format."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.options import Format

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kafkascope_analyzer.dataset.failed_parts import FailedParts
    from kafkascope_analyzer.report.model.clusters import ClusterReports
    from kafkascope_analyzer.report.model.report import Report
    from kafkascope_analyzer.report.model.traffic import Traffic


def show_model(model: object, parts: "Iterable[RenderableType]", how: Format) -> None:
    """Writes the model as JSON, or its parts as text."""
    if how is Format.json:
        from kafkascope_analyzer.report.plain import to_json

        sys.stdout.write(to_json(model))
        return
    from kafkascope_analyzer.report.terminal.page import write_parts

    write_parts(parts, sys.stdout, plain=how is Format.plain)


def show(
    model: "Report | ClusterReports",
    how: Format,
    dataset: str,
    failed_parts: "FailedParts",
    *,
    everything: bool = False,
) -> None:
    """Writes the report: JSON in the form of report.json, or text, in which commands name the dataset. failed_parts:
    collects parts that cannot be shown; everything: whether the text has more than the first screen.
    """
    from kafkascope_analyzer.report.commands import at_place
    from kafkascope_analyzer.report.terminal.clusters import render_all

    if how is Format.json:
        show_model(model, (), how)
    else:
        show_model(model, render_all(at_place(model, dataset), failed_parts, everything=everything), how)


def show_traffic(model: "Traffic", how: Format) -> None:
    """Writes the part of the report that comes from the tables of `ingest`."""
    from kafkascope_analyzer.report.terminal.overview import render_overview

    show_model(model, render_overview(model), how)
