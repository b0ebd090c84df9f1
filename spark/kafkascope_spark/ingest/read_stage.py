"""The first stage: a task reads a range of a capture, or all capture points side by side, and puts the blocks of
segments into the run's shared spill, divided by bucket."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from kafkascope_analyzer.read.points.assignment import CapturePoints
from kafkascope_analyzer.read.points.merging import PointsReading
from kafkascope_analyzer.read.range_plan import CaptureRange
from kafkascope_analyzer.read.range_reading import RangeReading, RangeSummary
from kafkascope_analyzer.read.source import CaptureInfo
from kafkascope_analyzer.read.window import OneBuffer
from kafkascope_spark.ingest.block_files import BlockFile, BlockWriter
from kafkascope_spark.ingest.report_rows import report_row
from kafkascope_spark.ingest.session_buckets import ShownSession, shown_sessions
from kafkascope_spark.ingest.task_files import TaskRun
from kafkascope_spark.ingest.worker_process import task_at_work

Stage = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What Spark's workers run over a partition."""


@dataclass(frozen=True, slots=True)
class RangeReport:
    """What was found in a range, its blocks, and the sessions of TLS that it shows, where there are key logs."""

    summary: RangeSummary
    blocks: list[BlockFile]
    sessions: list[ShownSession]


@dataclass(frozen=True, slots=True)
class PointsReport:
    """What was found in capture points: their captures, network_times.NETWORK_TIMES, the blocks, and the sessions of
    TLS, where there are key logs."""

    captures: list[CaptureInfo]
    network_times: pa.Table
    blocks: list[BlockFile]
    sessions: list[ShownSession]


def read_stage(run: TaskRun, ranges: Sequence[CaptureRange], block_bytes: int) -> Stage:
    """Reads the ranges whose numbers are the rows. Gives report_rows.REPORT, a `RangeReport` a row."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with task_at_work():
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield report_row(_read_range(run, ranges[number], block_bytes))

    return read


def points_stage(run: TaskRun, points: CapturePoints, block_bytes: int) -> Stage:
    """Reads capture points side by side, in the one task that there is: each segment is compared with what all other
    points saw at its time. Gives report_rows.REPORT, one `PointsReport`."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with task_at_work():
            for _ in batches:
                reading, writer, blocks = PointsReading(points, OneBuffer(block_bytes)), BlockWriter(run), []
                sessions: list[ShownSession] = []
                for place, block in enumerate(reading.blocks()):
                    blocks.append(writer.write(block, 0, place, block.series))
                    sessions += shown_sessions(run, block)
                yield report_row(PointsReport(list(reading.captures), reading.network_times(), blocks, sessions))

    return read


def _read_range(run: TaskRun, part: CaptureRange, block_bytes: int) -> RangeReport:
    reading, writer = RangeReading(part, block_bytes), BlockWriter(run)
    blocks, sessions = [], list[ShownSession]()
    for place, block in enumerate(reading.blocks()):
        blocks.append(writer.write(block, part.number, place))
        sessions += shown_sessions(run, block)
    assert reading.summary is not None  # the blocks are through
    return RangeReport(reading.summary, blocks, sessions)
