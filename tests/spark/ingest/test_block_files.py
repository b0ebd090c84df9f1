"""A bucket reads from files of blocks the segments that it has in the capture, and notices when a file was changed."""

import pathlib

import numpy as np
import pytest

from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.memory.limits import limits_within
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.link import LinkReader
from kafkascope_spark.ingest.block_files import BlockSource, BlockWriter, Spans, read_blocks
from kafkascope_spark.ingest.task_files import TaskRun

CAPTURE = pathlib.Path(__file__).parents[3] / "fixtures" / "captures" / "healthy_basic.pcap.zst"
N_BUCKETS = 3


@pytest.fixture
def run(tmp_path):
    return TaskRun(Storage.of(tmp_path), "run", N_BUCKETS, RecordDetail.COUNTS, limits_within(None))


def blocks():
    link = LinkReader()
    for block in iter_blocks(CAPTURE, 200_000):
        buf, segments = link.read_segments(block.buf, block.packets)
        yield ReadBlock(0, 0, buf.copy(), segments, [])


def written(run):
    """The files of all blocks, and what each bucket reads of them."""
    writer = BlockWriter(run)
    files = [writer.write(block, 0, place) for place, block in enumerate(blocks())]
    sources = [BlockSource(file.place, 0, 0, 1000) for file in files]
    nothing = np.zeros((len(files), 2), np.int64)

    def spans(bucket):
        shares = np.array([file.ends[bucket : bucket + 2] for file in files])
        return Spans(shares, np.array([file.sizes[bucket] for file in files]), nothing)

    return sources, [spans(bucket) for bucket in range(N_BUCKETS)]


def rows(buf, segments, packets_before=0):
    """Packet number, source, sequence number, time and payload of each segment that has payload."""
    chosen = np.flatnonzero(segments.captured > 0).tolist()
    return [
        (
            int(segments.packet_no[i]) + packets_before,
            tuple(segments.source[i].tolist()),
            int(segments.source_port[i]),
            int(segments.seq[i]),
            int(segments.ts_ns[i]),
            buf[segments.offset[i] : segments.offset[i] + segments.captured[i]].tobytes(),
        )
        for i in chosen
    ]


@pytest.mark.parametrize("block_bytes", [1, 50_000, 48 << 20])
def test_the_buckets_together_have_each_segment_of_the_capture(run, block_bytes):
    sources, spans = written(run)
    found = [
        row
        for bucket in range(N_BUCKETS)
        for block in read_blocks(run.storage, sources, spans[bucket], block_bytes)
        for row in rows(block.buf, block.segments)
    ]
    expected = {row for block in blocks() for row in rows(block.buf, block.segments, 1000)}
    assert len(expected) > 100
    # The rest are rows that stand for what other buckets have behind a bucket's last segment.
    assert sorted(row for row in found if row in expected) == sorted(expected)


def test_a_changed_file_is_named(run):
    sources, spans = written(run)
    path = pathlib.Path(run.storage.path) / sources[0].place
    first, end = spans[0].shares[0].tolist()
    data = bytearray(path.read_bytes())
    data[first + 8 : end] = bytes(end - first - 8)
    path.write_bytes(data)
    with pytest.raises(UsageError, match=f"{sources[0].place} was changed while the run was at work"):
        list(read_blocks(run.storage, sources, spans[0], 48 << 20))
