"""`kafkascope stories`: the part that needs Spark, on a dataset that is there."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.found import end_if_found, known_rules
from kafkascope_analyzer.cli.lean import arrow_without_pandas
from kafkascope_analyzer.cli.options import DatasetUri, FailOn, Format, FormatOption, Ignore, Master, Quiet, Remote
from kafkascope_analyzer.cli.outputs import replaced
from kafkascope_analyzer.cli.progress import note, waiting
from kafkascope_analyzer.cli.show import show
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset


def stories(
    dataset: DatasetUri,
    master: Master = None,
    remote: Remote = None,
    quiet: Quiet = False,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
    fail_on: FailOn = None,
    ignore: Ignore = None,
) -> None:
    """Rebuild clients, their starts and recoveries on Spark, find what is wrong; rewrite report.json; print it."""
    with exit_codes():
        arrow_without_pandas()
        from kafkascope_analyzer.dataset.dataset import Dataset

        ignored = known_rules(ignore)
        opened = Dataset.open(dataset)
        if opened.local_folder is None:
            raise UsageError(f"{dataset}: stories are not yet made on this storage")
        problem = java_problem(remote)
        if problem:
            raise UsageError(problem)
        write_stories(opened.local_folder, (master, remote), quiet=quiet, ignored=ignored)
        written = Dataset.open(dataset)
        show_report(written, format)
        note(f"dataset: {dataset}, report: {written.uri_of('report.json')}", quiet=quiet)
        end_if_found(written, fail_on)


def java_problem(remote: str | None = None) -> str | None:
    """Why Spark cannot start here; None where it can, or where it runs elsewhere (remote, or SPARK_REMOTE)."""
    from kafkascope_spark.session import java_problem as problem

    if remote or os.environ.get("SPARK_REMOTE"):
        return None
    found: str | None = problem()
    return found


def write_stories(
    dataset: Path, where: tuple[str | None, str | None], *, quiet: bool, ignored: frozenset[str] = frozenset()
) -> None:
    """Runs Spark over the tables; the stories are there when it ends. where: master, remote; ignored: rules."""
    from kafkascope_spark.stories import write_stories as run_stories

    master, remote = where
    what = "stories: clients, starts, recoveries, findings (Spark)"
    with waiting(what, quiet=quiet), replaced(dataset / "stories"):
        run_stories(dataset, master=master, remote=remote, ignored=ignored)


def show_report(dataset: "Dataset", how: Format) -> None:
    """Writes report.json from the tables as they are now and prints the report."""
    from kafkascope_analyzer.report.model import report_model, write_report

    model = report_model(dataset)
    write_report(dataset, model)
    show(model, how, str(dataset))
