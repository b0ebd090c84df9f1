"""`kafkascope topology`: brokers, leaders and coordinators at a time, or how they changed. Never starts Spark."""

import sys
from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import DatasetUri, Format, FormatOption


def topology(
    dataset: DatasetUri,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Show this time: ISO 8601 (UTC without a zone) or an offset from the capture's start such as +12.5s.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Show brokers, and how leaders and coordinators moved, or who they were at a time."""
    with exit_codes():
        from kafkascope_analyzer.dataset.dataset import Dataset
        from kafkascope_analyzer.report.model.topology import topology_model

        model = topology_model(Dataset.open(dataset), at)
        if format is Format.json:
            from kafkascope_analyzer.report.plain import to_json

            sys.stdout.write(to_json(model))
            return
        from kafkascope_analyzer.report.terminal.report import write_parts
        from kafkascope_analyzer.report.terminal.topology import render_topology

        write_parts(render_topology(model), sys.stdout, plain=format is Format.plain)
