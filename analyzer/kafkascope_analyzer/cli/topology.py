"""`kafkascope topology`: brokers, leaders and coordinators at a time, or how they changed. Never starts Spark."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import DatasetUri, Format, FormatOption

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset


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
    """Show brokers, and how leaders and coordinators moved, or who they were at a time."""
    with exit_codes():
        from kafkascope_analyzer.dataset.dataset import Dataset

        model = _model(Dataset.open(dataset), at, upgrades=upgrades)
        if format is Format.json:
            from kafkascope_analyzer.report.model import to_json

            sys.stdout.write(to_json(model))
            return
        from kafkascope_analyzer.report.terminal import write_parts
        from kafkascope_analyzer.report.terminal_topology import render_topology, render_upgrades

        render = render_upgrades if upgrades else render_topology
        write_parts(render(model), sys.stdout, plain=format is Format.plain)


def _model(dataset: "Dataset", at: str | None, *, upgrades: bool) -> dict[str, Any]:
    """The cluster at a time, or how it changed, restarts among that. Raises UsageError."""
    from kafkascope_analyzer.report.restarts import load_restarts
    from kafkascope_analyzer.report.topology import topology_model
    from kafkascope_parsers.errors import UsageError

    if upgrades and at is not None:
        raise UsageError("--upgrades is about the whole capture: leave --at out")
    model = topology_model(dataset, at)
    if at is not None:
        return model
    restarts = load_restarts(dataset)
    if not upgrades:
        return {**model, "restarts": restarts}
    return {name: model[name] for name in ("capture", "mode", "sentence")} | {"restarts": restarts}
