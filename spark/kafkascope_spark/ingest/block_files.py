"""Blocks of segments as files in the run's shared spill, from which each bucket reads its own share.

A file holds one block: the shares of the buckets, one after the other, and then the block's datagrams as an Arrow
stream. A share is compressed with zstd, which costs less than the disk or network time that it saves, in two frames:
first the number of its segments (int64) with the columns of `Segments` as in memory, widest values first, so that all
are aligned; then the payload. The size of the first frame (int64) precedes them. A task reads only its share, and no
byte of it passes through Spark: the JVM transports only the positions of the shares.

The files contain captured data. So on a disk only the user of the tasks can read them, and the driver removes them when
all buckets are scanned.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.leftovers import spill_folder
from kafkascope_analyzer.dataset.new_dataset import MOST_PUT
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.link import Datagram, Segments
from kafkascope_parsers.link.segments import SEGMENT_COLUMNS
from kafkascope_parsers.tcp.shares import Divider, Shares
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
_ZSTD_LEVEL = 1
_LAYOUT = sorted(SEGMENT_COLUMNS.items(), key=lambda column: -column[1][0].itemsize)
_ROW_BYTES = sum(dtype.itemsize * width for dtype, width in SEGMENT_COLUMNS.values())


@dataclass(frozen=True, slots=True)
class BlockFile:
    """A block that a task has written.

    place: its file in the dataset's storage; number: number of its range; block: its index in the range; series: None
    if it is known only when all ranges are read; ends: int64, begin of each bucket's share, begin of the datagrams, and
    end of the file; sizes: int64, decompressed bytes of each bucket's share.
    """

    place: str
    capture_id: int
    number: int
    block: int
    series: int | None
    ends: Longs
    sizes: Longs


@dataclass(frozen=True, slots=True)
class BlockSource:
    """A block of which a task reads a share. packets_before: number of packets of its capture before its range."""

    place: str
    capture_id: int
    series: int
    packets_before: int


class BlockWriter:
    """Writes blocks into the run's shared spill."""

    def __init__(self, run: TaskRun) -> None:
        self._run, self._divider = run, Divider(run.n_buckets)

    def write(self, block: ReadBlock, number: int, place: int, series: int | None = None) -> BlockFile:
        """Writes a block. number: number of the range; place: index of the block in it. Raises UsageError."""
        shares = self._divider.shares_of(block.buf, block.segments)
        parts = [*_compressed(shares), _packed(block.datagrams)]
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        sizes = _COUNT_BYTES + np.diff(shares.row_ends) * _ROW_BYTES + np.diff(shares.byte_ends)
        file = f"{spill_folder(self._run.run_id)}/{attempt()}/blocks/{block.capture_id}-{number}-{place}"
        self._run.storage.write_parts(file, parts)
        return BlockFile(file, block.capture_id, number, place, series, ends, sizes)


def _compressed(shares: Shares) -> Iterator[bytes]:
    """Yields the share of each bucket in the format of the file."""
    rows, ends = shares.row_ends.tolist(), shares.byte_ends.tolist()
    columns = [getattr(shares.segments, name) for name, _ in _LAYOUT]
    zstd = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
    for bucket in range(len(rows) - 1):
        first, end = rows[bucket : bucket + 2]
        of_rows = [(end - first).to_bytes(_COUNT_BYTES, "little"), *(column[first:end].data for column in columns)]
        segments = zstd.compress(b"".join(of_rows))
        payload = zstd.compress(shares.payload[ends[bucket] : ends[bucket + 1]].data)
        yield b"".join([len(segments).to_bytes(_COUNT_BYTES, "little"), segments, payload])


def _packed(datagrams: Sequence[Datagram]) -> bytes:
    if not datagrams:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _DATAGRAMS) as writer:
        writer.write_table(pa.Table.from_pylist([asdict(each) for each in datagrams], _DATAGRAMS))
    return bytes(sink.getvalue().to_pybytes())


@dataclass(frozen=True, slots=True)
class Spans:
    """The byte ranges that a bucket reads from the files of blocks: int64, one row per file.

    shares: first byte and end of its share; sizes: decompressed bytes of the share; datagrams: first byte and end of
    the datagrams, equal if they are not read.
    """

    shares: Longs
    sizes: Longs
    datagrams: Longs


def read_blocks(
    storage: Storage, sources: Sequence[BlockSource], spans: Spans, block_bytes: int
) -> Iterator[ReadBlock]:
    """Yields a bucket's shares of the blocks, in their order. Consecutive shares of one capture are joined to blocks of
    at most block_bytes. A block is valid until the next one. Raises UsageError.

    The next block is read while the caller processes the present one.
    """
    with ThreadPoolExecutor(MOST_PUT) as pool:
        shares = _Shares(pool, storage, sources, spans)
        memories = cycle([_Memory(block_bytes), _Memory(block_bytes)])
        at_hand: _Group | None = None
        for group in _groups(sources, spans.sizes, block_bytes):
            reading = shares.begin(group, next(memories))
            if at_hand is not None:
                yield at_hand.block()
            at_hand = reading
        if at_hand is not None:
            yield at_hand.block()


class _Memory:
    """Memory that is reused for one group of shares after the other: allocating new memory costs more than
    decompressing into it."""

    def __init__(self, n_bytes: int) -> None:
        """Allocates the memory. n_bytes: size that is enough for most groups."""
        self._data: NDArray[np.uint8] = np.empty(n_bytes, np.uint8)

    def room(self, n_bytes: int) -> NDArray[np.uint8]:
        """Returns memory of n_bytes, not initialized."""
        if n_bytes > len(self._data):
            self._data = np.empty(n_bytes, np.uint8)
        return self._data[:n_bytes]


@dataclass(frozen=True, slots=True)
class _Group:
    """Shares that form one block, while they are read. data: their bytes; starts: begin of each share in data."""

    sources: Sequence[BlockSource]
    data: NDArray[np.uint8]
    starts: Sequence[int]
    reading: Sequence[Future[list[Datagram]]]

    def block(self) -> ReadBlock:
        """Returns the block when all shares are read. The payload of its segments is not copied."""
        datagrams = [each for future in self.reading for each in future.result()]
        shares = [self._columns(*share) for share in zip(self.sources, self.starts, strict=True)]
        columns = {name: np.concatenate([share[name] for share in shares]) for name in SEGMENT_COLUMNS}
        return ReadBlock(self.sources[0].series, self.sources[0].capture_id, self.data, Segments(**columns), datagrams)

    def _columns(self, source: BlockSource, start: int) -> dict[str, NDArray[Any]]:
        """Returns the columns of a share's segments, with offsets into the block and packet numbers of the capture."""
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


@dataclass(frozen=True, slots=True)
class _Shares:
    """Reads the shares of a bucket with a pool of threads."""

    pool: ThreadPoolExecutor
    storage: Storage
    sources: Sequence[BlockSource]
    spans: Spans

    def begin(self, group: Sequence[int], memory: _Memory) -> _Group:
        """Starts to read a group of shares."""
        sizes = self.spans.sizes[group]
        ends = np.cumsum(-(-sizes // _COUNT_BYTES) * _COUNT_BYTES)  # so that columns are aligned
        data, starts = memory.room(int(ends[-1])), [0, *ends[:-1].tolist()]
        targets = [data[start : start + size] for start, size in zip(starts, sizes.tolist(), strict=True)]
        reading = [self.pool.submit(self._read, *share) for share in zip(group, targets, strict=True)]
        return _Group([self.sources[i] for i in group], data, starts, reading)

    def _read(self, i: int, target: NDArray[np.uint8]) -> list[Datagram]:
        """Reads a share and decompresses it into target. Returns the datagrams. Raises UsageError."""
        source = self.sources[i]
        packed = self._bytes(source, self.spans.shares[i])
        segments_end = _COUNT_BYTES + int(packed[:_COUNT_BYTES].view(np.int64)[0])
        zstd, n_bytes = zstandard.ZstdDecompressor(), 0
        try:
            for frame in (packed[_COUNT_BYTES:segments_end], packed[segments_end:]):
                n_bytes += zstd.stream_reader(frame.data).readinto(target[n_bytes:].data)
        except zstandard.ZstdError:
            n_bytes = -1
        if n_bytes != len(target):
            raise UsageError(f"{self.storage.uri_of(source.place)} was changed while the run was at work")
        return list(self._datagrams(source, self.spans.datagrams[i]))

    def _datagrams(self, source: BlockSource, span: Longs) -> Iterator[Datagram]:
        if span[1] > span[0]:
            rows = pa.ipc.open_stream(pa.py_buffer(self._bytes(source, span))).read_all()
            for row in rows.to_pylist():
                yield Datagram(**row | {"packet_no": row["packet_no"] + source.packets_before})

    def _bytes(self, source: BlockSource, span: Longs) -> NDArray[np.uint8]:
        """Returns the bytes of a span of a file."""
        first, end = span.tolist()
        found = np.empty(end - first, np.uint8)
        self.storage.read_range(source.place, first, found.data)
        return found


def _groups(sources: Sequence[BlockSource], sizes: Longs, block_bytes: int) -> Iterator[list[int]]:
    """Yields the indexes of the files whose shares form one block."""
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


def remove_blocks(storage: Storage, files: Iterable[BlockFile]) -> None:
    """Removes the files, with all other files of the tasks that wrote them. Raises UsageError."""
    folders = sorted({file.place.rpartition("/")[0] for file in files})
    with ThreadPoolExecutor(MOST_PUT) as pool:
        list(pool.map(storage.remove_folder, folders))
