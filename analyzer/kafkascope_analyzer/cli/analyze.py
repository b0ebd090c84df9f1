"""`kafkascope analyze`: everything, from the captures to the report.

Spark's session is opened while the captures are read (early_session). Without Java, or when Spark fails, the tables and
the report without stories are written all the same.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.early_session import early_session
from kafkascope_analyzer.cli.exits import complain, exit_codes
from kafkascope_analyzer.cli.forms import Forms, write_forms
from kafkascope_analyzer.cli.found import end_if_found, end_without_kafka
from kafkascope_analyzer.cli.ingest import (
    host_names,
    inputs_of,
    memory_limit,
    record_detail,
    say_what_was_cut,
    write_tables,
)
from kafkascope_analyzer.cli.options import (
    Captures,
    FailOn,
    Format,
    FormatOption,
    Hosts,
    Html,
    Ignore,
    Jobs,
    Markdown,
    Master,
    MaxMemory,
    Out,
    Overwrite,
    Payloads,
    Perfetto,
    Quiet,
    RecordBatches,
    Records,
    Remote,
    Stall,
)
from kafkascope_analyzer.cli.outputs import Staged, check_out, default_out
from kafkascope_analyzer.cli.progress import note
from kafkascope_analyzer.cli.show import show
from kafkascope_analyzer.cli.startup import arrow_without_pandas
from kafkascope_analyzer.cli.stories import StoryChoice, java_problem, story_choice, write_stories
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_parsers.errors import SparkError, UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.report.model.report import Report


def analyze(
    captures: Captures,
    out: Out = None,
    overwrite: Overwrite = False,
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
    fail_on: FailOn = None,
    ignore: Ignore = None,
    stall: Stall = None,
    html: Html = None,
    markdown: Markdown = None,
    perfetto: Perfetto = None,
) -> None:
    """Write the whole dataset, tables and stories and report.json, and print the report."""
    with exit_codes():
        arrow_without_pandas()
        choice = story_choice(ignore, stall)
        place = out or default_out(captures[0])
        check_out(place, overwrite=overwrite)
        forms = Forms(html, markdown, None, perfetto)
        detail = record_detail(record_batches, records=records, payloads=payloads)
        options = IngestOptions(jobs, memory_limit(max_memory), detail, host_names(hosts))
        inputs = inputs_of(captures)
        forms.check(overwrite=overwrite, captures=inputs)
        problem = java_problem(remote)
        if problem is not None and fail_on is not None:
            raise UsageError(f"--fail-on needs the findings, and they need Java 17 or newer. {problem}")
        is_embedded = problem is None and master is None and remote is None and not os.environ.get("SPARK_REMOTE")
        with Staged(place, overwrite=overwrite) as staged:
            with early_session(inputs, jobs, wanted=is_embedded) as open_meanwhile:
                write_tables(inputs, staged.work, options, quiet=quiet, after_block=open_meanwhile)
            staged.keep()
            say_what_was_cut(staged.work)
            failure = None
            if problem is None:
                failure = _try_stories(staged.work, (master, remote), choice, quiet=quiet)
            model = _write_report(staged.work)
        from kafkascope_analyzer.dataset.dataset import Dataset

        written = Dataset.open(place)
        write_forms(written, model, forms)
        if not forms.on_standard_output:
            show(model, format, str(place))
        staged.settle()
        _say_what_is_there(place, forms, problem, quiet=quiet)
        if failure is not None:
            raise SparkError(f"{failure}; the tables are complete: `kafkascope stories {place}` tries again")
        end_if_found(written, fail_on)
        end_without_kafka(written)


def _try_stories(
    dataset: Path, where: tuple[str | None, str | None], choice: StoryChoice, *, quiet: bool
) -> SparkError | None:
    """Writes the stories; gives the error when Spark fails, so that the tables are kept and reported."""
    try:
        write_stories(dataset, where, choice, quiet=quiet)
    except SparkError as error:
        return error
    return None


def _say_what_is_there(place: Path, forms: Forms, problem: str | None, *, quiet: bool) -> None:
    """Notes on standard error: what was written, and why there are no stories where Java is missing."""
    if problem is not None:
        complain(f"no stories were made (they need Java 17 or newer). {problem}")
        note(f"the tables are whole; `kafkascope stories {place}` adds the stories", quiet=quiet)
    files = "".join(f", {name}: {file}" for name, file in forms.wanted if str(file) != "-")
    note(f"dataset: {place}, report: {place / 'report.json'}{files}", quiet=quiet)


def _write_report(dataset: Path) -> "Report":
    """Writes report.json beside the tables and returns the model of the report."""
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.report.model.report import report_model, write_report

    opened = Dataset.open(dataset)
    model = report_model(opened)
    write_report(opened, model)
    return model
