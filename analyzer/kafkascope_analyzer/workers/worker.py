"""The unit of parallel work: one bucket of the connections of all captures."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from kafkascope_analyzer.dataset.manifest import MESSAGES
from kafkascope_analyzer.memory.free_memory import give_back, stay_below
from kafkascope_analyzer.read.key_logs import read_key_logs
from kafkascope_analyzer.read.place import CapturePlace
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_analyzer.resolve.cluster.split_spill import divide_spill
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.finished_files import open_part
from kafkascope_analyzer.scan.bucket_scan import BucketScan
from kafkascope_analyzer.scan.messages import MessageWriters
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_analyzer.scan.saved_state import load_state, save_state
from kafkascope_analyzer.scan.spill import Spill, next_part
from kafkascope_parsers.capture import TLS_KEY_LOG
from kafkascope_parsers.tls import KeyLog, ResumedSessions, session_messages

SAVED_SCAN = "scan.state"
"""The name of the file of a scan's state in its spill."""
GROUP_CONNECTIONS = 1 << 15
"""Most connections whose facts the second pass holds at a time, some 4 kB each. The spill of a bucket with more is
divided, unless its scan continues with later captures."""


@dataclass(frozen=True, slots=True)
class ScanJob:
    """The bucket, its number and the number of buckets, how much of the records to write, whether the state of the
    scans is kept in the spill for later captures, and the key logs of TLS. A job whose spill has such a state continues
    from it."""

    bucket: Bucket
    number: int
    n_buckets: int
    detail: RecordDetail = RecordDetail.COUNTS
    keeps_state: bool = False
    key_logs: tuple[CapturePlace, ...] = ()


@dataclass(frozen=True, slots=True)
class BucketResult:
    """The result of a scan: rows per message table, the bucket's part of the byte ledger, how much was left out at
    limits, the job's bucket, and, for it and each further capture point, the number of groups of connections into which
    its bucket is divided.
    """

    message_rows: dict[str, int]
    ledger: dict[str, int]
    limits_hit: dict[str, int]
    bucket: Bucket
    n_groups: Sequence[int]

    @property
    def buckets(self) -> list[Bucket]:
        """The buckets to finish."""
        series = self.bucket.of_series(len(self.n_groups))
        return [group for bucket, n in zip(series, self.n_groups, strict=True) for group in bucket.groups(n)]


class BucketScans:
    """The scans of a job: one for each series of files in its inputs. They share the secrets of the key logs, which are
    read here, so that no secret is passed between processes."""

    def __init__(self, job: ScanJob, key_log: KeyLog | None = None) -> None:
        """key_log: the secrets of the job's key logs, where the caller has read them."""
        self._job = job
        self._key_log = read_key_logs(job.key_logs) if key_log is None else key_log
        self._resumed = ResumedSessions(self._key_log)
        self._scans: list[tuple[Bucket, BucketScan]] = []
        self._open_messages: list[MessageWriters] = []
        self._scan(0)
        while (job.bucket.of_series(len(self._scans) + 1)[-1].spill / SAVED_SCAN).exists():
            self._scan(len(self._scans))

    def push(self, block: ReadBlock, is_read: Callable[[], None] | None = None) -> None:
        """Takes the segments of a block that belong to the bucket. is_read: called when the memory of the block is no
        longer needed, before its streams are decoded."""
        scan = self._scan(block.series)
        for secrets in block.secrets:
            if secrets.kind == TLS_KEY_LOG:
                self._key_log.add(secrets.data)
        if self._key_log.has_masters:
            for _, message in session_messages(block.buf, block.segments):
                self._resumed.take(message)
        if self._job.number == 0:  # DNS look-ups belong to no bucket: one bucket takes them
            scan.dns.datagrams(block.datagrams, block.capture_id)
        streams = scan.assemble(block.buf, block.segments, block.capture_id)
        if is_read is not None:
            is_read()
        scan.push(streams)
        stay_below(self._job.bucket.limits.kept_bytes)

    def finish(self) -> BucketResult:
        """Ends the scans: spills their rows, from which the cluster can be learned. `close` must be called next."""
        rows: Counter[str] = Counter()
        ledger: Counter[str] = Counter()
        hit: Counter[str] = Counter()
        n_connections: list[int] = []
        for bucket, scan in self._scans:
            if self._job.keeps_state:
                _save(bucket, scan)
            rows.update(scan.finish())
            ledger.update(asdict(scan.ledger))
            hit.update(scan.limits_hit())
            n_connections.append(len(scan.conn_ids))
            self._open_messages.append(scan.messages)
        del scan
        self._scans = []  # they hold some 1 kB a connection
        return BucketResult(dict(rows), dict(ledger), dict(hit), self._job.bucket, self._divided(n_connections))

    def _divided(self, n_connections: Sequence[int]) -> list[int]:
        """Divides the spills of buckets with many connections. Returns the number of groups of each bucket."""
        found = []
        for bucket, n in zip(self._job.bucket.of_series(len(n_connections)), n_connections, strict=True):
            n_groups = 1 if self._job.keeps_state else max(-(-n // GROUP_CONNECTIONS), 1)
            if n_groups > 1:
                give_back()
                divide_spill(bucket.spill, np.arange(n) * n_groups // n)
            found.append(n_groups)
        return found

    def close(self) -> None:
        """Writes the rest of the message tables, which nobody waits for."""
        for messages in self._open_messages:
            messages.close()
        self._open_messages = []
        give_back()

    def _scan(self, series: int) -> BucketScan:
        while series >= len(self._scans):
            bucket = self._job.bucket.of_series(len(self._scans) + 1)[-1]
            share = (self._job.number, self._job.n_buckets)
            spill = Spill(bucket.spill, next_part(bucket.spill))
            scan = BucketScan(
                spill,
                _messages(bucket, bucket.part),
                share,
                detail=self._job.detail,
                limits=bucket.limits,
                key_log=self._key_log,
            )
            if (bucket.spill / SAVED_SCAN).exists():
                scan.resume(load_state(bucket.spill / SAVED_SCAN))
            self._scans.append((bucket, scan))
        return self._scans[series][1]


def _messages(bucket: Bucket, part: str) -> MessageWriters:
    return MessageWriters(bucket.dataset / MESSAGES, part, bucket.limits)


def _save(bucket: Bucket, scan: BucketScan) -> None:
    """Saves the state of a scan before it ends. Rows that its end writes have files of their own: later captures may
    continue incomplete messages."""
    scan.begin_end(_messages(bucket, open_part(bucket.part)))
    save_state(bucket.spill / SAVED_SCAN, scan.state())


def added_counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Returns the sum of counts by name: rows per table, bytes, or how much was left out at limits."""
    total: Counter[str] = Counter()
    for rows in counts:
        total.update(rows)
    return dict(total)
