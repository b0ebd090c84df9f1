"""`kafkascope report`: shows a dataset's report on the terminal, or writes it to a file. Starts no Spark."""

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import DatasetUri, FailOn, Format, FormatOption, Json, OverwriteFiles, Quiet
from kafkascope_analyzer.cli.report_files import STANDARD_OUTPUT, FormOptions, ReportFiles, write_report_files
from kafkascope_analyzer.cli.restrictions import Restriction, open_restricted


@dataclass(frozen=True, kw_only=True)
class ReportArguments(FormOptions, Restriction):
    """The arguments of `kafkascope report`."""

    dataset: DatasetUri
    json: Json = None
    overwrite: OverwriteFiles = False
    quiet: Quiet = False
    format: FormatOption = Format.rich
    fail_on: FailOn = None
    everything: Annotated[
        bool, typer.Option("--all", help="On the terminal, show everything: clients, starts, groups, requests, ...")
    ] = False

    @property
    def forms(self) -> ReportFiles:
        """The requested files."""
        return replace(super().forms, json=self.json)


def report(given: ReportArguments) -> None:
    """Show a dataset's report, incidents first. With --html, --json or another form, write that instead.

    --client, --group, --topic, --node, --from and --to restrict any form to what concerns them: several kinds must all
    hold, several values of one kind any of them.
    """
    messages = Messages.of(given.format, quiet=given.quiet)
    with exit_codes(messages) as written:
        from kafkascope_analyzer.cli.fail_on import end_if_found, end_if_incomplete, end_without_kafka
        from kafkascope_analyzer.cli.progress import MAKING_REPORT, waiting
        from kafkascope_analyzer.cli.show import show
        from kafkascope_analyzer.dataset.failed_parts import FailedParts
        from kafkascope_analyzer.dataset.kept_tables import kept
        from kafkascope_analyzer.report.model.clusters import report_of

        failed, forms = FailedParts(), given.forms
        forms.check(overwrite=given.overwrite)
        opened = kept(open_restricted(given.dataset, given))
        with waiting(MAKING_REPORT, quiet=given.quiet):
            model = report_of(opened)
        if not forms.wanted:
            show(model, given.format, given.dataset, failed, everything=given.everything)
        else:
            written.clause = NOTHING_WRITTEN
            with waiting(MAKING_REPORT, quiet=given.quiet):
                done = write_report_files(opened, model, forms, failed)
            written.clause = "the files are whole"
            for name, place in done:
                if place != STANDARD_OUTPUT:
                    messages.note(f"{name}: {place}")
        end_if_incomplete(model, failed)
        end_if_found(opened, model, given.fail_on)
        end_without_kafka(opened)
