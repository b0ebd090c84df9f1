"""Options of an ingest, from the command line to the engines."""

from dataclasses import dataclass
from pathlib import Path

from kafkascope_analyzer.connections.hosts import Entry
from kafkascope_analyzer.read.place import CapturePlace
from kafkascope_analyzer.scan.record_detail import RecordDetail


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """jobs: number of processes; by default one per core. max_memory: most bytes of each process, where that is less
    than 1 GB. detail: how much of the records to write (BATCHES is half again as much work where batches are small,
    RECORDS many times). hosts: names and addresses of brokers, as in a hosts file. temporary: the folder for temporary
    files; None is the system's. append: whether the captures extend the existing dataset. capture_points: how files are
    assigned to capture points (`auto` or the path of a file); None: each series of files is read by itself. key_logs:
    files with the secrets of TLS sessions.
    """

    jobs: int | None = None
    max_memory: int | None = None
    detail: RecordDetail = RecordDetail.COUNTS
    hosts: tuple[Entry, ...] = ()
    temporary: Path | None = None
    append: bool = False
    capture_points: str | None = None
    key_logs: tuple[CapturePlace, ...] = ()
