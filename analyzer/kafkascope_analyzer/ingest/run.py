"""Ingest: capture files in, a dataset of Parquet tables out.

The files are read in time order, with overlapping capture points read separately; each bucket takes its connections
from the blocks. Then facts about the cluster are learned from all spills, and each bucket is finished. An engine does
this work (workers.engine). The dataset appears at its place when it is complete (dataset.new_dataset).
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import Files, Manifest, joined_files
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.table_place import TablePlace
from kafkascope_analyzer.dataset.tables import CAPTURES, CLUSTERS, INGEST_TABLES
from kafkascope_analyzer.dataset.writer import TableWriter, write_empty
from kafkascope_analyzer.ingest.append import Plan, plan_append, put_saved_scan
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.tool_version import tool_version
from kafkascope_analyzer.memory.free_memory import give_back
from kafkascope_analyzer.memory.limits import Limits, limits_within
from kafkascope_analyzer.read.captures import captures_table, manifest_entry
from kafkascope_analyzer.read.open_reading import Inputs
from kafkascope_analyzer.read.place import CapturePlace, place_of
from kafkascope_analyzer.read.points.assignment import capture_points
from kafkascope_analyzer.read.reading import ToRead
from kafkascope_analyzer.read.series import in_time_order
from kafkascope_analyzer.read.source import CaptureInfo
from kafkascope_analyzer.read.unpacked_size import unpacked_bytes
from kafkascope_analyzer.resolve.cluster.clusters_table import clusters_table
from kafkascope_analyzer.resolve.learned import Learned, learn
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.finished_files import EarlierFiles
from kafkascope_analyzer.workers.engine import Engine, NotWrittenError, Progress, Scanned
from kafkascope_analyzer.workers.processes import Processes
from kafkascope_analyzer.workers.this_process import ThisProcess
from kafkascope_analyzer.workers.worker import ScanJob, added_counts
from kafkascope_parsers.errors import UsageError

_Calls = tuple[Progress | None, Callable[[], None] | None]
"""`progress` and `meanwhile` of ingest."""

EngineOf = Callable[[Plan], Engine]
"""Function that makes the engine for a plan, with as many buckets as the plan names, if it names any."""

_PLAIN = IngestOptions()

BYTES_PER_WORKER = 64 << 20
"""Input for which a further worker pays off: each starts a process and loads the kernels."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: the dataset being written, the number of buckets, the options, the memory limits, and the files of
    earlier runs where captures are appended."""

    new: NewDataset
    n_buckets: int
    options: IngestOptions
    limits: Limits
    earlier: EarlierFiles | None = None

    def bucket(self, number: int) -> Bucket:
        part = f"part-0{self.new.file_suffix}"
        if self.n_buckets > 1:
            part = f"bucket={number}/{part}"
        return Bucket(self.new.spill / str(number), self.new.folder, part, self.limits, self.earlier)

    def undivided(self, table: str) -> TablePlace:
        """Returns the place of a table that is not divided into buckets."""
        return TablePlace(self.new.folder / table, f"part-0{self.new.file_suffix}")


def ingest(
    inputs: Sequence[CapturePlace | Path | str],
    out: Path | str,
    options: IngestOptions = _PLAIN,
    *,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Reads captures and writes the dataset OUT, a local path or a URI; an existing dataset is replaced when the new
    one is complete. Arguments and errors as in `write_tables`.
    """
    with NewDataset(Storage.of(out), options.temporary) as new:
        new.commit(write_tables(inputs, new, options, progress=progress, meanwhile=meanwhile))


def write_tables(
    inputs: Sequence[CapturePlace | Path | str],
    new: NewDataset,
    options: IngestOptions = _PLAIN,
    *,
    engine_of: EngineOf | None = None,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Dataset:
    """Reads captures and puts the tables of a new dataset to their place. Returns the dataset; it is not committed.

    inputs: files of one capture point or several (or `-` for standard input), in any order. engine_of: makes the
    engine; by default one on this machine. meanwhile: called while other processes write tables, if there are any.
    Raises CaptureError when a file cannot be read, UsageError when the dataset or a temporary file cannot be written.
    """
    limits = limits_within(options.max_memory)
    places = [place_of(place) for place in inputs]
    try:
        plan = _plan(places, new, options)
        with engine_of(plan) if engine_of is not None else _local_engine(plan, new, options) as at_work:
            run = _Run(new, at_work.n_buckets, options, limits, plan.earlier)
            manifest, put_files = _write_files(run, at_work, plan.to_read, (progress, meanwhile))
        if options.append:
            manifest = replace(manifest, saved_scan=put_saved_scan(new, plan), saved_reads=plan.saved_reads)
        return new.put_tables(manifest, joined_files([put_files, plan.earlier.messages if plan.earlier else {}]))
    except (OSError, NotWrittenError) as error:  # errors about a capture are CaptureErrors here
        why = NotWrittenError.of(error) if isinstance(error, OSError) else error
        raise UsageError(f"{new.storage}: could not be written: {why} (temporary files: {new.spill.parent})") from error


def _plan(places: Sequence[CapturePlace], new: NewDataset, options: IngestOptions) -> Plan:
    """Returns the inputs of the run."""
    if options.capture_points is None:
        return plan_append(places, new, options) if options.append else Plan(ToRead(in_time_order(places)))
    if options.append:
        raise UsageError("--append does not go with --capture-points: the clocks are compared over all captures")
    return Plan(capture_points(places, options.capture_points))


def _local_engine(plan: Plan, new: NewDataset, options: IngestOptions) -> Engine:
    """Returns the engine on this machine. Fetches the saved scans from which it continues."""
    if plan.saved is not None:
        plan.saved.fetch(new.spill)
    n_buckets = plan.n_buckets or _n_buckets(plan.to_read.places, options.jobs)
    return ThisProcess(limits_within(options.max_memory)) if n_buckets == 1 else Processes(n_buckets)


def _n_buckets(inputs: Sequence[CapturePlace], jobs: int | None) -> int:
    """Returns the number of buckets: one per process, fewer for small files. The size of a pipe's data is not known."""
    n = jobs or n_cores()
    if any(place.is_stream for place in inputs):
        return n
    size = sum(map(unpacked_bytes, inputs))
    return max(1, min(n, -(-size // BYTES_PER_WORKER)))


def n_cores() -> int:
    """Returns the number of cores that this process may use: a container or taskset may leave fewer than the machine
    has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # missing on macOS
        return os.cpu_count() or 1


def _write_files(run: _Run, engine: Engine, inputs: Inputs, calls: _Calls) -> tuple[Manifest, Files]:
    """Writes all tables. Returns the manifest without its files, and the files that are at the dataset's
    place already."""
    detail, append, key_logs = run.options.detail, run.options.append, run.options.key_logs
    jobs = [ScanJob(run.bucket(n), n, run.n_buckets, detail, append, key_logs) for n in range(run.n_buckets)]
    scanned = engine.scan(jobs, inputs, calls[0])
    learned = _learn(run, engine, scanned)
    tables = (
        (CAPTURES, captures_table(list(scanned.captures), learned.uncovered)),
        (CLUSTERS, clusters_table(learned.membership)),
    )
    finished = engine.finish(learned, partial(_prepare, calls[1]))
    rows = added_counts([*(result.message_rows for result in scanned.results), finished.rows])
    rows |= {table.name: _write(run, table, content) for table, content in tables}
    for table in INGEST_TABLES:
        if not rows.get(table.name):
            write_empty(run.undivided(table.name), table.described_schema)
    return _manifest(run, scanned, learned), finished.put_files


def _prepare(meanwhile: Callable[[], None] | None) -> None:
    """Does what needs no tables while other processes write them: calls `meanwhile` of ingest, and reads the sources
    for the version in the manifest."""
    tool_version()
    if meanwhile is not None:
        meanwhile()


def _manifest(run: _Run, scanned: Scanned, learned: Learned) -> Manifest:
    """Returns the manifest, without the files."""
    hit = added_counts([scanned.limits_hit, learned.limits_hit(), *(result.limits_hit for result in scanned.results)])
    return Manifest(
        {},
        added_counts(result.ledger for result in scanned.results),
        [manifest_entry(capture) for capture in scanned.captures],
        {"buckets": run.n_buckets, "records": run.options.detail.name.lower()},
        {name: n for name, n in sorted(hit.items()) if n},
        tool_version(),
        uncovered=learned.uncovered,
    )


def _names(run: _Run, captures: Sequence[CaptureInfo]) -> HostNames:
    """Returns the names of hosts from the user and the files."""
    recorded = [(name, address) for capture in captures for address, name in capture.names]
    return HostNames(run.options.hosts, recorded)


def _learn(run: _Run, engine: Engine, scanned: Scanned) -> Learned:
    """Gathers the facts from all buckets that the second pass over each bucket needs."""
    spills = [bucket.spill for result in scanned.results for bucket in result.buckets]
    spans = [span for capture in scanned.captures for span in capture.spans]
    saved = run.new.spill if run.options.append else None
    names = _names(run, scanned.captures)
    learned = learn(spills, names, engine.run, spans, scanned.network_times, saved)
    give_back()
    return learned


def _write(run: _Run, table: Table, content: pa.Table) -> int:
    """Writes a table that is not divided into buckets. Returns the number of its rows."""
    with TableWriter(run.undivided(table.name), table.described_schema) as writer:
        writer.write(content)
    return writer.n_rows
