"""`kafkascope report`: what a dataset holds, on the terminal or as a file. Starts no Spark."""

from typing import Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster
from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import (
    DatasetUri,
    FailOn,
    Format,
    FormatOption,
    From,
    Html,
    Json,
    Junit,
    Markdown,
    OverwriteFiles,
    Perfetto,
    Quiet,
    Sarif,
    To,
)
from kafkascope_analyzer.cli.restrictions import ClientNames, Groups, Nodes, Topics, open_restricted
from kafkascope_analyzer.dataset.restriction import Asked


def report(
    dataset: DatasetUri,
    cluster: Cluster = None,
    client: ClientNames = None,
    group: Groups = None,
    topic: Topics = None,
    node: Nodes = None,
    start: From = None,
    end: To = None,
    html: Html = None,
    markdown: Markdown = None,
    json: Json = None,
    perfetto: Perfetto = None,
    sarif: Sarif = None,
    junit: Junit = None,
    overwrite: OverwriteFiles = False,
    quiet: Quiet = False,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
    fail_on: FailOn = None,
    everything: Annotated[
        bool, typer.Option("--all", help="On the terminal, show everything: clients, starts, groups, requests, ...")
    ] = False,
) -> None:
    """Show a dataset's report, incidents first. With --html, --json or another form, write that instead.

    --client, --group, --topic, --node, --from and --to restrict any form to what concerns them: several kinds must all
    hold, several values of one kind any of them.
    """
    messages = Messages.of(format, quiet=quiet)
    with exit_codes(messages) as written:
        from kafkascope_analyzer.cli.fail_on import end_if_found, end_if_incomplete, end_without_kafka
        from kafkascope_analyzer.cli.progress import MAKING_REPORT, waiting
        from kafkascope_analyzer.cli.report_files import STANDARD_OUTPUT, ReportFiles, write_report_files
        from kafkascope_analyzer.cli.show import show
        from kafkascope_analyzer.dataset.failed_parts import FailedParts
        from kafkascope_analyzer.dataset.kept_tables import kept
        from kafkascope_analyzer.report.model.clusters import report_of

        failed = FailedParts()
        forms = ReportFiles(html, markdown, json, perfetto, sarif, junit)
        forms.check(overwrite=overwrite)
        opened = kept(open_restricted(dataset, cluster, Asked(client, node, group, topic, start, end)))
        with waiting(MAKING_REPORT, quiet=quiet):
            model = report_of(opened)
        if not forms.wanted:
            show(model, format, dataset, failed, everything=everything)
        else:
            written.clause = NOTHING_WRITTEN
            with waiting(MAKING_REPORT, quiet=quiet):
                done = write_report_files(opened, model, forms, failed)
            written.clause = "the files are whole"
            for name, place in done:
                if place != STANDARD_OUTPUT:
                    messages.note(f"{name}: {place}")
        end_if_incomplete(model, failed)
        end_if_found(opened, model, fail_on)
        end_without_kafka(opened)
