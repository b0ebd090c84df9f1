"""The unit of parallel work: one bucket of the connections in the files that were given."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from kafkascope_analyzer.dataset.limits_hit import DATAGRAMS, FRAGMENTS
from kafkascope_analyzer.ingest.finish import Bucket
from kafkascope_analyzer.ingest.messages import MessageWriters
from kafkascope_analyzer.ingest.record_detail import RecordDetail
from kafkascope_analyzer.ingest.scan import BucketScan
from kafkascope_analyzer.ingest.series import SeriesFinder
from kafkascope_analyzer.ingest.source import CaptureFile, CaptureInfo, is_stream
from kafkascope_analyzer.ingest.spill import Spill
from kafkascope_parsers.link import LinkReader


@dataclass(frozen=True, slots=True)
class ScanJob:
    """Files in time order, the bucket and how many there are, and how much of the records is wanted."""

    inputs: tuple[Path, ...]
    bucket: Bucket
    number: int
    n_buckets: int
    detail: RecordDetail = RecordDetail.COUNTS

    @property
    def _progress_file(self) -> Path:
        return self.bucket.spill / "progress"

    def note_progress(self, done: int, total: int) -> None:
        """Leaves word of how far the scan is, for the process that shows it."""
        self._progress_file.write_text(f"{done} {total}", encoding="ascii")

    def read_progress(self) -> tuple[int, int]:
        """(bytes read, bytes in all); zeros before the scan began."""
        try:
            done, total = self._progress_file.read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return 0, 0
        return int(done), int(total)


@dataclass(frozen=True, slots=True)
class BucketResult:
    """What a scan found: the input files, rows per message table, the bucket's part of the byte ledger, what was left
    out at limits, and the buckets to finish: the job's own, and one more for each further capture point.
    """

    captures: list[CaptureInfo]
    message_rows: dict[str, int]
    ledger: dict[str, int]
    limits_hit: dict[str, int]
    buckets: list[Bucket]


@dataclass(slots=True)
class _Series:
    """A series of files that is being scanned: its bucket, and what lives from one file to the next."""

    bucket: Bucket
    scan: BucketScan
    link: LinkReader


class _SeriesScans:
    """The scans of a job, one for each series of files that its inputs turn out to be."""

    def __init__(self, job: ScanJob) -> None:
        self._job = job
        self._finder = SeriesFinder()
        self.all: list[_Series] = []
        self._at(0)

    def of(self, path: Path, first_ns: int) -> tuple[int, _Series]:
        """The series that a file belongs to, and its number."""
        number = self._finder.series_of(path, first_ns)
        return number, self._at(number)

    def ended(self, number: int, info: CaptureInfo) -> None:
        """Takes down that a file of the series was read."""
        self._finder.ended(number, info)

    def _at(self, number: int) -> _Series:
        if number == len(self.all):
            bucket = _bucket_of_series(self._job.bucket, number)
            scan = BucketScan(
                Spill(bucket.spill),
                MessageWriters(bucket.dataset / "messages", bucket.part, bucket.limits),
                (self._job.number, self._job.n_buckets),
                detail=self._job.detail,
                limits=bucket.limits,
            )
            self.all.append(_Series(bucket, scan, LinkReader()))
        return self.all[number]


def _bucket_of_series(bucket: Bucket, number: int) -> Bucket:
    """The bucket's own place for the first series, one beside it for each further one."""
    if number == 0:
        return bucket
    part = bucket.part.replace("part-0", f"part-{number}")
    return Bucket(bucket.spill.with_name(f"{bucket.spill.name}-{number}"), bucket.dataset, part, bucket.limits)


def scan_bucket(job: ScanJob, progress: Callable[[int, int], None] | None) -> BucketResult:
    """Reads the files and spills the bucket's rows. Raises CaptureError when a file cannot be read."""
    scans = _SeriesScans(job)
    report = progress or job.note_progress
    total = sum(path.stat().st_size for path in job.inputs if not is_stream(path))
    captures: list[CaptureInfo] = []
    for capture_id, path in enumerate(job.inputs):
        file = CaptureFile(path, job.bucket.limits.block_bytes, may_be_empty=len(job.inputs) > 1)
        before = sum(info.size_bytes for info in captures)
        found: tuple[int, _Series] | None = None
        for block in file.blocks():
            number, series = found = found or scans.of(path, int(block.packets.ts_ns[0]))
            buf, segments = series.link.read_segments(block.buf, block.packets)
            if job.number == 0:  # every bucket reads all packets, and one of them the names
                series.scan.dns.datagrams(series.link.take_datagrams(), capture_id)
            series.scan.push(buf, segments, capture_id)
            report(before + file.info.size_bytes, total)
        if found:
            scans.ended(number, file.info)
            file.info.kinds = series.link.take_counts()
        captures.append(file.info)
    rows: Counter[str] = Counter()
    ledger: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    for series in scans.all:
        rows.update(series.scan.finish())
        ledger.update(asdict(series.scan.ledger))
        hit.update(series.scan.limits_hit())
    if job.number == 0:
        hit[FRAGMENTS] = sum(info.kinds.over_limit for info in captures)
        hit[DATAGRAMS] = sum(info.kinds.datagrams_left_out for info in captures)
    return BucketResult(captures, dict(rows), dict(ledger), dict(hit), [series.bucket for series in scans.all])
