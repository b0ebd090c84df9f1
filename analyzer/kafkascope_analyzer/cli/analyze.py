"""`kafkascope analyze`: everything, from the captures to the report.

Spark's JVM takes seconds to start, so it starts while the captures are read. Without Java the tables and the report
are written all the same.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kafkascope_analyzer.cli.exits import complain, exit_codes
from kafkascope_analyzer.cli.forms import Forms, write_forms
from kafkascope_analyzer.cli.found import end_if_found, known_rules
from kafkascope_analyzer.cli.ingest import (
    host_names,
    inputs_of,
    memory_limit,
    record_detail,
    say_what_was_cut,
    write_tables,
)
from kafkascope_analyzer.cli.lean import arrow_without_pandas
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
)
from kafkascope_analyzer.cli.outputs import Staged, check_out, default_out
from kafkascope_analyzer.cli.progress import note
from kafkascope_analyzer.cli.show import show
from kafkascope_analyzer.cli.stories import java_problem, write_stories
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_parsers.errors import UsageError


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
    html: Html = None,
    markdown: Markdown = None,
    perfetto: Perfetto = None,
) -> None:
    """Write the whole dataset, tables and stories and report.json, and print the report."""
    with exit_codes():
        arrow_without_pandas()
        ignored = known_rules(ignore)
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
        here = problem is None and master is None and remote is None
        with Staged(place, overwrite=overwrite) as staged:
            with spark_starting(wanted=here and is_small(inputs)):
                write_tables(inputs, staged.work, options, quiet=quiet)
            staged.keep()
            say_what_was_cut(staged.work)
            if problem is None:
                write_stories(staged.work, (master, remote), quiet=quiet, ignored=ignored)
            model = _write_report(staged.work)
        from kafkascope_analyzer.dataset.dataset import Dataset

        written = Dataset.open(place)
        write_forms(written, model, forms)
        if not forms.on_standard_output:
            show(model, format, str(place))
        staged.settle()
        _say_what_is_there(place, forms, problem, quiet=quiet)
        end_if_found(written, fail_on)


def _say_what_is_there(place: Path, forms: Forms, problem: str | None, *, quiet: bool) -> None:
    """Notes on standard error: what was written, and why there are no stories where there are none."""
    if problem is not None:
        complain(f"no stories were made (they need Java 17 or newer). {problem}")
        note(f"the tables are whole; `kafkascope stories {place}` adds the stories", quiet=quiet)
    files = "".join(f", {name}: {file}" for name, file in forms.wanted if str(file) != "-")
    note(f"dataset: {place}, report: {place / 'report.json'}{files}", quiet=quiet)


def is_small(inputs: list[Path | str]) -> bool:
    """Whether one process reads them: only then is a start of Spark beside it safe (no fork) and worth the trouble."""
    from kafkascope_analyzer.ingest.run import BYTES_PER_WORKER

    files = [Path(path) for path in inputs]
    return all(file.is_file() for file in files) and sum(file.stat().st_size for file in files) < BYTES_PER_WORKER


@contextmanager
def spark_starting(*, wanted: bool) -> Iterator[None]:
    """Lets the embedded session start beside the block, and has it started (or failed) when the block ends.

    While the JVM starts, the process's standard error belongs to it: nothing may be said before it is done.
    """
    if not wanted:
        yield
        return
    thread = threading.Thread(target=_open_session, name="spark-start", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _open_session() -> None:
    from kafkascope_spark.session import open_session

    with suppress(UsageError):  # the stories ask again, and tell
        open_session()


def _write_report(dataset: Path) -> dict[str, Any]:
    """report.json beside the tables; gives the model."""
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.report.model import report_model, write_report

    opened = Dataset.open(dataset)
    model = report_model(opened)
    write_report(opened, model)
    return model
