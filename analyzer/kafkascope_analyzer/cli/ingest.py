"""`kafkascope ingest`: turns captures into Parquet tables. Uses Spark only on request (--master, --remote)."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.dataset_place import checked_out, default_out
from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, cancelled_when_interrupted, exit_codes
from kafkascope_analyzer.cli.fail_on import end_if_incomplete, end_without_kafka
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import (
    Append,
    Captures,
    Format,
    FormatOption,
    Hosts,
    Jobs,
    Master,
    MaxMemory,
    Out,
    Overwrite,
    Payloads,
    PointsOption,
    Quiet,
    RecordBatches,
    Records,
    Remote,
    Temporary,
    TlsKeyLogs,
)
from kafkascope_analyzer.cli.progress import bar, waiting
from kafkascope_analyzer.cli.show import show_traffic
from kafkascope_analyzer.dataset.hidden_pandas import arrow_without_pandas
from kafkascope_analyzer.dataset.installed import lack_of
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.dataset.new_dataset import NewDataset
    from kafkascope_analyzer.dataset.storage import Storage
    from kafkascope_analyzer.ingest.append import Plan
    from kafkascope_analyzer.read.place import CapturePlace
    from kafkascope_analyzer.report.model.traffic import Traffic


@dataclass(frozen=True, kw_only=True)
class IngestArguments:
    """The arguments of `kafkascope ingest`, which are also arguments of `kafkascope analyze`."""

    captures: Captures
    out: Out = None
    overwrite: Overwrite = False
    append: Append = False
    quiet: Quiet = False
    format: FormatOption = Format.rich
    master: Master = None
    remote: Remote = None
    jobs: Jobs = None
    max_memory: MaxMemory = None
    record_batches: RecordBatches = False
    records: Records = False
    payloads: Payloads = False
    hosts: Hosts = None
    capture_points: PointsOption = None
    tls_keylog: TlsKeyLogs = None
    temporary: Temporary = None

    @property
    def where(self) -> "SparkPlace | None":
        """The Spark whose tasks read the captures; None for this machine."""
        return SparkPlace.of(self.master, self.remote)


def ingest(given: IngestArguments) -> None:
    """Write a dataset of Parquet tables, without the stories that need Spark."""
    messages = Messages.of(given.format, quiet=given.quiet)
    with exit_codes(messages, NOTHING_WRITTEN) as written:
        arrow_without_pandas()
        plan = planned(given, messages)
        if plan is None:
            return
        from kafkascope_analyzer.dataset.new_dataset import NewDataset

        with NewDataset(plan.place, given.temporary, replaces=plan.replaces) as new:
            dataset = write_tables(plan.inputs, new, plan.options, given.where, quiet=given.quiet)
            say_what_was_cut(dataset, messages)
            new.commit(dataset)
        written.clause = f"the dataset {plan.place} is whole"
        from kafkascope_analyzer.sql.views_file import write_views  # imports a database, so not before the first block

        write_views(dataset)
        traffic = show_overview(dataset, given.format)
        messages.note(f"dataset: {plan.place}")
        end_if_incomplete(traffic)
        end_without_kafka(dataset)


@dataclass(frozen=True, slots=True)
class Planned:
    """The captures that a command reads, its options, and the place of the dataset that it writes."""

    inputs: "list[CapturePlace]"
    options: IngestOptions
    place: "Storage"
    replaces: bool
    """Whether an existing dataset may be replaced or extended."""


def planned(given: IngestArguments, messages: Messages) -> Planned | None:
    """Returns the captures, options and place in the arguments; None, with a note, where the dataset has all these
    captures already. Raises UsageError, CaptureError."""
    place = place_for(given.captures, given.out, overwrite=given.overwrite, append=given.append)
    detail = record_detail(given.record_batches, records=given.records, payloads=given.payloads)
    key_logs = tls_key_logs(given.tls_keylog, messages, where=given.where)
    options = IngestOptions(
        given.jobs,
        memory_limit(given.max_memory),
        detail,
        host_names(given.hosts),
        given.temporary,
        given.append,
        given.capture_points,
        key_logs,
    )
    inputs = inputs_of(given.captures)
    if given.append and not (inputs := not_held_yet(inputs, place, messages)):
        return None
    return Planned(inputs, options, place, given.overwrite or given.append)


def inputs_of(captures: list[str]) -> "list[CapturePlace]":
    """Returns the captures for files, directories and globs, and `-`. Raises CaptureError, UsageError."""
    from kafkascope_analyzer.read.inputs import expand_inputs

    return expand_inputs(captures)


def place_for(captures: list[str], out: str | None, *, overwrite: bool, append: bool) -> "Storage":
    """Returns the place of the dataset to write. Raises UsageError where it must not be written there."""
    if append and out is None:
        raise UsageError("--append extends the dataset that -o names: give -o too")
    if append and overwrite:
        raise UsageError("--append keeps what the dataset holds and --overwrite replaces it: give only one of them")
    return checked_out(out or default_out(captures[0]), overwrite=overwrite, append=append)


def not_held_yet(inputs: "list[CapturePlace]", place: "Storage", messages: Messages) -> "list[CapturePlace]":
    """Returns the captures that the dataset of a place does not have yet, and notes how many it has. Raises
    CaptureError, UsageError."""
    from kafkascope_analyzer.ingest.append import former_dataset, new_captures

    former = former_dataset(place)
    if former is None:
        return inputs
    new = new_captures(inputs, former)
    if n_known := len(inputs) - len(new):
        what = "1 capture is" if n_known == 1 else f"{n_known} captures are"
        messages.note(f"{what} in {place} already{'' if new else ': there is nothing to append'}")
    return new


def record_detail(record_batches: bool, *, records: bool, payloads: bool) -> RecordDetail:
    """Returns the level of detail in the options. Raises UsageError where they contradict each other."""
    if payloads and not records:
        raise UsageError("--payloads is about records: say --records too")
    if records:
        return RecordDetail.PAYLOADS if payloads else RecordDetail.RECORDS
    return RecordDetail.BATCHES if record_batches else RecordDetail.COUNTS


def memory_limit(size: str | None) -> int | None:
    """Returns the bytes of a size such as 512M. Raises UsageError where it is invalid, or too small."""
    if size is None:
        return None
    from kafkascope_analyzer.memory.limits import limits_within, parse_size

    limits_within(parse_size(size))
    return parse_size(size)


def host_names(path: Path | None) -> tuple[tuple[str, str], ...]:
    """Returns the names and addresses of a hosts file. Raises UsageError, with the line, where it is invalid."""
    if path is None:
        return ()
    from kafkascope_analyzer.connections.hosts import read_hosts

    return read_hosts(path)


def tls_key_logs(
    named: list[str] | None, messages: Messages, *, where: "SparkPlace | None"
) -> "tuple[CapturePlace, ...]":
    """Returns the key logs in the options, and SSLKEYLOGFILE where this machine reads them; notes what is in them.
    Raises UsageError where one cannot be read."""
    own = os.environ.get("SSLKEYLOGFILE") if where is None else None
    chosen = [*(named or ()), *([own] if own and Path(own).is_file() else [])]
    if not chosen:
        return ()
    from kafkascope_analyzer.read.key_logs import key_log_places, read_key_logs
    from kafkascope_analyzer.report.formatting import count

    places = key_log_places(chosen)
    log = read_key_logs(places)
    notes = [f"{count(len(log), 'TLS session')} in {count(len(places), 'key log')}"]
    if log.n_malformed:
        notes.append(f"{count(log.n_malformed, 'line')} could not be read")
    if log.n_left_out:
        notes.append(f"{count(log.n_left_out, 'line')} of more sessions than are kept left out")
    messages.note("; ".join(notes))
    return places


@dataclass(frozen=True, slots=True)
class SparkPlace:
    """A Spark cluster or a Connect server that the user has named."""

    master: str | None
    remote: str | None

    @classmethod
    def of(cls, master: str | None, remote: str | None) -> "SparkPlace | None":
        """Returns the place in the options or SPARK_REMOTE; None for this machine."""
        return cls(master, remote) if master or remote or os.environ.get("SPARK_REMOTE") else None


def write_tables(
    inputs: "list[CapturePlace]",
    new: "NewDataset",
    options: IngestOptions,
    where: SparkPlace | None = None,
    *,
    quiet: bool,
    after_block: Callable[[], None] | None = None,
) -> "Dataset":
    """Reads the captures into the tables of a new dataset, and returns it; it is not committed. where: the Spark whose
    tasks do it; None is this machine. after_block: called after each block that was read here; no process is forked
    after the first call. Raises CaptureError, UsageError, SparkError."""
    from kafkascope_analyzer.ingest.run import write_tables as run_ingest

    if where is not None:
        return _write_tables_on_spark(inputs, new, options, where, quiet=quiet)
    with bar("reading captures", quiet=quiet) as shown:

        def progress(done: int, total: int) -> None:
            if 0 < total <= done:
                shown.name_stage("writing the tables")
            shown.at(done, total)
            if after_block is not None:
                after_block()

        return run_ingest(inputs, new, options, progress=progress, meanwhile=_prepare_to_show)


def _write_tables_on_spark(
    inputs: "list[CapturePlace]", new: "NewDataset", options: IngestOptions, where: SparkPlace, *, quiet: bool
) -> "Dataset":
    if (lack := lack_of("pyspark", "stories")) is not None:
        raise UsageError(lack)
    from kafkascope_analyzer.ingest.run import write_tables as run_ingest
    from kafkascope_spark.ingest.engine import SparkEngine
    from kafkascope_spark.session import cancel_jobs, open_session

    with cancelled_when_interrupted(cancel_jobs), waiting("starting Spark", quiet=quiet) as name_stage:
        session = open_session(where.master, where.remote, quiet=quiet)

        def engine_of(plan: "Plan") -> SparkEngine:
            return SparkEngine(session, new, plan, options, stage=name_stage)

        return run_ingest(inputs, new, options, engine_of=engine_of, meanwhile=_prepare_to_show)


def _prepare_to_show() -> None:
    """Imports the modules that show results."""
    import kafkascope_analyzer.report.model.traffic
    import kafkascope_analyzer.report.terminal.overview  # noqa: F401


def say_what_was_cut(dataset: "Dataset", messages: Messages) -> None:
    """Prints a sentence on standard error for each capture that could not be read whole."""
    from kafkascope_analyzer.report.capture_words import CUT_COLUMNS, cut_sentence

    inputs = dataset.manifest.inputs
    for sentence in (cut_sentence(*(entry.get(name) for name in CUT_COLUMNS)) for entry in inputs):
        if sentence:
            messages.warn(sentence)


def show_overview(dataset: "Dataset", how: Format) -> "Traffic":
    """Shows the overview from the tables of `ingest` on standard output, and returns it."""
    from kafkascope_analyzer.report.model.traffic import traffic_model

    model = traffic_model(dataset)
    show_traffic(model, how)
    return model
