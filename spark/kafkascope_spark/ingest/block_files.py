"""Blocks of segments as files in the run's shared spill, of which each bucket reads its own share.

A file holds one block: the shares of the buckets, one after the other, and then the block's datagrams as an Arrow
stream. A share is the number of its segments (int64), the columns of `Segments` as they lie in memory, widest values
first, so that all are aligned, and the payload. What is read before and behind a share is never needed, and no byte of
it passes through Spark: the JVM only carries where the shares are.

The files hold what was captured. So each is readable only for the user that the tasks run as, where the dataset is on a
disk, and the driver removes them when all buckets are scanned.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.leftovers import spill_folder
from kafkascope_analyzer.dataset.new_dataset import MOST_PUT
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_parsers.link import Datagram, Segments
from kafkascope_parsers.link.segments import SEGMENT_COLUMNS
from kafkascope_parsers.tcp.shares import Shares, shares_of
from kafkascope_spark.ingest.task_files import TaskRun, attempt

Longs = NDArray[np.int64]
_DATAGRAMS = pa.schema(
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
_COUNT_BYTES = 8
_LAYOUT = sorted(SEGMENT_COLUMNS.items(), key=lambda column: -column[1][0].itemsize)
_ROW_BYTES = sum(dtype.itemsize * width for dtype, width in SEGMENT_COLUMNS.values())


@dataclass(frozen=True, slots=True)
class BlockFile:
    """A block that a task has written. place: its file at the dataset's place; number: of its range; block: its place
    in the range; series: None where it is known when all ranges are read; ends: int64, where the share of each bucket
    begins, where the datagrams begin, and the file's end.
    """

    place: str
    capture_id: int
    number: int
    block: int
    series: int | None
    ends: Longs


@dataclass(frozen=True, slots=True)
class BlockSource:
    """A block that a task reads a share of. packets_before: the packets of its capture before its range."""

    place: str
    capture_id: int
    series: int
    packets_before: int


def write_block(run: TaskRun, block: ReadBlock, number: int, place: int, series: int | None = None) -> BlockFile:
    """Puts a block into the run's shared spill. number: of the range; place: of the block in it."""
    shares = shares_of(block.buf, block.segments, run.n_buckets)
    datagrams = _packed(block.datagrams)
    sizes = _COUNT_BYTES + np.diff(shares.row_ends) * _ROW_BYTES + np.diff(shares.byte_ends)
    ends = np.cumsum(np.concatenate([[0], sizes, [len(datagrams)]]), dtype=np.int64)
    file = f"{spill_folder(run.run_id)}/{attempt()}/blocks/{block.capture_id}-{number}-{place}"
    run.storage.write_parts(file, _parts(shares, datagrams))
    return BlockFile(file, block.capture_id, number, place, series, ends)


def _parts(shares: Shares, datagrams: bytes) -> Iterator[bytes | memoryview]:
    """The content of a file, part by part."""
    rows, ends = shares.row_ends.tolist(), shares.byte_ends.tolist()
    columns = [np.ascontiguousarray(getattr(shares.segments, name)) for name, _ in _LAYOUT]
    for bucket in range(len(rows) - 1):
        first, end = rows[bucket : bucket + 2]
        yield (end - first).to_bytes(_COUNT_BYTES, "little")
        for column in columns:
            yield column[first:end].reshape(-1).view(np.uint8).data
        yield shares.payload[ends[bucket] : ends[bucket + 1]].data
    yield datagrams


def _packed(datagrams: Sequence[Datagram]) -> bytes:
    if not datagrams:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _DATAGRAMS) as writer:
        writer.write_table(pa.Table.from_pylist([asdict(each) for each in datagrams], _DATAGRAMS))
    return bytes(sink.getvalue().to_pybytes())


def read_blocks(
    storage: Storage, sources: Sequence[BlockSource], spans: Longs, block_bytes: int
) -> Iterator[ReadBlock]:
    """The shares that a bucket has of the blocks, in their order; those of one capture that follow each other are one
    block as long as they have block_bytes or less. spans: int64, a row a source: first byte and end of the share, and
    of the datagrams, which are not read where the two are the same. Raises UsageError.

    The next block is read while the caller is at work on this one.
    """
    groups = list(_groups(sources, spans[:, 1] - spans[:, 0], block_bytes))
    with ThreadPoolExecutor(MOST_PUT) as pool:
        reading = _begin(pool, storage, sources, spans, groups[0]) if groups else None
        for next_group in [*groups[1:], []]:
            if reading is not None:
                at_hand, reading = reading, _begin(pool, storage, sources, spans, next_group)
                yield at_hand.block()


@dataclass(frozen=True, slots=True)
class _Group:
    """Shares that make one block, and are being read. data: their bytes, each share's from one of `starts` on."""

    sources: Sequence[BlockSource]
    data: NDArray[np.uint8]
    starts: Sequence[int]
    reading: Sequence[Future[list[Datagram]]]

    def block(self) -> ReadBlock:
        """The block, when all is read. Its segments' payload stays where it was read to."""
        datagrams = [each for future in self.reading for each in future.result()]
        shares = [self._columns(*share) for share in zip(self.sources, self.starts, strict=True)]
        columns = {name: np.concatenate([share[name] for share in shares]) for name in SEGMENT_COLUMNS}
        return ReadBlock(self.sources[0].series, self.sources[0].capture_id, self.data, Segments(**columns), datagrams)

    def _columns(self, source: BlockSource, start: int) -> dict[str, NDArray[Any]]:
        """The columns of the segments of a share, with the offsets and numbers that they have in the block and in the
        capture."""
        at = start + _COUNT_BYTES
        n = int(self.data[start:at].view(np.int64)[0])
        columns = {}
        for name, (dtype, width) in _LAYOUT:
            size = n * dtype.itemsize * width
            values = self.data[at : at + size].view(dtype)
            columns[name] = values.reshape(-1, width) if width > 1 else values
            at += size
        columns["packet_no"] += source.packets_before
        columns["offset"] += at
        return columns


def _begin(
    pool: ThreadPoolExecutor, storage: Storage, sources: Sequence[BlockSource], spans: Longs, group: Sequence[int]
) -> _Group | None:
    """Begins to read a group of shares; None where it is empty."""
    if not group:
        return None
    chosen = [sources[i] for i in group]
    sizes = spans[group, 1] - spans[group, 0]
    ends = np.cumsum(-(-sizes // _COUNT_BYTES) * _COUNT_BYTES)  # so that columns are aligned
    data, starts = np.empty(int(ends[-1]), np.uint8), [0, *ends[:-1].tolist()]
    targets = [data[start : start + size] for start, size in zip(starts, sizes.tolist(), strict=True)]
    reading = [pool.submit(_read_share, storage, *share) for share in zip(chosen, spans[group], targets, strict=True)]
    return _Group(chosen, data, starts, reading)


def _groups(sources: Sequence[BlockSource], sizes: Longs, block_bytes: int) -> Iterator[list[int]]:
    """The numbers of the files whose shares make one block."""
    group: list[int] = []
    n_bytes = 0
    for i, (source, size) in enumerate(zip(sources, sizes.tolist(), strict=True)):
        same = group and (source.series, source.capture_id) == (sources[group[0]].series, sources[group[0]].capture_id)
        if group and (not same or n_bytes + size > block_bytes):
            yield group
            group, n_bytes = [], 0
        group.append(i)
        n_bytes += size
    if group:
        yield group


def _read_share(storage: Storage, source: BlockSource, span: Longs, target: NDArray[np.uint8]) -> list[Datagram]:
    """Reads a share into target. Returns the datagrams."""
    first, _, *of_datagrams = span.tolist()
    storage.read_range(source.place, first, target.data)
    return list(_read_datagrams(storage, source, *of_datagrams))


def _read_datagrams(storage: Storage, source: BlockSource, first: int, end: int) -> Iterator[Datagram]:
    if end > first:
        packed = np.empty(end - first, np.uint8)
        storage.read_range(source.place, first, packed.data)
        rows = pa.ipc.open_stream(pa.py_buffer(packed)).read_all()
        for row in rows.to_pylist():
            yield Datagram(**row | {"packet_no": row["packet_no"] + source.packets_before})


def remove_blocks(storage: Storage, files: Iterable[BlockFile]) -> None:
    """Removes the files, with all others of the tasks that have written them. Raises UsageError."""
    folders = sorted({file.place.rpartition("/")[0] for file in files})
    with ThreadPoolExecutor(MOST_PUT) as pool:
        list(pool.map(storage.remove_folder, folders))
