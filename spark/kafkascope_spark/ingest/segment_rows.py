"""Segments as rows of Spark's exchange: a row holds the share that a bucket has of a block, column by column.

Rows of a bucket are sorted by ORDER: what is known of all ranges comes first (SUMMARY), then the blocks in the order of
the captures, their ranges and their places in the ranges. Capture points that are read side by side are one range:
their blocks come in the order read, and what is known of them comes last (POINTS).
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.read.range_reading import RangeSummary
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_analyzer.read.source import CaptureInfo
from kafkascope_parsers.link import Datagram, Segments
from kafkascope_parsers.link.segments import SEGMENT_COLUMNS
from kafkascope_parsers.tcp.shares import Shares, shares_of

SUMMARY, BLOCK, POINTS = 0, 1, 2
_DATAGRAM = pa.struct(
    [
        ("source", pa.binary()),
        ("destination", pa.binary()),
        ("source_port", pa.int32()),
        ("destination_port", pa.int32()),
        ("payload", pa.binary()),
        ("ts_ns", pa.int64()),
        ("packet_no", pa.int64()),
    ]
)
_KEY = [(name, pa.int32()) for name in ("bucket", "kind", "file", "number", "block")]
ROWS = pa.schema(
    [
        *_KEY,
        ("summary", pa.binary()),
        ("capture_id", pa.int32()),
        ("series", pa.int32()),
        ("payload", pa.binary()),
        *((f"segment_{name}", pa.binary()) for name in SEGMENT_COLUMNS),
        ("datagrams", pa.list_(_DATAGRAM)),
    ]
)
"""bucket, kind, file, number of the range, block in it; summary: a RangeSummary of SUMMARY rows, a PointsSummary of
POINTS rows; of BLOCK rows capture_id, series (null where it is known when all ranges are read), payload, the columns of
`Segments` as they lie in memory, and datagrams, which only the first bucket gets. file is 0 for capture points that are
read side by side, and else the capture_id."""
ORDER = [name for name, _ in _KEY]


@dataclass(frozen=True, slots=True)
class PointsSummary:
    """What was found in capture points: their captures, and network_times.NETWORK_TIMES."""

    captures: list[CaptureInfo]
    network_times: pa.Table


def summary_rows(summary: RangeSummary, n_buckets: int) -> pa.RecordBatch:
    """What was found in a range, for each bucket."""
    columns = {name: pa.nulls(n_buckets, ROWS.field(name).type) for name in ROWS.names}
    columns["summary"] = pa.array([pickle.dumps(summary)] * n_buckets, pa.binary())  # read by tasks of the same job
    place = (SUMMARY, summary.capture_id, summary.number, 0)
    return pa.RecordBatch.from_arrays(list((columns | _key(n_buckets, place)).values()), schema=ROWS)


def points_rows(summary: PointsSummary, n_buckets: int) -> pa.RecordBatch:
    """What was found in capture points, for the first bucket, and a row for each other, which may have no block."""
    columns = {name: pa.nulls(n_buckets, ROWS.field(name).type) for name in ROWS.names}
    columns["summary"] = pa.array([pickle.dumps(summary), *[None] * (n_buckets - 1)], pa.binary())
    return pa.RecordBatch.from_arrays(list((columns | _key(n_buckets, (POINTS, 0, 0, 0))).values()), schema=ROWS)


def block_rows(block: ReadBlock, number: int, place: int, n_buckets: int) -> pa.RecordBatch:
    """The shares that all buckets have of a block of a range. number: of the range; place: of the block in it."""
    return _shared(block, (BLOCK, block.capture_id, number, place), None, n_buckets)


def points_block_rows(block: ReadBlock, place: int, n_buckets: int) -> pa.RecordBatch:
    """The shares that all buckets have of a block of capture points. place: of the block."""
    return _shared(block, (BLOCK, 0, 0, place), block.series, n_buckets)


def _shared(block: ReadBlock, key: tuple[int, ...], series: int | None, n_buckets: int) -> pa.RecordBatch:
    shares = shares_of(block.buf, block.segments, n_buckets)
    columns = _key(n_buckets, key)
    columns["summary"] = pa.nulls(n_buckets, pa.binary())
    columns["capture_id"] = pa.array([block.capture_id] * n_buckets, pa.int32())
    columns["series"] = pa.array([series] * n_buckets, pa.int32())
    columns["payload"] = _cut(shares.payload, shares.byte_ends)
    columns |= {f"segment_{name}": _column(shares, name) for name in SEGMENT_COLUMNS}
    datagrams = [[asdict(each) for each in block.datagrams], *[[]] * (n_buckets - 1)]
    columns["datagrams"] = pa.array(datagrams, pa.list_(_DATAGRAM))
    return pa.RecordBatch.from_arrays([columns[name] for name in ROWS.names], schema=ROWS)


def summaries_of(batch: pa.RecordBatch) -> Iterator[RangeSummary]:
    """The summaries among the rows of a batch."""
    for value in batch.column("summary"):
        yield pickle.loads(value.as_py())


def points_of(batch: pa.RecordBatch) -> Iterator[PointsSummary]:
    """The summaries among the POINTS rows of a batch."""
    for value in batch.column("summary"):
        if value.is_valid:
            yield pickle.loads(value.as_py())


def block_of(batch: pa.RecordBatch, row: int, series: int, packets_before: int) -> ReadBlock:
    """The block in a row of kind BLOCK. packets_before: the packets of the capture before its range."""
    columns = {}
    for name, (dtype, width) in SEGMENT_COLUMNS.items():
        values = np.frombuffer(batch.column(f"segment_{name}")[row].as_buffer(), dtype).copy()
        columns[name] = values.reshape(-1, width) if width > 1 else values
    columns["packet_no"] += packets_before
    payload = np.frombuffer(batch.column("payload")[row].as_buffer(), np.uint8).copy()  # kernels take no read-only ones
    datagrams = [Datagram(**each) for each in batch.column("datagrams")[row].as_py()]
    for i, each in enumerate(datagrams):
        datagrams[i] = Datagram(**asdict(each) | {"packet_no": each.packet_no + packets_before})
    capture_id = batch.column("capture_id")[row].as_py()
    return ReadBlock(series, capture_id, payload, Segments(**columns), datagrams)


def _key(n_buckets: int, place: Sequence[int]) -> dict[str, pa.Array]:
    buckets = pa.array(np.arange(n_buckets, dtype=np.int32))
    others = (pa.array(np.full(n_buckets, value, np.int32)) for value in place)
    return dict(zip(ORDER, (buckets, *others), strict=True))


def _column(shares: Shares, name: str) -> pa.Array:
    dtype, width = SEGMENT_COLUMNS[name]
    values = getattr(shares.segments, name).reshape(-1).view(np.uint8)
    return _cut(values, shares.row_ends * (dtype.itemsize * width))


def _cut(values: NDArray[np.uint8], ends: NDArray[np.int64]) -> pa.Array:
    """The bytes between each two ends, as values; nothing is copied."""
    offsets = pa.py_buffer(ends.astype(np.int32))  # a block is far smaller than 2 GB
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, offsets, pa.py_buffer(values)])
