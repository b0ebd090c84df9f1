"""The unit of parallel work: one bucket of the connections in the files of one capture point."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from kafkascope_analyzer.ingest.finish import Bucket
from kafkascope_analyzer.ingest.messages import MessageWriters
from kafkascope_analyzer.ingest.record_detail import RecordDetail
from kafkascope_analyzer.ingest.scan import BucketScan
from kafkascope_analyzer.ingest.source import STANDARD_INPUT, CaptureFile, CaptureInfo, iter_blocks
from kafkascope_analyzer.ingest.spill import Spill
from kafkascope_parsers.link import LinkReader

_PEEK_BYTES = 1 << 16


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
    """What a scan found: the input files, rows per message table, and the bucket's part of the byte ledger."""

    captures: list[CaptureInfo]
    message_rows: dict[str, int]
    ledger: dict[str, int]


def in_time_order(inputs: list[Path]) -> tuple[Path, ...]:
    """Files by their first packet; one without packets comes first. Raises CaptureError when a file cannot be read."""
    if len(inputs) < 2:
        return tuple(inputs)
    return tuple(sorted(inputs, key=lambda path: (_first_ns(path), str(path))))


def _first_ns(path: Path) -> int:
    if path == STANDARD_INPUT:
        return 0
    return next((int(block.packets.ts_ns[0]) for block in iter_blocks(path, _PEEK_BYTES)), 0)


def scan_bucket(job: ScanJob, progress: Callable[[int, int], None] | None) -> BucketResult:
    """Reads the files and spills the bucket's rows. Raises CaptureError when a file cannot be read."""
    messages = MessageWriters(job.bucket.dataset / "messages", job.bucket.part)
    scan = BucketScan(Spill(job.bucket.spill), messages, (job.number, job.n_buckets), detail=job.detail)
    report = progress or job.note_progress
    total = sum(path.stat().st_size for path in job.inputs if path != STANDARD_INPUT)
    captures: list[CaptureInfo] = []
    for capture_id, path in enumerate(job.inputs):
        file, link = CaptureFile(path), LinkReader()
        before = sum(info.size_bytes for info in captures)
        for block in file.blocks():
            buf, segments = link.read_segments(block.buf, block.packets)
            if job.number == 0:  # every bucket reads all packets, and one of them the names
                scan.dns.datagrams(link.take_datagrams(), capture_id)
            scan.push(buf, segments, capture_id)
            report(before + file.info.size_bytes, total)
        captures.append(file.info)
    rows = scan.finish()
    return BucketResult(captures, rows, asdict(scan.ledger))
