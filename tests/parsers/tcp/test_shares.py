"""What TCP makes of a bucket's share of a block is what it makes of the whole block, retransmissions included."""

import random
from pathlib import Path

import numpy as np
import pytest

from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_parsers.link import LinkReader, Segments
from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tcp.shares import Divider
from kafkascope_parsers.tcp.state import E_DIFFERS, FIRST_COPY_BYTES, FIRST_COPY_COST

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"


def share_of(buf, segments, bucket, n_buckets):
    """A bucket's share, as a block."""
    shares = Divider(n_buckets).shares_of(buf, segments)
    rows = slice(*shares.row_ends[bucket : bucket + 2].tolist())
    payload = shares.payload[slice(*shares.byte_ends[bucket : bucket + 2].tolist())].copy()
    return payload, Segments(*(column[rows].copy() for column in shares.segments))


def everything_of(blocks, bucket, n_buckets, shared):
    """All that TCP says of a bucket's connections: streams, connections, sides and events."""
    tcp, found = TcpStreams(bucket, n_buckets), []

    def take(streams):
        found.append(tcp.events.tolist())
        for r in range(len(streams.direction)):
            data = streams.data[streams.start[r] : streams.end[r]].tobytes()
            found.append((int(streams.direction[r]), int(streams.stream_offset[r]), data))

    for buf, segments in blocks:
        take(tcp.push(*(share_of(buf, segments, bucket, n_buckets) if shared else (buf, segments))))
    take(tcp.finish())
    return found, tcp.connections.tolist(), tcp.sides.tolist()


def blocks_of(name):
    link = LinkReader()
    for block in iter_blocks(CAPTURES / name, 200_000):
        buf, segments = link.read_segments(block.buf, block.packets)
        yield buf.copy(), segments


@pytest.mark.parametrize("name", ["healthy_basic.pcap.zst", "mid_stream-snap96.pcap.zst"])
@pytest.mark.parametrize("n_buckets", [1, 3])
def test_a_share_gives_what_the_block_gives(name, n_buckets):
    blocks = list(blocks_of(name))
    n_connections = 0
    for bucket in range(n_buckets):
        whole = everything_of(blocks, bucket, n_buckets, shared=False)
        assert everything_of(blocks, bucket, n_buckets, shared=True) == whole
        n_connections += len(whole[1])
    assert n_connections == len(everything_of(blocks, 0, 1, shared=False)[1]) > 2


def test_each_byte_of_payload_is_in_one_share():
    for buf, segments in blocks_of("healthy_basic.pcap.zst"):
        shares = Divider(4).shares_of(buf, segments)
        assert len(shares.payload) == segments.captured.sum() == shares.byte_ends[-1]
        counted = shares.segments.skipped + shares.segments.captured.astype(np.int64) + FIRST_COPY_COST
        assert len(counted) < len(segments) + 4  # others' segments cost a bucket one row at the most
        expected = int((segments.captured.astype(np.int64) + FIRST_COPY_COST).sum())
        for first, end in zip(shares.row_ends[:-1], shares.row_ends[1:], strict=True):
            assert counted[first:end].sum() == expected  # what others have counts in each share


@pytest.mark.parametrize("between", [FIRST_COPY_BYTES - 10_000, FIRST_COPY_BYTES + 10_000])
def test_a_retransmission_is_compared_as_far_back_as_in_the_whole_capture(wire_of_two_flows, between):
    """A first copy is forgotten after FIRST_COPY_BYTES of other connections' payload too."""
    blocks = wire_of_two_flows(between)
    n_differing = 0
    for bucket in range(2):
        whole = everything_of(blocks, bucket, 2, shared=False)
        assert everything_of(blocks, bucket, 2, shared=True) == whole
        n_differing += sum(event[-1] == E_DIFFERS for each in whole[0] if isinstance(each, list) for event in each)
    assert n_differing == (between < FIRST_COPY_BYTES)


@pytest.fixture
def wire_of_two_flows():
    """One connection sends a segment, another one of another bucket sends `between` bytes, and the first one sends its
    segment again with other bytes."""

    def make(between):
        rng = random.Random(3)
        big = 5000
        rows, data = [], bytearray()

        def send(port, seq, payload, flags=0x18):
            rows.append((port, seq, flags, len(data), len(payload)))
            data.extend(payload)

        port, other = two_ports_of_different_buckets()
        for each in (port, other):
            send(each, 99, b"", flags=2)
        send(port, 100, b"a" * 1000)
        sent = 0
        while sent < between:
            send(other, (100 + sent) & 0xFFFFFFFF, rng.randbytes(big))
            sent += big + FIRST_COPY_COST
        send(port, 100, b"b" * 1000)
        return [as_block(rows, bytes(data))]

    return make


def as_block(rows, data):
    ports, seqs, flags, offsets, lengths = (np.array(column) for column in zip(*rows, strict=True))
    n = len(rows)
    ends = (np.tile(np.array([[0, 0xFFFF0A000001 + i]], np.uint64), (n, 1)) for i in range(2))
    return np.frombuffer(data, np.uint8).copy(), Segments(
        np.arange(1, n + 1, dtype=np.int64) * 1_000_000,
        np.arange(1, n + 1, dtype=np.int64),
        *ends,
        ports.astype(np.uint16),
        np.full(n, 9092, np.uint16),
        seqs.astype(np.uint32),
        np.zeros(n, np.uint32),
        flags.astype(np.uint16),
        np.full(n, 1000, np.uint16),
        offsets.astype(np.int64),
        lengths.astype(np.int32),
        lengths.astype(np.int32),
        np.zeros(n, np.int32),
    )


def two_ports_of_different_buckets():
    """Ports of the client whose flows fall into buckets 0 and 1 of two."""
    found = {}
    for port in range(40_000, 40_100):
        buf, segments = as_block([(port, 1, 2, 0, 0)], b"\0")
        shares = Divider(2).shares_of(buf, segments)
        bucket = next(b for b in range(2) if shares.row_ends[b] < shares.row_ends[b + 1] and is_own(shares, b))
        found[bucket] = port
        if {0, 1} <= set(found):
            return found[0], found[1]
    raise AssertionError("no two buckets")


def is_own(shares, bucket):
    """Whether the segment of a block with one segment is the bucket's: for another one it only counts."""
    tcp = TcpStreams(bucket, 2)
    row = slice(*shares.row_ends[bucket : bucket + 2].tolist())
    tcp.push(np.zeros(1, np.uint8), Segments(*(column[row].copy() for column in shares.segments)))
    return len(tcp.connections) == 1
