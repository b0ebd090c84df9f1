"""`kafkascope timeline`: how clients started, or how one got over an error, as a waterfall. Starts no Spark."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import DatasetUri, Format, FormatOption

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset


def timeline(
    dataset: DatasetUri,
    client: Annotated[
        str | None,
        typer.Option(
            "--client", metavar="ID", help="Only this client: its client id or client_instance_id.", show_default=False
        ),
    ] = None,
    recovery: Annotated[
        str | None,
        typer.Option("--recovery", metavar="ID", help="Instead: one episode, by its recovery_id.", show_default=False),
    ] = None,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Draw how clients started, step by step, and whose time each step was; or how one got over an error."""
    with exit_codes():
        from kafkascope_analyzer.dataset.dataset import Dataset

        opened = Dataset.open(dataset)
        if recovery is not None:
            _recovery(opened, recovery, client, format)
            return
        from kafkascope_analyzer.report.starts import cadences_of, clients_of, starts_of

        found = clients_of(opened, client)
        ids = [c["client_instance_id"] for c in found]
        starts, loops = starts_of(opened, ids), cadences_of(opened, ids)
        for row in found:
            row["starts"] = starts[row["client_instance_id"]]
            row["cadences"] = loops[row["client_instance_id"]]
        begun = [s["start_ns"] for row in found for s in row["starts"]]
        model = {"start_ns": min(begun, default=0), "clients": found}
        if format is Format.json:
            sys.stdout.write(json.dumps(model, indent=2, ensure_ascii=True) + "\n")
            return
        from kafkascope_analyzer.report.terminal import write_parts
        from kafkascope_analyzer.report.waterfall import render_timeline

        write_parts(render_timeline(model), sys.stdout, plain=format is Format.plain)


def _recovery(dataset: "Dataset", name: str, client: str | None, format: Format) -> None:  # noqa: A002 - as above
    from kafkascope_analyzer.report.episode import episode_model
    from kafkascope_analyzer.report.explain.identities import RECOVERY, identity_of
    from kafkascope_parsers.errors import UsageError

    if client is not None:
        raise UsageError("--recovery is one client's already: leave --client out")
    model = episode_model(dataset, identity_of(dataset, name, RECOVERY).id)
    if format is Format.json:
        model["files"] = {str(i): path for i, path in model["files"].items()}
        sys.stdout.write(json.dumps(model, indent=2, ensure_ascii=True) + "\n")
        return
    from kafkascope_analyzer.report.recovery_waterfall import render_recovery
    from kafkascope_analyzer.report.terminal import write_parts

    write_parts(render_recovery(model), sys.stdout, plain=format is Format.plain)
