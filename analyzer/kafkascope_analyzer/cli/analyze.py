"""`kafkascope analyze`: the whole analysis, from the captures to the report.

Spark's session is opened while the captures are read (early_session). Without Spark or Java, or when Spark fails, the
tables and the report without stories are written all the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.early_session import early_session
from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, exit_codes
from kafkascope_analyzer.cli.fail_on import end_if_found, end_if_incomplete, end_without_kafka
from kafkascope_analyzer.cli.ingest import IngestArguments, Planned, planned, say_what_was_cut, write_tables
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.progress import MAKING_REPORT, waiting
from kafkascope_analyzer.cli.report_files import FormOptions, write_report_files
from kafkascope_analyzer.cli.show import show
from kafkascope_analyzer.cli.stories import StoryChoice, StoryOptions, make_stories, spark_problem
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.hidden_pandas import arrow_without_pandas
from kafkascope_parsers.errors import SparkError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.dataset.new_dataset import NewDataset
    from kafkascope_analyzer.dataset.storage import Storage
    from kafkascope_analyzer.report.model.clusters import ClusterReports
    from kafkascope_analyzer.report.model.report import Report


@dataclass(frozen=True, kw_only=True)
class AnalyzeArguments(FormOptions, StoryOptions, IngestArguments):
    """The arguments of `kafkascope analyze`."""


def analyze(given: AnalyzeArguments) -> None:
    """Write the whole dataset, tables and stories and report.json, and print the report."""
    messages = Messages.of(given.format, quiet=given.quiet)
    with exit_codes(messages, NOTHING_WRITTEN) as written:
        arrow_without_pandas()
        choice, forms = given.choice, given.forms
        plan = planned(given, messages)
        if plan is None:
            return
        forms.check(overwrite=given.overwrite, captures=plan.inputs)
        problem = spark_problem(given.remote)
        if problem is not None and given.fail_on is not None:
            raise UsageError(f"--fail-on needs the findings, and they need Spark and Java 17 or newer. {problem}")
        analyzed = _write_dataset(given, plan, None if problem is not None else choice, messages)
        place, dataset, model = plan.place, analyzed.dataset, analyzed.model
        written.clause = f"the dataset {place} is whole; `kafkascope report {place}` shows its report"
        from kafkascope_analyzer.report.model.clusters import write_report
        from kafkascope_analyzer.sql.views_file import write_views

        write_report(analyzed.tables, model)
        write_views(dataset)
        failed = FailedParts()
        with waiting(MAKING_REPORT, quiet=given.quiet):
            written_forms = write_report_files(analyzed.tables, model, forms, failed)
        if not forms.on_standard_output:
            show(model, given.format, str(place), failed)
        _say_what_is_there(place, written_forms, problem, messages)
        if analyzed.failure is not None:
            raise SparkError(f"{analyzed.failure}; the tables are complete: `kafkascope stories {place}` tries again")
        end_if_incomplete(model, failed)
        end_if_found(dataset, model, given.fail_on)
        end_without_kafka(dataset)


@dataclass(frozen=True, slots=True)
class _Analyzed:
    """The dataset that was written, and its report."""

    dataset: "Dataset"
    tables: "Dataset"
    """The dataset, whose tables are kept in memory once they are read."""
    model: "Report | ClusterReports"
    failure: SparkError | None
    """Why there are no stories, where Spark failed."""


def _write_dataset(given: AnalyzeArguments, plan: Planned, choice: StoryChoice | None, messages: Messages) -> _Analyzed:
    """Reads the captures, makes the stories and commits the dataset. choice: None where stories cannot be made. Raises
    CaptureError, UsageError, SparkError."""
    from kafkascope_analyzer.dataset.new_dataset import NewDataset

    failure = None
    with NewDataset(plan.place, given.temporary, replaces=plan.replaces) as new:
        # The early session has no connectors, so it is only for a dataset on this machine.
        is_early = choice is not None and given.where is None and plan.place.is_local
        with early_session(plan.inputs, given.jobs, wanted=is_early) as open_meanwhile:
            dataset = write_tables(
                plan.inputs, new, plan.options, given.where, quiet=given.quiet, after_block=open_meanwhile
            )
            # Imported here because the session takes longer to open than a small capture takes to read.
            from kafkascope_analyzer.dataset.kept_tables import kept
            from kafkascope_analyzer.report.model.clusters import report_of
        say_what_was_cut(dataset, messages)
        with _kept_without_stories(new, dataset):
            if choice is not None:
                dataset, failure = _with_stories(dataset, (given.master, given.remote), choice, quiet=given.quiet)
            tables = kept(dataset)
            with waiting(MAKING_REPORT, quiet=given.quiet):
                model = report_of(tables)
        new.commit(dataset)
    return _Analyzed(dataset, tables, model, failure)


@contextmanager
def _kept_without_stories(new: "NewDataset", dataset: "Dataset") -> Iterator[None]:
    """Commits the tables, without stories, where the block fails, but not where it is interrupted."""
    try:
        yield
    except Exception:
        new.commit(dataset)
        raise


def _with_stories(
    dataset: "Dataset", where: tuple[str | None, str | None], choice: StoryChoice, *, quiet: bool
) -> "tuple[Dataset, SparkError | None]":
    """Returns the dataset with stories. When Spark fails, returns the unchanged dataset and the error, so that the
    tables are kept and reported."""
    try:
        return make_stories(dataset, where, choice, quiet=quiet), None
    except SparkError as error:
        return dataset, error


def _say_what_is_there(
    place: "Storage", forms: "list[tuple[str, Path]]", problem: str | None, messages: Messages
) -> None:
    """Prints notes on standard error: what was written, and why there are no stories where Spark or Java is missing."""
    if problem is not None:
        messages.warn(f"no stories were made (they need Spark and Java 17 or newer). {problem}")
        messages.note(f"the tables are whole; `kafkascope stories {place}` adds the stories")
    files = "".join(f", {name}: {file}" for name, file in forms if str(file) != "-")
    messages.note(f"dataset: {place}, report: {place.uri_of('report.json')}{files}")
