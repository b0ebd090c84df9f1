"""Ingest: capture files in, a dataset of Parquet tables out.

The files are read in time order by one worker per bucket, capture points that overlap in time apart from each other;
workers share nothing but the spill folder. Then the cluster is learned from all spills, and each bucket is finished.
The dataset is written beside its place and renamed when it is whole.
"""

import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from kafkascope_analyzer.connections.hosts import Entry, HostNames
from kafkascope_analyzer.connections.learn import learn_cluster
from kafkascope_analyzer.dataset.manifest import write_manifest
from kafkascope_analyzer.dataset.tables import CAPTURES, INGEST_TABLES
from kafkascope_analyzer.dataset.writer import TableWriter, write_empty
from kafkascope_analyzer.ingest.captures import captures_table, manifest_entry
from kafkascope_analyzer.ingest.finish import Bucket, finish_bucket
from kafkascope_analyzer.ingest.limits import Limits, limits_within
from kafkascope_analyzer.ingest.record_detail import RecordDetail
from kafkascope_analyzer.ingest.series import in_time_order
from kafkascope_analyzer.ingest.source import CaptureInfo, is_stream
from kafkascope_analyzer.ingest.worker import BucketResult, ScanJob, scan_bucket

Progress = Callable[[int, int], None]
"""Takes (bytes read, bytes in all)."""

BYTES_PER_WORKER = 64 << 20
"""Input below which a further worker costs more than it brings: each reads all packets and starts a process."""
_PROGRESS_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: the dataset being written, its spill folder, how many buckets, how much of the records, names given,
    and what a process may hold at a time.
    """

    partial: Path
    spill: Path
    n_buckets: int
    detail: RecordDetail
    hosts: tuple[Entry, ...]
    limits: Limits

    def bucket(self, number: int) -> Bucket:
        part = "part-0.parquet" if self.n_buckets == 1 else f"bucket={number}/part-0.parquet"
        return Bucket(self.spill / str(number), self.partial, part, self.limits)


def ingest(
    inputs: Sequence[Path | str],
    out: Path,
    *,
    jobs: int | None = None,
    max_memory: int | None = None,
    detail: RecordDetail = RecordDetail.COUNTS,
    hosts: tuple[Entry, ...] = (),
    progress: Progress | None = None,
) -> None:
    """Reads captures and writes the dataset OUT; an existing OUT is replaced when the new one is whole.

    inputs: files of one capture point or several (or `-` for standard input), in any order. jobs: processes to use;
    all cores there are when not given. max_memory: bytes of each process, where that is less than 1 GB. detail: how
    much of the records to write (BATCHES is half again as much work where batches are small, RECORDS many times).
    hosts: names and addresses of brokers, as in a hosts file. Raises CaptureError when a file cannot be read,
    UsageError when OUT cannot be written; then nothing is left behind.
    """
    limits = limits_within(max_memory)
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    spill = Path(tempfile.mkdtemp(prefix=".spill-", dir=partial))
    try:
        run = _Run(partial, spill, _n_buckets(inputs, jobs), detail, hosts, limits)
        _write_dataset(run, in_time_order([Path(path) for path in inputs]), progress)
        shutil.rmtree(spill)
        shutil.rmtree(out, ignore_errors=True)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _n_buckets(inputs: Sequence[Path | str], jobs: int | None) -> int:
    """One bucket per process; fewer for small inputs, one for a pipe, which can be read only once."""
    if any(is_stream(Path(path)) for path in inputs):
        return 1
    size = sum(Path(path).stat().st_size for path in inputs)
    return max(1, min(jobs or n_cores(), -(-size // BYTES_PER_WORKER)))


def n_cores() -> int:
    """Cores that this process may use: a container or taskset may leave fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _write_dataset(run: _Run, inputs: tuple[Path, ...], progress: Progress | None) -> None:
    jobs = [ScanJob(inputs, run.bucket(n), n, run.n_buckets, run.detail) for n in range(run.n_buckets)]
    if run.n_buckets == 1:
        results = [scan_bucket(jobs[0], progress)]
        buckets = results[0].buckets
        cluster = learn_cluster([bucket.spill for bucket in buckets], _names(run, results[0]))
        finished = [finish_bucket(bucket, cluster) for bucket in buckets]
    else:
        gc.freeze()  # what is loaded by now stays: neither swept nor, by sweeping, copied into each worker
        with ProcessPoolExecutor(run.n_buckets, mp_context=_context()) as pool:
            results = _scanned(pool, jobs, progress)
            buckets = [bucket for result in results for bucket in result.buckets]
            cluster = learn_cluster([bucket.spill for bucket in buckets], _names(run, results[0]))
            finished = list(pool.map(finish_bucket, buckets, [cluster] * len(buckets)))
    rows = _rows(results, finished)
    _write_captures(run.partial, results[0].captures, rows)
    for table in INGEST_TABLES:
        if not rows.get(table.name):
            rows[table.name] = 0
            write_empty(run.partial / table.name, table.schema)
    ledger = {name: sum(result.ledger[name] for result in results) for name in results[0].ledger}
    hit: Counter[str] = Counter()
    for result in results:
        hit.update(result.limits_hit)
    write_manifest(
        run.partial,
        options={"buckets": run.n_buckets, "records": run.detail.name.lower()},
        inputs=[manifest_entry(capture) for capture in results[0].captures],
        rows=rows,
        ledger=ledger,
        limits_hit={name: n for name, n in sorted(hit.items()) if n},
    )


def _names(run: _Run, result: BucketResult) -> HostNames:
    """The names of hosts that the user and the files themselves give."""
    recorded = [(name, address) for capture in result.captures for address, name in capture.names]
    return HostNames(run.hosts, recorded)


def _context() -> Any:
    """Forked workers have the modules loaded already; where fork is not safe they start anew."""
    return get_context("fork" if os.uname().sysname == "Linux" else "spawn")


def _scanned(pool: Executor, jobs: list[ScanJob], progress: Progress | None) -> list[BucketResult]:
    """Runs the scans; the first bucket's place in the input stands for all."""
    futures: list[Future[BucketResult]] = [pool.submit(scan_bucket, job, None) for job in jobs]
    while progress is not None and wait(futures, timeout=_PROGRESS_SECONDS).not_done:
        done, total = jobs[0].read_progress()
        progress(done, total)
    return [future.result() for future in futures]


def _rows(results: list[BucketResult], finished: list[dict[str, int]]) -> dict[str, int]:
    rows: dict[str, int] = {}
    for counts in [*(result.message_rows for result in results), *finished]:
        for name, n in counts.items():
            rows[name] = rows.get(name, 0) + n
    return rows


def _write_captures(dataset: Path, captures: list[CaptureInfo], rows: dict[str, int]) -> None:
    with TableWriter(dataset / CAPTURES.name / "part-0.parquet", CAPTURES.schema) as writer:
        writer.write(captures_table(captures))
    rows[CAPTURES.name] = writer.n_rows
