"""Streams of real captures: as tshark puts them together, and as the reassembler alone does, whatever the blocks."""

import hashlib
import json
from collections import Counter, defaultdict
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.tcp.reader import TcpStreams

FIXTURES = Path(__file__).parents[3] / "fixtures"
ORACLE = json.loads((FIXTURES / "wire" / "tshark_streams.json").read_text())
CAPTURES = sorted(path.name for path in (FIXTURES / "captures").glob("*.zst"))
LARGEST = ("leader_move.pcap.zst", "txn.pcap.zst")


def streams_of(name, block_bytes=64 << 20, made_by=TcpStreams):
    """Per direction: all bytes and all gaps. And the TcpStreams."""
    link, tcp = LinkReader(), made_by()
    data, gaps = defaultdict(bytearray), defaultdict(list)

    def take(streams):
        for r, d in enumerate(streams.direction.tolist()):
            data[d] += streams.data[streams.start[r] : streams.end[r]].tobytes()
            if streams.gap_before[r]:
                gaps[d].append((int(streams.stream_offset[r]), int(streams.gap_before[r]), int(streams.gap_kind[r])))

    for block in iter_blocks(FIXTURES / "captures" / name, block_bytes):
        take(tcp.push(*link.read_segments(block.buf, block.packets)))
    take(tcp.finish())
    return data, gaps, tcp


@pytest.mark.parametrize("name", sorted(ORACLE))
def test_streams_are_those_of_tshark(name):
    data, _, tcp = streams_of(name)
    sides = tcp.sides
    ours = Counter()
    for c in range(len(tcp.connections)):
        ends = []
        for d in (2 * c, 2 * c + 1):
            address = IPv4Address(int(sides["address_low"][d]) & 0xFFFFFFFF)
            digest = hashlib.sha256(data[d]).hexdigest()
            ends.append((f"{address}:{sides['port'][d]}", len(data[d]), digest))
        ours[tuple(sorted(ends))] += 1
    theirs = Counter(tuple(sorted(zip(row["nodes"], row["bytes"], row["sha256"], strict=True))) for row in ORACLE[name])
    assert ours == theirs


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.lab) if name in LARGEST else name for name in CAPTURES]
)
def test_blocks_and_reassembler_change_nothing(slow_streams, name):
    """The largest captures are slow: the slow twin takes twice as long for them as for all others."""
    data, gaps, tcp = streams_of(name)
    small_data, small_gaps, small = streams_of(name, 100_000)
    slow_data, slow_gaps, slow = streams_of(name, made_by=slow_streams)
    assert sum(map(len, data.values())) > 50_000
    assert data == small_data == slow_data
    assert gaps == small_gaps == slow_gaps
    for field in ("segments", "bytes", "stream_bytes", "missing_bytes", "cut_bytes", "retransmitted", "keepalives"):
        assert tcp.sides[field].tolist() == small.sides[field].tolist() == slow.sides[field].tolist(), field
    assert tcp.close_kinds().tolist() == small.close_kinds().tolist() == slow.close_kinds().tolist()


def test_buckets_together_are_the_whole():
    whole = Counter(bytes(stream) for stream in streams_of("healthy_basic.pcap.zst")[0].values())
    parts = Counter()
    for bucket in range(3):
        streams = streams_of("healthy_basic.pcap.zst", made_by=partial(TcpStreams, bucket, 3))[0]
        parts += Counter(bytes(stream) for stream in streams.values())
    assert parts == whole
