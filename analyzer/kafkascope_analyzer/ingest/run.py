"""Ingest: capture files in, a dataset of Parquet tables out.

One process reads the files in time order, capture points that overlap in time apart from each other; one worker a
bucket takes its connections from what was read. Then the cluster is learned from all spills, and each bucket is
finished. The dataset is seen at its place when it is whole (dataset.new_dataset).
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.limits_hit import PARTITION_FLOW
from kafkascope_analyzer.dataset.manifest import Manifest
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.tables import CAPTURES, INGEST_TABLES
from kafkascope_analyzer.dataset.writer import TableWriter, write_empty
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.memory.limits import Limits, limits_within
from kafkascope_analyzer.read.captures import captures_table, manifest_entry
from kafkascope_analyzer.read.open_reading import open_reading
from kafkascope_analyzer.read.place import CapturePlace, place_of
from kafkascope_analyzer.read.points.assignment import CapturePoints, capture_points
from kafkascope_analyzer.read.points.merging import PointsReading
from kafkascope_analyzer.read.reading import ReadBlock, Reading
from kafkascope_analyzer.read.series import in_time_order
from kafkascope_analyzer.read.source import CaptureInfo, unpacked_bytes
from kafkascope_analyzer.read.window import OneBuffer
from kafkascope_analyzer.resolve.finish import Bucket, finish_bucket
from kafkascope_analyzer.resolve.learn import learn_cluster
from kafkascope_analyzer.resolve.shared_facts import SharedFacts, gather_shared_facts
from kafkascope_analyzer.workers.processes import workers
from kafkascope_analyzer.workers.worker import BucketResult, BucketScans, ScanJob
from kafkascope_parsers.errors import UsageError

Progress = Callable[[int, int], None]
"""Takes (bytes read, bytes in all)."""
_Calls = tuple[Progress | None, Callable[[], None] | None]
"""`progress` and `meanwhile` of ingest."""

_Inputs = tuple[CapturePlace, ...] | CapturePoints
_Reading = Reading | PointsReading

_PLAIN = IngestOptions()

BYTES_PER_WORKER = 64 << 20
"""Input below which a further worker costs more than it brings: each starts a process and loads the kernels."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: the dataset being written, how many buckets, what was asked, and what a process may hold at a time."""

    new: NewDataset
    n_buckets: int
    options: IngestOptions
    limits: Limits

    def bucket(self, number: int) -> Bucket:
        part = f"part-0{self.new.file_suffix}"
        if self.n_buckets > 1:
            part = f"bucket={number}/{part}"
        return Bucket(self.new.spill / str(number), self.new.folder, part, self.limits)

    def only_file(self, table: str) -> Path:
        """The file of a table that is not divided into buckets."""
        return self.new.folder / table / f"part-0{self.new.file_suffix}"


def ingest(
    inputs: Sequence[CapturePlace | Path | str],
    out: Path | str,
    options: IngestOptions = _PLAIN,
    *,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Reads captures and writes the dataset OUT, a local path or a URI; a dataset that is there is replaced when the
    new one is whole. Arguments and errors as of `write_tables`.
    """
    with NewDataset(Storage.of(out), options.temporary) as new:
        new.commit(write_tables(inputs, new, options, progress=progress, meanwhile=meanwhile))


def write_tables(
    inputs: Sequence[CapturePlace | Path | str],
    new: NewDataset,
    options: IngestOptions = _PLAIN,
    *,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Dataset:
    """Reads captures and puts the tables of a new dataset to their place. Returns the dataset; it is not committed.

    inputs: files of one capture point or several (or `-` for standard input), in any order. meanwhile: called while
    other processes write tables, if there are any. Raises CaptureError when a file cannot be read, UsageError when the
    dataset or a temporary file cannot be written.
    """
    limits = limits_within(options.max_memory)
    places = [place_of(place) for place in inputs]
    try:
        run = _Run(new, _n_buckets(places, options.jobs), options, limits)
        points = options.capture_points
        ordered = in_time_order(places) if points is None else capture_points(places, points)
        return new.put_tables(_write_files(run, ordered, (progress, meanwhile)))
    except OSError as error:  # what concerns a capture is a CaptureError by now
        why = error.strerror or str(error)
        raise UsageError(f"{new.storage}: could not be written: {why} (temporary files: {new.spill.parent})") from error


def _n_buckets(inputs: Sequence[CapturePlace], jobs: int | None) -> int:
    """One bucket per process; fewer for small files. How much a pipe will bring is not known."""
    n = jobs or n_cores()
    if any(place.is_stream for place in inputs):
        return n
    size = sum(map(unpacked_bytes, inputs))
    return max(1, min(n, -(-size // BYTES_PER_WORKER)))


def n_cores() -> int:
    """Cores that this process may use: a container or taskset may leave fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _write_files(run: _Run, inputs: _Inputs, calls: _Calls) -> Manifest:
    """Writes all tables into the run's folder. Returns the manifest, without the files."""
    jobs = [ScanJob(run.bucket(n), n, run.n_buckets, run.options.detail) for n in range(run.n_buckets)]
    found = _in_this_process(run, inputs, calls) if len(jobs) == 1 else _in_processes(run, jobs, inputs, calls)
    rows = _rows(found.results, found.finished)
    rows[CAPTURES.name] = _write_captures(run, found.reading.captures)
    for table in INGEST_TABLES:
        if not rows.get(table.name):
            write_empty(run.only_file(table.name), table.schema)
    ledger = {name: sum(result.ledger[name] for result in found.results) for name in found.results[0].ledger}
    hit = Counter(found.reading.limits_hit)
    hit[PARTITION_FLOW] = found.n_flow_left_out
    for result in found.results:
        hit.update(result.limits_hit)
    return Manifest(
        {},
        ledger,
        [manifest_entry(capture) for capture in found.reading.captures],
        {"buckets": run.n_buckets, "records": run.options.detail.name.lower()},
        {name: n for name, n in sorted(hit.items()) if n},
        version("kafkascope"),
    )


class _Found(NamedTuple):
    """What was read, what each bucket's scan found, rows per table of each finish, and what was left out of the flow of
    topic-partitions."""

    reading: _Reading
    results: list[BucketResult]
    finished: list[dict[str, int]]
    n_flow_left_out: int


def _names(run: _Run, reading: _Reading) -> HostNames:
    """The names of hosts that the user and the files themselves give."""
    recorded = [(name, address) for capture in reading.captures for address, name in capture.names]
    return HostNames(run.options.hosts, recorded)


def _in_this_process(run: _Run, inputs: _Inputs, calls: _Calls) -> _Found:
    reading = open_reading(inputs, OneBuffer(run.limits.block_bytes))
    scans = BucketScans(ScanJob(run.bucket(0), 0, 1, run.options.detail))
    for block in _followed(reading, calls[0]):
        scans.push(block)
    result = scans.finish()
    scans.close()
    learned = _learn(run, reading, [result])
    finished = [finish_bucket(bucket, *learned) for bucket in result.buckets]
    return _Found(reading, [result], finished, learned[1].n_flow_left_out)


def _in_processes(run: _Run, jobs: list[ScanJob], inputs: _Inputs, calls: _Calls) -> _Found:
    with workers(jobs) as pool:
        reading = open_reading(inputs, pool)
        for block in _followed(reading, calls[0]):
            pool.push(block)
        results = pool.scanned()
        learned = _learn(run, reading, results)
        return _Found(reading, results, pool.finished(learned, calls[1]), learned[1].n_flow_left_out)


def _learn(run: _Run, reading: _Reading, results: list[BucketResult]) -> tuple[Cluster, SharedFacts]:
    """What the second pass over each bucket has to know of all buckets."""
    spills = [bucket.spill for result in results for bucket in result.buckets]
    cluster = learn_cluster(spills, _names(run, reading))
    shared = gather_shared_facts(spills, cluster)
    if isinstance(reading, PointsReading):
        shared = replace(shared, network_times=reading.network_times())
    return cluster, shared


def _followed(reading: _Reading, progress: Progress | None) -> Iterator[ReadBlock]:
    for block in reading.blocks():
        yield block
        if progress is not None:
            progress(reading.read_bytes, reading.total_bytes)


def _rows(results: list[BucketResult], finished: list[dict[str, int]]) -> dict[str, int]:
    rows: dict[str, int] = {}
    for counts in [*(result.message_rows for result in results), *finished]:
        for name, n in counts.items():
            rows[name] = rows.get(name, 0) + n
    return rows


def _write_captures(run: _Run, captures: list[CaptureInfo]) -> int:
    """Writes the table of the captures. Returns its rows."""
    with TableWriter(run.only_file(CAPTURES.name), CAPTURES.schema) as writer:
        writer.write(captures_table(captures))
    return writer.n_rows
