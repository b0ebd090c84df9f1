"""`kafkascope diff`: two captures of the same application. Reads tables and stories, starts no Spark."""

from typing import Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster, open_one_cluster
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import Format, FormatOption
from kafkascope_analyzer.cli.show import show_model


def diff(
    before: Annotated[str, typer.Argument(metavar="A.kscope", help="The dataset to compare with.", show_default=False)],
    after: Annotated[str, typer.Argument(metavar="B.kscope", help="The dataset to judge.", show_default=False)],
    cluster: Cluster = None,
    other_cluster: Annotated[
        str | None,
        typer.Option(
            "--other-cluster",
            metavar="NAME",
            help="The cluster of B, where it is another one than that of A. [default: --cluster]",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Compare two captures of one application: starts and their steps, latency, errors, versions, rebalances.

    Two clusters of one dataset: the dataset twice, with --cluster and --other-cluster.
    """
    with exit_codes(Messages.of(format)):
        from kafkascope_analyzer.report.model.compare import comparison
        from kafkascope_analyzer.report.terminal.compare import render_comparison

        model = comparison(open_one_cluster(before, cluster), open_one_cluster(after, other_cluster or cluster))
        show_model(model, render_comparison(model), format)
