"""The second stage: a task scans a bucket. It reads the bucket's shares of the blocks in the order of the captures.

It writes the message tables and the spill of the bucket, moves them to the dataset's storage, and reports them. Memory
is the open state of one bucket and two blocks: the present one and the next one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.leftovers import spill_folder
from kafkascope_analyzer.dataset.manifest import Files
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.workers.worker import SAVED_SCAN, BucketScans, ScanJob
from kafkascope_parsers.link.datagrams import DATAGRAM_LIMIT
from kafkascope_parsers.tls import KeyLog
from kafkascope_spark.ingest.block_files import BlockFile, BlockSource, Spans, read_blocks
from kafkascope_spark.ingest.read_stage import Stage
from kafkascope_spark.ingest.report_rows import report_row
from kafkascope_spark.ingest.session_buckets import key_log_of
from kafkascope_spark.ingest.task_files import (
    SPILL,
    SPILLED_ROWS,
    TABLES,
    TaskRun,
    move_spill,
    move_tables,
    task_folder,
)
from kafkascope_spark.ingest.worker_process import task_at_work


@dataclass(frozen=True, slots=True)
class ScanReport:
    """Results of a task for a bucket.

    message_rows, ledger, limits_hit: see BucketResult. spill: path in the dataset's storage of each file of the spill,
    by its path in a local spill folder; states: the same for the saved states of the scans, if they are kept; n_groups:
    see BucketResult; files: files of the message tables.
    """

    bucket: int
    message_rows: dict[str, int] = field(default_factory=dict)
    ledger: dict[str, int] = field(default_factory=dict)
    limits_hit: dict[str, int] = field(default_factory=dict)
    spill: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    n_groups: Sequence[int] = ()
    files: Files = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a run, in the order in which they are scanned. shares: file with the positions of the shares of all
    buckets: rows of one int64 per block, first all `BlockFile.ends`, then all `BlockFile.sizes`, bucket by bucket, so
    that a task reads only its own rows."""

    sources: Sequence[BlockSource]
    shares: str


def save_blocks(run: TaskRun, sources: Sequence[BlockSource], files: Sequence[BlockFile]) -> Blocks:
    """Writes the positions of the blocks' shares into the run's shared spill. files: files of the sources, in their
    order."""
    place = f"{spill_folder(run.run_id)}/driver/block-shares"
    rows = [np.concatenate([file.ends, file.sizes]) for file in files]
    run.storage.write_bytes(place, np.stack(rows, axis=1).tobytes() if rows else b"")
    return Blocks(sources, place)


def scan_stage(run: TaskRun, blocks: Blocks, sessions: str | None, block_bytes: int) -> Stage:
    """Returns the function that scans the buckets whose numbers are the rows. sessions: file of `save_sessions`, if
    there are key logs. It yields report_rows.REPORT, one `ScanReport` per row."""

    def scan(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with task_at_work():
            for batch in batches:
                for bucket in batch.column(0).to_pylist():
                    key_log = key_log_of(run, bucket, sessions) if sessions is not None else KeyLog()
                    yield report_row(_scanned(run, bucket, blocks, (key_log, block_bytes)))

    return scan


def _scanned(run: TaskRun, bucket: int, blocks: Blocks, reading: tuple[KeyLog, int]) -> ScanReport:
    key_log, block_bytes = reading
    with task_folder(run) as folder:
        part = f"part-0-{run.run_id}.parquet"
        place = f"bucket={bucket}/{part}" if run.n_buckets > 1 else part
        own = Bucket(folder / SPILL / str(bucket), folder / TABLES, place, run.limits)
        if run.saved is not None:
            run.saved.fetch(folder / SPILL, bucket)
        scans = BucketScans(ScanJob(own, bucket, run.n_buckets, run.detail, run.keeps_state), key_log)
        _push_all(run, scans, bucket, blocks, block_bytes)
        result = scans.finish()
        scans.close()
        folders = [each.spill.name for each in result.buckets]
        return ScanReport(
            bucket,
            result.message_rows,
            result.ledger,
            result.limits_hit,
            move_spill(run, folder / SPILL, folders, SPILLED_ROWS),
            move_spill(run, folder / SPILL, folders, SAVED_SCAN),
            result.n_groups,
            move_tables(run, folder / TABLES),
        )


def _push_all(run: TaskRun, scans: BucketScans, bucket: int, blocks: Blocks, block_bytes: int) -> None:
    n_datagrams: Counter[int] = Counter()
    for block in read_blocks(run.storage, blocks.sources, _spans(run, bucket, blocks), block_bytes):
        # Each range keeps as many datagrams as a whole file may.
        del block.datagrams[max(DATAGRAM_LIMIT - n_datagrams[block.capture_id], 0) :]
        n_datagrams[block.capture_id] += len(block.datagrams)
        scans.push(block)


def _spans(run: TaskRun, bucket: int, blocks: Blocks) -> Spans:
    """Returns the byte ranges that a bucket reads from each file of blocks."""
    n_ends, n_blocks = run.n_buckets + 2, len(blocks.sources)
    datagrams = np.zeros((n_blocks, 2), np.int64)
    if bucket == 0:  # DNS names belong to no bucket; the first one keeps them
        datagrams = _share_rows(run, blocks, run.n_buckets, n_ends).T
    shares = _share_rows(run, blocks, bucket, bucket + 2).T
    (sizes,) = _share_rows(run, blocks, n_ends + bucket, n_ends + bucket + 1)
    return Spans(shares, sizes, datagrams)


def _share_rows(run: TaskRun, blocks: Blocks, first: int, end: int) -> NDArray[np.int64]:
    """Returns rows [first, end) of the file `Blocks.shares`."""
    rows = np.empty((end - first, len(blocks.sources)), np.int64)
    if rows.size:
        run.storage.read_range(blocks.shares, first * rows[0].nbytes, rows.reshape(-1).view(np.uint8).data)
    return rows
