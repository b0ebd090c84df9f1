"""The engine of small captures: one bucket, in this process."""

from collections.abc import Callable, Sequence
from typing import Any

from kafkascope_analyzer.memory.limits import Limits
from kafkascope_analyzer.read.open_reading import Inputs, open_reading
from kafkascope_analyzer.read.window import OneBuffer
from kafkascope_analyzer.resolve.learned import Learned
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.bucket_tables import finish_bucket
from kafkascope_analyzer.resolve.tables.finished_files import Finished
from kafkascope_analyzer.resolve.tasks import SpillTask
from kafkascope_analyzer.workers.engine import Progress, Scanned, push_all
from kafkascope_analyzer.workers.worker import BucketScans, ScanJob


class ThisProcess:
    """Engine that does all work in this process, in one bucket."""

    n_buckets = 1

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buckets: list[Bucket] = []

    def __enter__(self) -> "ThisProcess":
        return self

    def __exit__(self, *failure: object) -> None:
        """Does nothing: no process was started."""

    def scan(self, jobs: Sequence[ScanJob], inputs: Inputs, progress: Progress | None = None) -> Scanned:
        """Reads the inputs and scans them, block by block."""
        reading = open_reading(inputs, OneBuffer(self._limits.block_bytes))
        scans = BucketScans(jobs[0])
        push_all(reading, scans.push, progress)
        result = scans.finish()
        scans.close()
        self._buckets = result.buckets
        return Scanned(reading.captures, reading.limits_hit, [result], reading.network_times())

    def run(self, tasks: Sequence[SpillTask]) -> list[Any]:
        """Runs the tasks one after the other."""
        return [task(self._buckets[0].spill.parent) for task in tasks]

    def finish(self, learned: Learned, meanwhile: Callable[[], None] | None = None) -> Finished:
        """Finishes the bucket: the second pass."""
        return Finished.joined(finish_bucket(bucket, learned) for bucket in self._buckets)
