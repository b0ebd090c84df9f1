"""`kafkascope stories`: the part of the analysis that needs Spark, on an existing dataset."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.found import end_if_found, known_rules
from kafkascope_analyzer.cli.options import DatasetUri, FailOn, Format, FormatOption, Ignore, Master, Quiet, Remote
from kafkascope_analyzer.cli.progress import note, waiting
from kafkascope_analyzer.cli.show import show
from kafkascope_analyzer.cli.startup import arrow_without_pandas
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
        Dataset.open(dataset)
        problem = java_problem(remote)
        if problem:
            raise UsageError(problem)
        write_stories(dataset, (master, remote), quiet=quiet, ignored=ignored)
        written = Dataset.open(dataset)
        show_report(written, format)
        note(f"dataset: {dataset}, report: {written.uri_of('report.json')}", quiet=quiet)
        end_if_found(written, fail_on)


def java_problem(remote: str | None = None) -> str | None:
    """Why Spark cannot start here; None where it can, or where it runs elsewhere (remote, or SPARK_REMOTE)."""
    from kafkascope_spark.session.java import java_problem as problem

    if remote or os.environ.get("SPARK_REMOTE"):
        return None
    return problem()


def write_stories(
    dataset: str | Path, where: tuple[str | None, str | None], *, quiet: bool, ignored: frozenset[str] = frozenset()
) -> None:
    """Runs Spark over the tables and writes the stories. where: master, remote; ignored: rules.

    Raises UsageError as write_stories of Spark does, SparkError when Spark fails; then the old stories are kept.
    """
    from kafkascope_spark.failures import spark_failures
    from kafkascope_spark.stories import write_stories as run_stories

    master, remote = where
    with waiting("starting Spark", quiet=quiet) as name_stage, spark_failures():
        run_stories(dataset, master=master, remote=remote, ignored=ignored, stage=name_stage)


def show_report(dataset: "Dataset", how: Format) -> None:
    """Writes report.json from the tables as they are now and prints the report."""
    from kafkascope_analyzer.report.model import report_model, write_report

    model = report_model(dataset)
    write_report(dataset, model)
    show(model, how, str(dataset))
