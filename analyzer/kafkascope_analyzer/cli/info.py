"""`kafkascope info`: a quick overview of a capture or a dataset. Never starts Spark."""

from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster, open_dataset
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.fail_on import end_if_incomplete, end_without_kafka
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import Format, FormatOption
from kafkascope_analyzer.cli.show import show_model
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset


def info(
    place: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE|OUT.kscope", help="A capture, a directory of captures, or a dataset.", show_default=False
        ),
    ],
    cluster: Cluster = None,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Show what is in a capture or a dataset."""
    with exit_codes(Messages.of(format)):
        from kafkascope_analyzer.dataset.dataset_uri import is_dataset

        if place != "-" and is_dataset(place):
            _show_dataset(open_dataset(place, cluster), format)
            return
        if cluster is not None:
            raise UsageError(f"--cluster {cluster}: {place} is a capture: kafkascope analyze makes a dataset of it")
        from kafkascope_analyzer.cli.capture_info import show_capture

        show_capture(place, format)


def _show_dataset(dataset: "Dataset", how: Format) -> None:
    """Shows the overview from the tables of `ingest`, and the byte ledger in full."""
    from kafkascope_analyzer.report.model.traffic import info_model
    from kafkascope_analyzer.report.terminal.ledger import render_ledger
    from kafkascope_analyzer.report.terminal.overview import render_overview

    model = info_model(dataset)
    show_model(model, [*render_overview(model), *render_ledger(model.ledger)], how)
    end_if_incomplete(model)
    end_without_kafka(dataset)
