"""The second stage: a task scans a bucket, whose segments come block by block in the order of the captures.

It writes the message tables and the spill of the bucket, puts them to the dataset's place, and reports them. A bucket's
open state and one block are held at a time.
"""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from kafkascope_analyzer.dataset.manifest import Files
from kafkascope_analyzer.read.range_join import Joined, join
from kafkascope_analyzer.read.range_reading import RangeSummary
from kafkascope_analyzer.resolve.bucket_tables import Bucket
from kafkascope_analyzer.workers.worker import SAVED_SCAN, BucketScans, ScanJob
from kafkascope_parsers.link.datagrams import DATAGRAM_LIMIT
from kafkascope_spark.ingest.kernel_cache import prepare_kernel_cache
from kafkascope_spark.ingest.read_stage import Stage
from kafkascope_spark.ingest.segment_rows import (
    BLOCK,
    POINTS,
    SUMMARY,
    PointsSummary,
    block_of,
    points_of,
    summaries_of,
)
from kafkascope_spark.ingest.task_files import SPILL, TABLES, TaskRun, put_spill, put_tables, task_folder

REPORT = pa.schema([("report", pa.binary())])


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What a task reports of a bucket. message_rows, ledger, limits_hit: as of BucketResult. spill: where each file of
    the spill is at the dataset's place, by its place in a local spill folder; states: likewise of the saved states of
    the scans, where they are kept; n_series: how many capture points there are; files: of the message tables.
    summaries: of all ranges, and points, of all capture points read side by side, from the first bucket only. Where the
    plan of ranges was wrong, nothing else is reported.
    """

    bucket: int
    message_rows: dict[str, int] = field(default_factory=dict)
    ledger: dict[str, int] = field(default_factory=dict)
    limits_hit: dict[str, int] = field(default_factory=dict)
    spill: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    n_series: int = 0
    files: Files = field(default_factory=dict)
    summaries: list[RangeSummary] = field(default_factory=list)
    points: PointsSummary | None = None


def scan_stage(run: TaskRun) -> Stage:
    """Scans the buckets of a partition: rows are segment_rows.ROWS, in their order. Gives REPORT, a row a bucket."""

    def scan(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_kernel_cache()
        rows = _Rows(batches)
        while (bucket := rows.next_bucket()) is not None:
            yield report_row(_scanned(run, bucket, rows))

    return scan


def report_row(report: object) -> pa.RecordBatch:
    """A report as it travels to the driver."""
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(report)], pa.binary())], schema=REPORT)


class _Rows:
    """The rows of a partition, bucket by bucket."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._batch: pa.RecordBatch | None = None

    def next_bucket(self) -> int | None:
        """The bucket of the next row; None where none is left."""
        while self._batch is None or not self._batch.num_rows:
            self._batch = next(self._batches, None)
            if self._batch is None:
                return None
        return int(self._batch.column("bucket")[0].as_py())

    def rows_of(self, bucket: int, kind: int) -> Iterator[pa.RecordBatch]:
        """The next rows, one by one, as long as they are of this bucket and kind."""
        while self.next_bucket() == bucket:
            assert self._batch is not None
            if self._batch.column("kind")[0].as_py() != kind:
                return
            row, self._batch = self._batch.slice(0, 1), self._batch.slice(1)
            yield row


def _scanned(run: TaskRun, bucket: int, rows: _Rows) -> ScanReport:
    summaries = [each for row in rows.rows_of(bucket, SUMMARY) for each in summaries_of(row)]
    joined = join(summaries, run.earlier)
    kept = summaries if bucket == 0 else []
    if not joined.is_right:
        for _ in rows.rows_of(bucket, BLOCK):
            pass
        return ScanReport(bucket, summaries=kept)
    with task_folder(run) as folder:
        part = f"part-0-{run.run_id}.parquet"
        place = f"bucket={bucket}/{part}" if run.n_buckets > 1 else part
        own = Bucket(folder / SPILL / str(bucket), folder / TABLES, place, run.limits)
        if run.saved is not None:
            run.saved.fetch(folder / SPILL, bucket)
        scans = BucketScans(ScanJob(own, bucket, run.n_buckets, run.detail, run.keeps_state))
        _push_all(scans, rows, bucket, joined)
        points = [each for row in rows.rows_of(bucket, POINTS) for each in points_of(row)]
        result = scans.finish()
        scans.close()
        folders = [each.spill.name for each in result.buckets]
        return ScanReport(
            bucket,
            result.message_rows,
            result.ledger,
            result.limits_hit,
            put_spill(run, folder / SPILL, folders),
            put_spill(run, folder / SPILL, folders, names=SAVED_SCAN),
            len(result.buckets),
            put_tables(run, folder / TABLES),
            kept,
            points[0] if points else None,
        )


def _push_all(scans: BucketScans, rows: _Rows, bucket: int, joined: Joined) -> None:
    n_datagrams: Counter[int] = Counter()
    for row in rows.rows_of(bucket, BLOCK):
        capture_id, number = row.column("capture_id")[0].as_py(), row.column("number")[0].as_py()
        series = row.column("series")[0].as_py()
        if series is not None:  # capture points have their series, and packets of whole files
            scans.push(block_of(row, 0, series, 0))
            continue
        block = block_of(row, 0, joined.series[capture_id], joined.packets_before[capture_id, number])
        # Each range keeps as many datagrams as are kept of a file.
        del block.datagrams[max(DATAGRAM_LIMIT - n_datagrams[capture_id], 0) :]
        n_datagrams[capture_id] += len(block.datagrams)
        scans.push(block)
