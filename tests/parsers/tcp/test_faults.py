"""What TCP does to a stream and a capture to TCP: each fault in a crafted capture, against what was sent, and against
tshark where it can know.

The faults are those of captures that broke other analyzers: class 16 (retransmissions with other bytes, overlaps,
sequence wrap, keep-alives with a garbage byte, segments over 64 kB, RST with data, time going backwards, cut packets),
class 6 (start in the middle, one direction, a hole), class 8 (port pairs reused with the same bytes).

Where tshark's stream is not ours, `tshark` says what it has instead, and why ours is right:
  rst_with_data    bytes of a RST are a message for people (RFC 9293, 3.5.3), which no application reads

tcpflow differs in more: it keeps the last copy of a retransmitted byte (a receiver has acknowledged and delivered the
first), takes bytes of a RST, and puts a second connection without a FIN before it behind the first in one file.
`benchmarks/streams.py` compares all three over any captures. tcpflow cannot read Linux cooked captures of version 2.
"""

import shutil
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.tcp.state import CLOSE_KINDS
from kafkascope_parsers.tcp.streams import GAP_LOST

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
BIG = bytes(range(256)) * 280


@dataclass
class Fault:
    """Segments (client's: '>', server's: '<'; sequence number from the side's ISN, payload, flags, acknowledged, from
    the other side's ISN), and what is to come out: streams of the client with `[n]` for lost bytes, how each connection
    ended.
    """

    segments: list[tuple]
    streams: list[bytes]
    ends: list[str]
    server: bytes = b""
    isn: int = 1000
    tshark: list[bytes] | None = None


OPEN = [(">", 0, b"", SYN), ("<", 0, b"", SYN | ACK, 1), (">", 1, b"", ACK, 1)]
FAULTS = {
    "in_order": Fault([*OPEN, (">", 1, b"abc"), (">", 4, b"def")], [b"abcdef"], ["open"]),
    "retransmission": Fault([*OPEN, (">", 1, b"abc"), (">", 1, b"abc"), (">", 4, b"def")], [b"abcdef"], ["open"]),
    "retransmission_with_other_bytes": Fault(
        [*OPEN, (">", 1, b"abc"), (">", 1, b"aXc"), (">", 4, b"def")], [b"abcdef"], ["open"]
    ),
    "overlap": Fault([*OPEN, (">", 1, b"abcd"), (">", 3, b"cdef"), (">", 2, b"bcdefgh")], [b"abcdefgh"], ["open"]),
    "reordering": Fault(
        [*OPEN, (">", 7, b"ghi"), (">", 4, b"def"), (">", 10, b"jkl"), (">", 1, b"abc")], [b"abcdefghijkl"], ["open"]
    ),
    "wrap": Fault(
        [*OPEN, (">", 1, b"abcdefgh"), (">", 17, b"qrs"), (">", 9, b"ijklmnop"), (">", 20, b"tuv")],
        [b"abcdefghijklmnopqrstuv"],
        ["open"],
        isn=0xFFFFFFF8,
    ),
    "keepalives": Fault(
        [
            *OPEN,
            (">", 1, b"abc"),
            (">", 3, b"\0", ACK, 1),
            ("<", 1, b"", ACK, 4),
            (">", 3, b"", ACK, 1),
            (">", 4, b"d"),
        ],
        [b"abcd"],
        ["open"],
    ),
    "rst_with_data": Fault(
        [*OPEN, (">", 1, b"abc"), (">", 4, b"reason", RST | ACK, 1)], [b"abc"], ["rst_0"], tshark=[b"abcreason"]
    ),
    "half_close": Fault(
        [*OPEN, (">", 1, b"abc"), (">", 4, b"", FIN | ACK, 1), ("<", 1, b"uvw", ACK, 5), ("<", 4, b"xyz", ACK, 5)],
        [b"abc"],
        ["fin_0"],
        server=b"uvwxyz",
    ),
    "ports_reused_after_fin": Fault(
        [*OPEN, (">", 1, b"abc"), (">", 4, b"", FIN | ACK, 1), (">", 900_000, b"", SYN), (">", 900_001, b"abc")],
        [b"abc", b"abc"],
        ["fin_0", "open"],
    ),
    "ports_reused_at_once_after_rst": Fault(
        [*OPEN, (">", 1, b"abc"), ("<", 1, b"", RST), (">", 50, b"", SYN), (">", 51, b"abc")],
        [b"abc", b"abc"],
        ["rst_1", "open"],
    ),
    "ports_reused_without_a_close": Fault(
        [*OPEN, (">", 1, b"abc"), (">", 90, b"", SYN), ("<", 700, b"", SYN | ACK, 91), (">", 91, b"abc")],
        [b"abc", b"abc"],
        ["open", "open"],
    ),
    "syn_retry": Fault([(">", 0, b"", SYN), (">", 0, b"", SYN), *OPEN[1:], (">", 1, b"abc")], [b"abc"], ["open"]),
    "syn_with_data": Fault(
        [(">", 0, b"abc", SYN), ("<", 0, b"", SYN | ACK, 4), (">", 4, b"def", ACK, 1)], [b"abcdef"], ["open"]
    ),
    "no_syn": Fault(
        [(">", 5, b"abc", ACK, 9), ("<", 9, b"xyz", ACK, 8), (">", 8, b"def")], [b"abcdef"], ["open"], b"xyz"
    ),
    "one_direction": Fault([(">", 5, b"abc"), (">", 11, b"ghi"), (">", 8, b"def")], [b"abcdefghi"], ["open"]),
    "hole": Fault(
        [*OPEN, (">", 1, b"abc"), (">", 7, b"ghi"), ("<", 1, b"xyz", ACK, 10), (">", 10, b"jkl", ACK, 4)],
        [b"abc[3]ghijkl"],
        ["open"],
        server=b"xyz",
    ),
    "segment_over_64_kb": Fault([*OPEN, (">", 1, BIG), (">", 1 + len(BIG), b"end")], [BIG + b"end"], ["open"]),
}
PORTS = {name: 20_000 + i for i, name in enumerate(FAULTS)}


def write_capture(path):
    """All faults, each on its own port; the last packets are timed before the first."""
    packets = []
    for name, fault in FAULTS.items():
        ends = [("10.0.0.1", PORTS[name], fault.isn), ("10.0.0.2", 9092, 5000)]
        for segment in fault.segments:
            way, seq, payload, flags, ack = (*segment, ACK, 1)[:5] if len(segment) == 3 else (*segment, 0)[:5]
            (source, port, isn), (to, to_port, to_isn) = ends if way == ">" else ends[::-1]
            acked = (to_isn + ack) % 2**32 if flags & ACK else 0
            tcp = TCP(sport=port, dport=to_port, seq=(isn + seq) % 2**32, ack=acked, flags=flags)
            length = {"len": 0} if len(payload) > 65_000 else {}
            packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src=source, dst=to, **length) / tcp
            packet = packet / payload if payload else packet
            packet.time = 1_700_000_000 - len(packets) / 1000
            packets.append(packet)
    wrpcap(str(path), packets)


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults") / "faults.pcap"
    write_capture(path)
    return path


@pytest.fixture(scope="module")
def ours(either_streams, capture):
    """Per port: both sides' streams and how the connections ended."""
    link, tcp = LinkReader(), either_streams()
    streams = defaultdict(bytes)

    def take(block):
        for r, d in enumerate(block.direction.tolist()):
            if block.gap_kind[r] == GAP_LOST:
                streams[d] += b"[%d]" % block.gap_before[r]
            streams[d] += block.data[block.start[r] : block.end[r]].tobytes()

    for block in iter_blocks(capture):
        take(tcp.push(*link.read_segments(block.buf, block.packets)))
    take(tcp.finish())
    found = defaultdict(list)
    for c, kind in enumerate(tcp.close_kinds().tolist()):
        found[int(tcp.sides["port"][2 * c])].append((streams[2 * c], streams[2 * c + 1], CLOSE_KINDS[kind]))
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_streams_are_what_was_sent(name, ours):
    fault = FAULTS[name]
    rows = ours[PORTS[name]]
    assert [row[0] for row in rows] == fault.streams
    assert [row[2] for row in rows] == fault.ends
    assert b"".join(row[1] for row in rows) == fault.server


@pytest.fixture(scope="module")
def tsharks(capture):
    """Per port of the client: the client's streams as tshark follows them."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    n = sum(len(fault.streams) for fault in FAULTS.values())
    command = ["tshark", "-r", str(capture), "-q", *(f"-zfollow,tcp,raw,{i}" for i in range(n + 3))]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = defaultdict(list)
    for part in text.split("Follow: tcp,raw")[1:]:
        lines = part.splitlines()
        nodes = [line.split(": ")[1] for line in lines if line.startswith("Node")]
        client = 0 if nodes[0].startswith("10.0.0.1:") else 1
        hexed = [line for line in lines if line and line.strip("\t0123456789abcdef") == ""]
        data = b"".join(bytes.fromhex(line) for line in hexed if line.startswith("\t") == bool(client))
        found[int(nodes[client].rsplit(":", 1)[1])].append(data)
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_streams_are_those_of_tshark(name, tsharks):
    fault = FAULTS[name]
    expected = [stream.replace(b"[3]", b"[3 bytes missing in capture file]\0") for stream in fault.streams]
    assert Counter(tsharks[PORTS[name]]) == Counter(fault.tshark or expected)
