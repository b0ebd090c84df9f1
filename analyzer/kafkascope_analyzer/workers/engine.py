"""The interface of the engines that do the work of an ingest: in this process, in processes of this machine, or in
tasks of Spark.

The run is the same with all of them. `scan` reads the captures and spills rows, bucket by bucket; the run learns facts
about the cluster from the spills, and has what grows with the captures done by tasks (`run`); `finish` writes the
tables that need these facts. Files are written into the folder of the new dataset, or to its place, and then reported
as `put_files`.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import pyarrow as pa

from kafkascope_analyzer.read.open_reading import Inputs
from kafkascope_analyzer.read.points.merging import PointsReading
from kafkascope_analyzer.read.reading import Reading
from kafkascope_analyzer.read.source import CaptureInfo
from kafkascope_analyzer.resolve.learned import Learned
from kafkascope_analyzer.resolve.tables.finished_files import Finished
from kafkascope_analyzer.resolve.tasks import SpillTask
from kafkascope_analyzer.workers.worker import BucketResult, ScanJob

Progress = Callable[[int, int], None]
"""Function of (bytes read, bytes in total)."""


class NotWrittenError(Exception):
    """Files of the run could not be written; has the reason. It is not an OSError, because an OSError while a capture
    is read is about the capture."""

    @classmethod
    def of(cls, error: OSError) -> Self:
        """Returns the error in the system's words, which are shorter than Arrow's."""
        return cls(os.strerror(error.errno) if error.errno else str(error))


@dataclass(frozen=True, slots=True)
class Scanned:
    """The result of the first pass: the captures, in the order read; how much was left out below TCP, by limit; the
    result of each job, whose buckets' spills are in local folders; and network_times.NETWORK_TIMES where there were
    several capture points."""

    captures: Sequence[CaptureInfo]
    limits_hit: dict[str, int]
    results: Sequence[BucketResult]
    network_times: pa.Table | None = None


class Engine(Protocol):
    """Does the work of one run, in n_buckets buckets. Everything that it has started ends with the `with` block."""

    @property
    def n_buckets(self) -> int:
        """The number of buckets into which the connections are divided."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *failure: object) -> None: ...

    def scan(self, jobs: Sequence[ScanJob], inputs: Inputs, progress: Progress | None = None) -> Scanned:
        """The first pass: reads the inputs. Afterwards the `before` of captures to read is the state after all of them.
        Raises CaptureError where one cannot be read."""

    def run(self, tasks: Sequence[SpillTask]) -> list[Any]:
        """Runs tasks over the spills, after `scan`. Returns what each has found."""

    def finish(self, learned: Learned, meanwhile: Callable[[], None] | None = None) -> Finished:
        """The second pass over all buckets. meanwhile: called while other processes are working, if there are any."""


def push_all(reading: Reading | PointsReading, push: Callable[..., None], progress: Progress | None) -> None:
    """Pushes all blocks of the inputs, and reports the progress after each."""
    for block in reading.blocks():
        push(block)
        if progress is not None:
            progress(reading.read_bytes, reading.total_bytes)
