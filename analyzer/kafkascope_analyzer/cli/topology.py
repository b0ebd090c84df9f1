"""`kafkascope topology`: shows brokers, leaders and coordinators at a time, or how they changed. Never starts Spark."""

from typing import Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster, open_one_cluster
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.fail_on import end_without_kafka
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import DatasetUri, Format, FormatOption
from kafkascope_analyzer.cli.show import show_model


def topology(
    dataset: DatasetUri,
    cluster: Cluster = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Show this time: ISO 8601 (UTC without a zone) or an offset from the capture's start such as +12.5s.",
            show_default=False,
        ),
    ] = None,
    upgrades: Annotated[
        bool,
        typer.Option(
            "--upgrades",
            help="Show only the restarts of brokers: their order, the release before and after each, and which "
            "clients waited because of it.",
        ),
    ] = False,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Show brokers, and how leaders and coordinators moved, or which they were at a time."""
    with exit_codes(Messages.of(format)):
        from kafkascope_analyzer.report.model.restarts import load_history, load_upgrades
        from kafkascope_analyzer.report.model.topology import topology_model
        from kafkascope_analyzer.report.terminal.topology import render_topology, render_upgrades
        from kafkascope_parsers.errors import UsageError

        if upgrades and at is not None:
            raise UsageError("--upgrades is about the whole capture: leave --at out")
        opened = open_one_cluster(dataset, cluster)
        if upgrades:
            found = load_upgrades(opened)
            show_model(found, render_upgrades(found), format)
        else:
            model = load_history(opened) if at is None else topology_model(opened, at)
            show_model(model, render_topology(model), format)
        end_without_kafka(opened)
