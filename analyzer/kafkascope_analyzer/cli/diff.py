"""`kafkascope diff`: two captures of the same application. Reads tables and stories, starts no Spark."""

from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import Format, FormatOption
from kafkascope_analyzer.cli.show import show_model


def diff(
    before: Annotated[str, typer.Argument(metavar="A.kscope", help="The dataset to compare with.", show_default=False)],
    after: Annotated[str, typer.Argument(metavar="B.kscope", help="The dataset to judge.", show_default=False)],
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Compare two captures of one application: starts and their steps, latency, errors, versions, rebalances."""
    with exit_codes(Messages.of(format)):
        from kafkascope_analyzer.dataset.dataset import Dataset
        from kafkascope_analyzer.report.model.compare import comparison
        from kafkascope_analyzer.report.terminal.compare import render_comparison

        model = comparison(Dataset.open(before), Dataset.open(after))
        show_model(model, render_comparison(model), format)
