"""The first stage: a task reads a range of a capture, or all capture points side by side, and gives each bucket its
share of the segments."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from kafkascope_analyzer.read.points.assignment import CapturePoints
from kafkascope_analyzer.read.points.merging import PointsReading
from kafkascope_analyzer.read.range_plan import CaptureRange
from kafkascope_analyzer.read.range_reading import RangeReading
from kafkascope_analyzer.read.window import OneBuffer
from kafkascope_spark.ingest.kernel_cache import prepare_kernel_cache
from kafkascope_spark.ingest.segment_rows import (
    PointsSummary,
    block_rows,
    points_block_rows,
    points_rows,
    summary_rows,
)

BLOCK_BYTES = 16 << 20
"""Bytes of a capture that are read at a time: a row holds at most this, and Spark's JVM holds a few rows."""
Stage = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What Spark's workers run over a partition."""


def read_stage(ranges: Sequence[CaptureRange], n_buckets: int, block_bytes: int) -> Stage:
    """Reads the ranges whose numbers are the rows. Gives segment_rows.ROWS."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_kernel_cache()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _rows_of(ranges[number], n_buckets, block_bytes)

    return read


def points_stage(points: CapturePoints, n_buckets: int, block_bytes: int) -> Stage:
    """Reads capture points side by side, in the one task that there is: each segment is compared with what all other
    points saw at its time. Gives segment_rows.ROWS."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_kernel_cache()
        for _ in batches:
            reading = PointsReading(points, OneBuffer(block_bytes))
            for place, block in enumerate(reading.blocks()):
                yield points_block_rows(block, place, n_buckets)
            yield points_rows(PointsSummary(reading.captures, reading.network_times()), n_buckets)

    return read


def _rows_of(part: CaptureRange, n_buckets: int, block_bytes: int) -> Iterator[pa.RecordBatch]:
    reading = RangeReading(part, block_bytes)
    for place, block in enumerate(reading.blocks()):
        yield block_rows(block, part.number, place, n_buckets)
    assert reading.summary is not None  # the blocks are through
    yield summary_rows(reading.summary, n_buckets)
