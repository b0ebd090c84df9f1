"""`kafkascope analyze`: everything, from the captures to the report.

Spark's session is opened while the captures are read (early_session). Without Spark or Java, or when Spark fails, the
tables and the report without stories are written all the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.early_session import early_session
from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, exit_codes
from kafkascope_analyzer.cli.fail_on import end_if_found, end_if_incomplete, end_without_kafka
from kafkascope_analyzer.cli.ingest import (
    SparkPlace,
    host_names,
    inputs_of,
    memory_limit,
    not_held_yet,
    place_for,
    record_detail,
    say_what_was_cut,
    tls_key_logs,
    write_tables,
)
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import (
    Append,
    Captures,
    FailOn,
    Format,
    FormatOption,
    Hosts,
    Html,
    Ignore,
    Jobs,
    Junit,
    Markdown,
    Master,
    MaxMemory,
    Out,
    Overwrite,
    Payloads,
    Perfetto,
    PointsOption,
    Quiet,
    RecordBatches,
    Records,
    Remote,
    Sarif,
    Stall,
    Temporary,
    TlsKeyLogs,
)
from kafkascope_analyzer.cli.progress import MAKING_REPORT, waiting
from kafkascope_analyzer.cli.report_files import ReportFiles, write_report_files
from kafkascope_analyzer.cli.show import show
from kafkascope_analyzer.cli.stories import StoryChoice, make_stories, spark_problem, story_choice
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.hidden_pandas import arrow_without_pandas
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_parsers.errors import SparkError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.dataset.new_dataset import NewDataset
    from kafkascope_analyzer.dataset.storage import Storage


def analyze(
    captures: Captures,
    out: Out = None,
    overwrite: Overwrite = False,
    append: Append = False,
    quiet: Quiet = False,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
    master: Master = None,
    remote: Remote = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    record_batches: RecordBatches = False,
    records: Records = False,
    payloads: Payloads = False,
    hosts: Hosts = None,
    capture_points: PointsOption = None,
    tls_keylog: TlsKeyLogs = None,
    temporary: Temporary = None,
    fail_on: FailOn = None,
    ignore: Ignore = None,
    stall: Stall = None,
    html: Html = None,
    markdown: Markdown = None,
    perfetto: Perfetto = None,
    sarif: Sarif = None,
    junit: Junit = None,
) -> None:
    """Write the whole dataset, tables and stories and report.json, and print the report."""
    messages = Messages.of(format, quiet=quiet)
    with exit_codes(messages, NOTHING_WRITTEN) as written:
        arrow_without_pandas()
        choice = story_choice(ignore, stall)
        place = place_for(captures, out, overwrite=overwrite, append=append)
        forms = ReportFiles(html, markdown, None, perfetto, sarif, junit)
        detail = record_detail(record_batches, records=records, payloads=payloads)
        key_logs = tls_key_logs(tls_keylog, messages, where=SparkPlace.of(master, remote))
        options = IngestOptions(
            jobs, memory_limit(max_memory), detail, host_names(hosts), temporary, append, capture_points, key_logs
        )
        inputs = inputs_of(captures)
        if append and not (inputs := not_held_yet(inputs, place, messages)):
            return
        forms.check(overwrite=overwrite, captures=inputs)
        problem = spark_problem(remote)
        if problem is not None and fail_on is not None:
            raise UsageError(f"--fail-on needs the findings, and they need Spark and Java 17 or newer. {problem}")
        where = SparkPlace.of(master, remote)
        from kafkascope_analyzer.dataset.new_dataset import NewDataset

        failure = None
        with NewDataset(place, temporary, replaces=overwrite or append) as new:
            # The early session has no connector: only for a dataset on this machine.
            is_early = problem is None and where is None and place.is_local
            with early_session(inputs, jobs, wanted=is_early) as open_meanwhile:
                dataset = write_tables(inputs, new, options, where, quiet=quiet, after_block=open_meanwhile)
                # Loaded here because the session takes longer to open than a small capture to read.
                from kafkascope_analyzer.dataset.kept_tables import kept
                from kafkascope_analyzer.report.model.clusters import report_of, write_report
                from kafkascope_analyzer.sql.views_file import write_views
            say_what_was_cut(dataset, messages)
            with _kept_without_stories(new, dataset):
                if problem is None:
                    dataset, failure = _with_stories(dataset, (master, remote), choice, quiet=quiet)
                tables = kept(dataset)
                with waiting(MAKING_REPORT, quiet=quiet):
                    model = report_of(tables)
            new.commit(dataset)
        written.clause = f"the dataset {place} is whole; `kafkascope report {place}` shows its report"
        write_report(dataset, model)
        write_views(dataset)
        failed = FailedParts()
        with waiting(MAKING_REPORT, quiet=quiet):
            written_forms = write_report_files(tables, model, forms, failed)
        if not forms.on_standard_output:
            show(model, format, str(place), failed)
        _say_what_is_there(place, written_forms, problem, messages)
        if failure is not None:
            raise SparkError(f"{failure}; the tables are complete: `kafkascope stories {place}` tries again")
        end_if_incomplete(model, failed)
        end_if_found(dataset, model, fail_on)
        end_without_kafka(dataset)


@contextmanager
def _kept_without_stories(new: "NewDataset", dataset: "Dataset") -> Iterator[None]:
    """Commits the tables, without stories, where the block fails; not where it is interrupted."""
    try:
        yield
    except Exception:
        new.commit(dataset)
        raise


def _with_stories(
    dataset: "Dataset", where: tuple[str | None, str | None], choice: StoryChoice, *, quiet: bool
) -> "tuple[Dataset, SparkError | None]":
    """The dataset with stories; when Spark fails the dataset as it was and the error, so that the tables are kept and
    reported."""
    try:
        return make_stories(dataset, where, choice, quiet=quiet), None
    except SparkError as error:
        return dataset, error


def _say_what_is_there(
    place: "Storage", forms: "list[tuple[str, Path]]", problem: str | None, messages: Messages
) -> None:
    """Notes on standard error: what was written, and why there are no stories where Spark or Java is missing."""
    if problem is not None:
        messages.warn(f"no stories were made (they need Spark and Java 17 or newer). {problem}")
        messages.note(f"the tables are whole; `kafkascope stories {place}` adds the stories")
    files = "".join(f", {name}: {file}" for name, file in forms if str(file) != "-")
    messages.note(f"dataset: {place}, report: {place.uri_of('report.json')}{files}")
