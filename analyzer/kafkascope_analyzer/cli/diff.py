"""`kafkascope diff`: compares two captures of the same application. Reads tables and stories, starts no Spark."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster, open_one_cluster
from kafkascope_analyzer.cli.exits import FOUND, CommandEnd, exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import Format, FormatOption, OverwriteFiles
from kafkascope_analyzer.cli.report_files import STANDARD_OUTPUT, ReportFiles
from kafkascope_analyzer.cli.show import show_model
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.report.model.compare import Comparison


class Worse(str, Enum):  # noqa: UP042 - typer's choices want the value as text on every supported Python
    """Kinds of change for which `--fail-on` ends with exit code 1."""

    any = "any"
    starts = "starts"
    incidents = "incidents"
    recoveries = "recoveries"
    latency = "latency"
    errors = "errors"
    rebalances = "rebalances"


@dataclass(frozen=True, kw_only=True)
class DiffArguments:
    """The arguments of `kafkascope diff`."""

    before: Annotated[str, typer.Argument(metavar="A.kscope", help="The dataset to compare with.", show_default=False)]
    after: Annotated[str, typer.Argument(metavar="B.kscope", help="The dataset to judge.", show_default=False)]
    cluster: Cluster = None
    other_cluster: Annotated[
        str | None,
        typer.Option(
            "--other-cluster",
            metavar="NAME",
            help="The cluster of B, if it is not the same as that of A. [default: --cluster]",
            show_default=False,
        ),
    ] = None
    format: FormatOption = Format.rich
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write it as Markdown, for a merge request; - is standard output.", show_default=False
        ),
    ] = None
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write it as one HTML file, which needs no network; - is standard output.",
            show_default=False,
        ),
    ] = None
    overwrite: OverwriteFiles = False
    fail_on: Annotated[
        list[Worse] | None,
        typer.Option(
            "--fail-on",
            help="End with exit code 1 where any of these is worse in B: slower or failed starts, new or worse "
            "incidents and recoveries, slower APIs, new or more errors, more rebalances; may be repeated.",
            show_default=False,
        ),
    ] = None


def diff(given: DiffArguments) -> None:
    """Compare two captures of one application: starts, incidents, recoveries, latency, errors, versions, rebalances.

    Two clusters of one dataset: the dataset twice, with --cluster and --other-cluster.
    """
    with exit_codes(Messages.of(given.format)):
        forms = ReportFiles(markdown=given.markdown, html=given.html)
        forms.check(overwrite=given.overwrite)
        from kafkascope_analyzer.report.model.compare import comparison
        from kafkascope_analyzer.report.terminal.compare import render_comparison

        before = open_one_cluster(given.before, given.cluster)
        after = open_one_cluster(given.after, given.other_cluster or given.cluster)
        model = comparison(before, after)
        if not forms.wanted:
            show_model(model, render_comparison(model), given.format)
        for form, place in forms.wanted:
            _write(model, form, place)
        _end_if_worse(model, given.fail_on or ())


def _write(model: "Comparison", form: str, place: Path) -> None:
    """Writes the comparison to a file, or to standard output. Raises UsageError where it cannot be written."""
    from kafkascope_analyzer.report.html.compare import comparison_page
    from kafkascope_analyzer.report.html.write import write_page
    from kafkascope_analyzer.report.markdown.compare import markdown_comparison

    text = comparison_page(model) if form == "html" else markdown_comparison(model)
    if place == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    try:
        write_page(text, place)
    except OSError as error:
        raise UsageError(f"--{form} {place}: cannot be written: {error.strerror or error}") from error


def _end_if_worse(model: "Comparison", fail_on: Sequence[Worse]) -> None:
    """Ends the command with exit code 1 where one of the kinds of change that the user named became worse."""
    from kafkascope_analyzer.report.model.compare import n_worse

    named = {each.value for each in fail_on}
    found = {name: n for name, n in n_worse(model).items() if name in named or Worse.any in fail_on}
    if found:
        raise CommandEnd(f"worse than before: {', '.join(f'{name} ({n:,})' for name, n in found.items())}", FOUND)
