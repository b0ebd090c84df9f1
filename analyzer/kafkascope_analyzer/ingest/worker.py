"""The unit of parallel work: one bucket of the connections in the files of one capture point."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from kafkascope_parsers.link import read_segments

from kafkascope_analyzer.ingest.connection_state import connection_table
from kafkascope_analyzer.ingest.finish import Bucket
from kafkascope_analyzer.ingest.messages import MessageWriters
from kafkascope_analyzer.ingest.scan import BucketScan, Ledger
from kafkascope_analyzer.ingest.source import CaptureInfo, Source
from kafkascope_analyzer.ingest.spill import Spill


@dataclass(frozen=True, slots=True)
class ScanJob:
    """Files in time order, the bucket and how many there are."""

    inputs: list[str]
    bucket: Bucket
    number: int
    n_buckets: int

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


def scan_bucket(job: ScanJob, progress: Callable[[int, int], None] | None) -> BucketResult:
    """Reads the files and spills the bucket's rows. Raises CaptureError when a file cannot be read."""
    spill = Spill(job.bucket.spill)
    messages = MessageWriters(job.bucket.dataset / "messages", job.bucket.part)
    scan = BucketScan(spill, messages, bucket=job.number, n_buckets=job.n_buckets)
    source = Source(job.inputs)
    report = progress or job.note_progress
    for block in source.blocks():
        buf, segments = read_segments(block.buf, block.packets)
        scan.push(buf, segments, block.capture_id)
        report(source.bytes_read, source.bytes_total)
    rows = scan.finish()
    spill.write("connections", connection_table(scan))
    spill.close()
    return BucketResult(source.captures, rows, _ledger(scan.ledger))


def _ledger(ledger: Ledger) -> dict[str, int]:
    return {
        "stream_bytes": ledger.stream_bytes,
        "decoded_bytes": ledger.decoded_bytes,
        "undecoded_bytes": ledger.undecoded_bytes,
        "missing_bytes": ledger.missing_bytes,
    }


__all__ = ["BucketResult", "ScanJob", "pa", "scan_bucket"]
