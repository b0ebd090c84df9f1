"""`kafkascope stories`: the part of the analysis that needs Spark, on an existing dataset."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, cancelled_when_interrupted, exit_codes
from kafkascope_analyzer.cli.fail_on import end_if_found, end_if_incomplete, end_without_kafka, known_rules
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import (
    DatasetUri,
    FailOn,
    Format,
    FormatOption,
    Ignore,
    Master,
    Quiet,
    Remote,
    Stall,
)
from kafkascope_analyzer.cli.progress import MAKING_REPORT, waiting
from kafkascope_analyzer.cli.show import show
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.hidden_pandas import arrow_without_pandas
from kafkascope_analyzer.dataset.installed import lack_of
from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS, parse_stall
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.report.model.clusters import ClusterReports
    from kafkascope_analyzer.report.model.report import Report


@dataclass(frozen=True, kw_only=True)
class StoryOptions:
    """The options of commands that make stories."""

    fail_on: FailOn = None
    ignore: Ignore = None
    stall: Stall = None

    @property
    def choice(self) -> "StoryChoice":
        """The user's choices about the stories. Raises UsageError where an option is wrong."""
        return story_choice(self.ignore, self.stall)


@dataclass(frozen=True, kw_only=True)
class StoriesArguments(StoryOptions):
    """The arguments of `kafkascope stories`."""

    dataset: DatasetUri
    master: Master = None
    remote: Remote = None
    quiet: Quiet = False
    format: FormatOption = Format.rich


def stories(given: StoriesArguments) -> None:
    """Rebuild clients, their starts and recoveries on Spark, find what is wrong; rewrite report.json; print it."""
    messages, dataset = Messages.of(given.format, quiet=given.quiet), given.dataset
    with exit_codes(messages, NOTHING_WRITTEN) as written:
        arrow_without_pandas()
        from kafkascope_analyzer.dataset.dataset import Dataset

        choice = given.choice
        Dataset.open(dataset)
        problem = spark_problem(given.remote)
        if problem:
            raise UsageError(problem)
        write_stories(dataset, (given.master, given.remote), choice, quiet=given.quiet)
        written.clause = f"the stories of {dataset} are written; `kafkascope report {dataset}` shows them"
        with_stories = Dataset.open(dataset)
        failed = FailedParts()
        model = show_report(with_stories, given.format, failed, quiet=given.quiet)
        messages.note(f"dataset: {dataset}, report: {with_stories.uri_of('report.json')}")
        end_if_incomplete(model, failed)
        end_if_found(with_stories, model, given.fail_on)
        end_without_kafka(with_stories)


def spark_problem(remote: str | None = None) -> str | None:
    """Returns why Spark cannot be used: it is not installed, or, unless it runs elsewhere (remote, or SPARK_REMOTE),
    there is no Java for it. None where it can be used."""
    from kafkascope_spark.session.java import java_problem

    lack = lack_of("pyspark", "stories")
    if lack is not None or remote or os.environ.get("SPARK_REMOTE"):
        return lack
    return java_problem()


@dataclass(frozen=True, slots=True)
class StoryChoice:
    """The user's choices about the stories. ignored: rules to ignore; stall_ms: the shortest wait that is a stall."""

    ignored: frozenset[str] = frozenset()
    stall_ms: int = DEFAULT_STALL_MS


def story_choice(ignore: list[str] | None, stall: str | None) -> StoryChoice:
    """Returns the choice in the options. Raises UsageError where one of them is wrong."""
    return StoryChoice(known_rules(ignore), DEFAULT_STALL_MS if stall is None else parse_stall(stall))


def write_stories(
    dataset: str | Path, where: tuple[str | None, str | None], choice: StoryChoice, *, quiet: bool
) -> None:
    """Runs Spark over the tables and writes the stories. where: master, remote.

    Raises UsageError like Spark's write_stories, and SparkError when Spark fails; then the old stories are kept.
    """
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.dataset.new_dataset import NewDataset

    before = Dataset.open(dataset)
    with NewDataset(before.storage) as new:
        new.commit(make_stories(new.former or before, where, choice, quiet=quiet))


def make_stories(
    dataset: "Dataset", where: tuple[str | None, str | None], choice: StoryChoice, *, quiet: bool
) -> "Dataset":
    """Runs Spark over the tables and writes the files of the stories. Returns the dataset with them; it is not
    committed. Arguments and errors as in `write_stories`.
    """
    from kafkascope_spark.failures import spark_failures
    from kafkascope_spark.session import cancel_jobs, open_session
    from kafkascope_spark.write_stories import make_stories as run_stories

    master, remote = where
    with (
        cancelled_when_interrupted(cancel_jobs),
        waiting("starting Spark", quiet=quiet) as name_stage,
        spark_failures(),
    ):
        if master is not None and quiet:
            open_session(master, quiet=True)  # the stories use the open session
        return run_stories(
            dataset, master=master, remote=remote, ignored=choice.ignored, stall_ms=choice.stall_ms, stage=name_stage
        )


def show_report(
    dataset: "Dataset", how: Format, failed_parts: FailedParts, *, quiet: bool
) -> "Report | ClusterReports":
    """Writes report.json and views.sql from the current tables, prints the report and returns it. failed_parts:
    collects parts that cannot be shown."""
    from kafkascope_analyzer.dataset.kept_tables import kept
    from kafkascope_analyzer.report.model.clusters import report_of, write_report
    from kafkascope_analyzer.sql.views_file import write_views

    with waiting(MAKING_REPORT, quiet=quiet):
        tables = kept(dataset)
        model = report_of(tables)
    write_report(tables, model)
    write_views(dataset)
    show(model, how, str(dataset), failed_parts)
    return model
