"""The first stage: a task reads a range of a capture, or all capture points side by side, and writes the blocks of
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
"""Function that Spark's workers run over a partition."""


@dataclass(frozen=True, slots=True)
class RangeReport:
    """Results of a range: its summary, its blocks, and its TLS sessions, if there are key logs."""

    summary: RangeSummary
    blocks: list[BlockFile]
    sessions: list[ShownSession]


@dataclass(frozen=True, slots=True)
class PointsReport:
    """Results of capture points: their captures, network_times.NETWORK_TIMES, the blocks, and the TLS sessions, if
    there are key logs."""

    captures: list[CaptureInfo]
    network_times: pa.Table
    blocks: list[BlockFile]
    sessions: list[ShownSession]


def read_stage(run: TaskRun, ranges: Sequence[CaptureRange], block_bytes: int) -> Stage:
    """Returns the function that reads the ranges whose numbers are the rows. It yields report_rows.REPORT, one
    `RangeReport` per row."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with task_at_work():
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield report_row(_read_range(run, ranges[number], block_bytes))

    return read


def points_stage(run: TaskRun, points: CapturePoints, block_bytes: int) -> Stage:
    """Returns the function that reads capture points side by side, in a single task, because each segment is compared
    with the segments of all other points at that time. It yields report_rows.REPORT, one `PointsReport`."""

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
    assert reading.summary is not None  # all blocks have been read
    return RangeReport(reading.summary, blocks, sessions)
