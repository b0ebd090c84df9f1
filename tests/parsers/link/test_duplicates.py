"""Packets that a capture shows twice, and packets that were sent twice: a real router's, and ones that scapy makes."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, CookedLinuxV2, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.link.duplicates import COPY_NS, RECENT, SURE_NS
from kafkascope_parsers.tcp.reader import TcpStreams

needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")

FIXTURES = Path(__file__).parents[3] / "fixtures"
ROUTED = FIXTURES / "links" / "routed_any.pcap.zst"
ETHERNET, RAW, SLL2 = 1, 101, 276
US, MS = 1000, 1_000_000
E = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def sent(identification=7, ttl=64, tsval=1000, payload=b"payload", version=4, **tcp):
    """An IP packet with a segment."""
    ip = IP(src="10.1.2.3", dst="10.4.5.6", id=identification, ttl=ttl)
    if version == 6:
        ip = IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=ttl)
    options = [] if tsval is None else [("NOP", None), ("NOP", None), ("Timestamp", (tsval, 5))]
    given_tcp = {"sport": 40000, "dport": 9092, "seq": 100, "ack": 17, "flags": "PA", "window": 512} | tcp
    return ip / TCP(options=options, **given_tcp) / payload


def offloaded(packet):
    """The packet with the checksum that Linux leaves to the network card: the pseudo header's sum."""
    ip = packet.__class__(bytes(packet))
    segment = bytes(ip.payload)
    words = ip.src.split(".") + ip.dst.split(".")
    total = sum(int(words[i]) << 8 | int(words[i + 1]) for i in range(0, 8, 2)) + 6 + len(segment)
    ip[TCP].chksum = (total & 0xFFFF) + (total >> 16)
    return ip


def kept(packets_of, *packets):
    """Numbers (from 0) of the packets that are not copies; each is (ns, packet) or (ns, link type, packet)."""
    rows = [(RAW, packet[1]) if len(packet) == 2 else packet[1:] for packet in packets]
    reader = LinkReader()
    _, segments = reader.read_segments(*packets_of(rows, [packet[0] for packet in packets]))
    assert len(segments) + reader.counts.duplicates == len(packets)
    return [no - 1 for no in segments.packet_no.tolist()]


def tshark(path, *arguments):
    return subprocess.run(["tshark", "-r", str(path), *arguments], check=True, capture_output=True, text=True).stdout


@needs_tshark
def test_a_real_router_shows_each_packet_twice():
    """Copies are those with TTL 63; retransmissions are what tshark says of the packets with TTL 64 alone. Packets had
    been dropped on purpose, so there are some, the first of them 44 us after the first sending."""
    came = [int(no) for no in tshark(ROUTED, "-Y", "ip.ttl == 64", "-Tfields", "-eframe.number").split()]
    reader, streams = LinkReader(), TcpStreams()
    kept_nos, n_packets = [], 0
    for block in iter_blocks(ROUTED):
        buf, segments = reader.read_segments(block.buf, block.packets)
        kept_nos += segments.packet_no.tolist()
        n_packets += len(block.packets)
        streams.push(buf, segments)
    assert kept_nos == came
    assert reader.counts.duplicates == n_packets - len(came) > 600
    assert streams.sides["segments"].sum() == len(came)


@needs_tshark
def test_a_real_routers_retransmissions_are_still_there():
    """Second sendings: bytes of a stream that came again with TTL 64. (tshark calls 4 of the 32 out of order, by their
    times, though it has seen their bytes before.)"""
    fields = ("-Tfields", "-eip.src", "-etcp.srcport", "-etcp.seq_raw", "-etcp.len")
    came = tshark(ROUTED, "-Y", "ip.ttl == 64 && tcp.len > 0", *fields).splitlines()
    streams, reader = TcpStreams(), LinkReader()
    for block in iter_blocks(ROUTED):
        streams.push(*reader.read_segments(block.buf, block.packets))
    assert streams.sides["retransmitted"].sum() == len(came) - len(set(came)) > 20


@pytest.mark.parametrize("block_bytes", [20_000, 66_000])
def test_blocks_make_no_difference(block_bytes):
    def found(*size):
        reader = LinkReader()
        blocks = (reader.read_segments(block.buf, block.packets)[1] for block in iter_blocks(ROUTED, *size))
        return np.concatenate([segments.packet_no for segments in blocks]).tolist(), reader.counts

    assert found(block_bytes) == found()


COPIES = {
    "the same": sent(),
    "through a router": sent(ttl=63),
    "tagged": (ETHERNET, E / Dot1Q(vlan=7) / sent()),
    "on another link layer": (SLL2, CookedLinuxV2() / sent()),
    "in a tunnel": (
        ETHERNET,
        E / IP(src="9.9.9.9", dst="8.8.8.8") / UDP(dport=8472) / VXLAN(flags="Instance") / E / sent(ttl=63),
    ),
    "mirrored": (RAW, IP(src="9.9.9.9", dst="8.8.8.8") / GRE(proto=0x88BE) / E / sent()),
    "with the checksum left to the card": offloaded(sent()),
}


@pytest.mark.parametrize("name", list(COPIES))
def test_a_copy(packets_of, name):
    copy = COPIES[name] if isinstance(COPIES[name], tuple) else (RAW, COPIES[name])
    assert kept(packets_of, (0, sent()), (20 * US, *copy)) == [0]
    assert kept(packets_of, (0, *copy), (20 * US, sent())) == [0]


SECOND_SENDINGS = {
    "a new identification": (44 * US, sent(identification=8)),
    "a new timestamp": (2 * MS, sent(tsval=1002)),
    "other bytes": (20 * US, sent(payload=b"PAYLOAD")),
    "another acknowledgement": (20 * US, sent(ack=18)),
    "another window": (20 * US, sent(window=511)),
    "another length": (20 * US, sent(payload=b"payloa")),
    "a keep-alive, later": (1000 * MS, sent()),
    "another port": (20 * US, sent(sport=40001)),
    "other flags": (20 * US, sent(flags="FPA")),
}


@pytest.mark.parametrize("name", list(SECOND_SENDINGS))
def test_not_a_copy(packets_of, name):
    assert kept(packets_of, (0, sent()), SECOND_SENDINGS[name]) == [0, 1]


def test_a_later_copy_needs_proof(packets_of):
    """The sender numbers its packets, or the packet passed a router; else it may have been sent again."""
    late = SURE_NS + 1
    numbered = (10 * US, sent(identification=8, seq=107))
    assert kept(packets_of, (0, sent()), (late, sent())) == [0, 1]
    assert kept(packets_of, (0, sent()), numbered, (late, sent())) == [0, 1]
    unnumbered = (10 * US, sent(seq=107))
    assert kept(packets_of, (0, sent()), unnumbered, (late, sent())) == [0, 1, 2]
    assert kept(packets_of, (0, sent()), numbered, (COPY_NS + 1, sent())) == [0, 1, 2]
    for version in (4, 6):
        first, again = sent(0, version=version), sent(0, 63, version=version)
        assert kept(packets_of, (0, first), (late, again)) == [0]
        assert kept(packets_of, (0, first), (late, first)) == [0, 1]


def test_without_identifications_a_point_shows_each_sending_once(packets_of):
    """A router's view of a packet sent twice within a tick of the timestamps, over IPv6: in, out, in, out."""
    before, behind = sent(version=6), sent(version=6, ttl=63)
    times = (0, 3 * US, 50 * US, 53 * US)
    assert kept(packets_of, *zip(times, (before, behind, before, behind), strict=True)) == [0, 2]


def test_a_router_that_rewrites_the_mss(packets_of):
    first, behind = (IP(src="1.1.1.1", dst="2.2.2.2", id=3, ttl=t) for t in (64, 63))
    syn = TCP(sport=4, dport=5, flags="S", options=[("MSS", 1460)])
    clamped = TCP(sport=4, dport=5, flags="S", options=[("MSS", 1360)])
    assert kept(packets_of, (0, first / syn), (9 * US, behind / clamped), (1000 * MS, first / syn)) == [0, 2]


@pytest.mark.slow
def test_more_packets_than_are_remembered_lie_between(packets_of):
    """Memory is bounded: the copy is left to TCP."""

    def between(n):
        return [(i, sent(identification=i + 8, seq=107 + i)) for i in range(n)]

    assert len(kept(packets_of, (0, sent()), *between(RECENT - 1), (RECENT, sent()))) == RECENT
    assert len(kept(packets_of, (0, sent()), *between(RECENT), (RECENT, sent()))) == RECENT + 2


@pytest.mark.slow
@settings(max_examples=50)
@given(st.data())
def test_every_packet_shown_up_to_three_times_in_any_order_is_there_once(packets_of, data):
    """Senders number their packets; the second sending of a segment has a number of its own."""
    n = data.draw(st.integers(1, 30))
    shown = []
    for i in range(n):
        seq = 100 + 7 * data.draw(st.integers(0, i))
        for copy in range(data.draw(st.integers(1, 3))):
            at = 100 * US * i + data.draw(st.integers(0, SURE_NS - 1)) * (copy > 0)
            shown.append((at, i, sent(identification=i + 1, seq=seq, ttl=64 - data.draw(st.integers(0, 1)) * copy)))
    shown.sort(key=lambda packet: packet[:2])
    first_shown = {i: no for no, (_, i, _) in reversed(list(enumerate(shown)))}
    assert kept(packets_of, *((at, packet) for at, _, packet in shown)) == sorted(first_shown.values())
