"""Segments of packets that scapy makes, on every link layer; the kernel against the one-by-one reader."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.erspan import ERSPAN_II
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, fragment6
from scapy.layers.l2 import ARP, GRE, LLC, SNAP, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN

from kafkascope_analyzer.ingest.source import iter_blocks
from kafkascope_parsers.capture import Packets
from kafkascope_parsers.link import LinkReader, Segments

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
ETHERNET, NULL, LOOP, SLL, SLL2, RAW = 1, 0, 108, 113, 276, 101

E = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
I4 = IP(src="10.1.2.3", dst="10.4.5.6", id=7)
I6 = IPv6(src="2001:db8::1", dst="2001:db8::2")
T = (
    TCP(sport=40000, dport=9092, seq=0xFFFFFFF0, ack=17, flags="PA", window=512, options=[("NOP", None)] * 4)
    / b"payload"
)
BARE = TCP(sport=40000, dport=9092, seq=0xFFFFFFF0, ack=17, flags="PA", window=512)
OUTER = IP(src="9.9.9.9", dst="8.8.8.8")

COMMON = {
    "ethernet": (ETHERNET, E / I4 / T),
    "padded": (
        ETHERNET,
        E / I4 / BARE / b"pay",
    ),
    "ip options": (ETHERNET, E / IP(src="10.1.2.3", dst="10.4.5.6", options=b"\x01\x01\x01\x00") / T),
    "vlan": (ETHERNET, E / Dot1Q(vlan=5) / I4 / T),
    "qinq": (ETHERNET, E / Dot1AD(vlan=6) / Dot1Q(vlan=5) / I4 / T),
    "two 802.1q": (ETHERNET, E / Dot1Q(vlan=6) / Dot1Q(vlan=5) / I6 / T),
    "ipv6": (ETHERNET, E / I6 / T),
    "sll": (SLL, CookedLinux() / I4 / T),
    "sll ipv6": (SLL, CookedLinux() / I6 / T),
    "sll2": (SLL2, CookedLinuxV2() / I4 / T),
    "raw": (RAW, I4 / T),
    "raw ipv6": (229, I6 / T),
    "null, little-endian": (NULL, b"\x02\0\0\0" + bytes(I4 / T)),
    "null, big-endian": (NULL, b"\0\0\0\x02" + bytes(I4 / T)),
    "null, ipv6 of macOS": (NULL, b"\x1e\0\0\0" + bytes(I6 / T)),
    "loop, ipv6 of FreeBSD": (LOOP, b"\0\0\0\x1c" + bytes(I6 / T)),
    "segmentation offload": (ETHERNET, E / IP(src="10.1.2.3", dst="10.4.5.6", len=0) / T),
    "ipv6 of length 0": (ETHERNET, E / IPv6(src="2001:db8::1", dst="2001:db8::2", plen=0) / T),
}
ODD = {
    "three vlans": (ETHERNET, E / Dot1Q(vlan=6) / Dot1Q(vlan=5) / Dot1Q(vlan=4) / I4 / T),
    "mpls": (ETHERNET, E / MPLS(label=5, s=0) / MPLS(label=6, s=1) / I4 / T),
    "pppoe": (ETHERNET, E / PPPoE() / PPP() / I4 / T),
    "destination options": (ETHERNET, E / I6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / T),
    "atomic fragment": (ETHERNET, E / I6 / IPv6ExtHdrFragment(offset=0, m=0) / T),
    "gre": (ETHERNET, E / OUTER / GRE() / I4 / T),
    "gre with key and ethernet": (ETHERNET, E / OUTER / GRE(key_present=1, key=5, proto=0x6558) / E / I6 / T),
    "erspan ii": (ETHERNET, E / OUTER / GRE(seqnum_present=1, proto=0x88BE) / ERSPAN_II() / E / I4 / T),
    "vxlan": (ETHERNET, E / OUTER / UDP(sport=5, dport=4789) / VXLAN(vni=3) / E / Dot1Q(vlan=9) / I4 / T),
    "ip in ip": (RAW, OUTER / I6 / T),
}
NOT_TCP = {
    "arp": (ETHERNET, E / ARP()),
    "udp": (ETHERNET, E / I4 / UDP(dport=53) / b"x"),
    "udp fragment": (ETHERNET, E / IP(src="10.1.2.3", dst="10.4.5.6", flags="MF") / UDP(dport=4789) / b"x"),
    "icmp": (ETHERNET, E / I6 / ICMP()),
    "llc": (ETHERNET, E / LLC() / SNAP() / b"abc"),
    "null of another family": (NULL, b"\x07\0\0\0" + bytes(I4 / T)),
}


def packets_of(rows):
    """Packets of (linktype, bytes[, bytes on the wire]); garbage between them."""
    buf, c = bytearray(b"\xaa" * 5), []
    for linktype, data, *wire in rows:
        data = bytes(data)
        c.append((len(buf), len(data), wire[0] if wire else len(data), linktype))
        buf += data + b"\xaa" * 3
    n = len(rows)
    offset, caplen, wirelen, linktypes = zip(*c, strict=True) if c else ([], [], [], [])
    return np.frombuffer(bytes(buf), np.uint8), Packets(
        np.arange(n) * 1000,
        np.arange(1, n + 1),
        np.array(offset, np.int64),
        np.array(caplen, np.int32),
        np.array(wirelen, np.int32),
        np.array(linktypes, np.uint16),
    )


def payloads(buf, segments):
    return [
        buf[at : at + n].tobytes() for at, n in zip(segments.offset.tolist(), segments.captured.tolist(), strict=True)
    ]


def assert_same(one, two):
    for name in Segments.__dataclass_fields__:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@pytest.mark.parametrize("name", [*COMMON, *ODD])
def test_every_way_that_tcp_is_wrapped(name):
    linktype, packet = {**COMMON, **ODD}[name]
    reader = LinkReader()
    buf, segments = reader.read_segments(*packets_of([(linktype, packet)]))
    assert len(segments) == 1
    assert (reader.counts.segments, reader.counts.odd) == (1, int(name in ODD))
    assert payloads(buf, segments) == [b"pay" if name == "padded" else b"payload"]
    v6 = b"\x20\x01" in bytes(packet)
    low = (1, 2) if v6 else (0xFFFF0A010203, 0xFFFF0A040506)
    high = 0x20010DB800000000 if v6 else 0
    assert segments.source.tolist() == [[high, low[0]]]
    assert segments.destination.tolist() == [[high, low[1]]]
    assert (segments.source_port[0], segments.destination_port[0]) == (40000, 9092)
    assert (segments.seq[0], segments.ack[0], segments.flags[0], segments.window[0]) == (0xFFFFFFF0, 17, 24, 512)
    assert segments.length[0] == segments.captured[0]


@pytest.mark.parametrize("name", list(NOT_TCP))
def test_what_is_not_tcp_is_counted(name):
    reader = LinkReader()
    _, segments = reader.read_segments(*packets_of([NOT_TCP[name]]))
    assert len(segments) == 0
    assert (reader.counts.other, reader.counts.malformed) == (1, 0)


def test_ethernet_padding_is_not_payload():
    frame = bytes(E / I4 / TCP(flags="A"))
    buf, segments = LinkReader().read_segments(*packets_of([(ETHERNET, frame + b"\0" * (60 - len(frame)))]))
    assert segments.length.tolist() == [0]
    assert payloads(buf, segments) == [b""]


@pytest.mark.parametrize("keep", range(14, 14 + 20 + 24 + 7))
def test_snap_length_anywhere(keep):
    """Cut before the end of the fixed TCP header a packet is malformed, after it its payload is short."""
    whole = bytes(E / I4 / T)
    reader = LinkReader()
    buf, segments = reader.read_segments(*packets_of([(ETHERNET, whole[:keep], len(whole))]))
    if keep < 14 + 20 + 20:
        assert (len(segments), reader.counts.malformed) == (0, 1)
    else:
        assert segments.length.tolist() == [7]
        assert payloads(buf, segments) == [b"payload"[: max(keep - 58, 0)]]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("version", [4, 6])
def test_fragments_are_put_together_even_across_blocks(version, order):
    data = random.Random(1).randbytes(5000)
    tcp = TCP(sport=40000, dport=9092, seq=5, flags="A") / data
    parts = fragment(I4 / tcp, 1400) if version == 4 else fragment6(I6 / IPv6ExtHdrFragment(id=77) / tcp, 1400)
    rows = [(RAW, bytes(part)) for part in parts[::order]]
    assert len(rows) > 3
    reader = LinkReader()
    _, none = reader.read_segments(*packets_of(rows[:2]))
    assert len(none) == 0
    whole = (RAW, bytes(I4 / T))
    buf, segments = reader.read_segments(*packets_of([*rows[2:], whole]))
    assert payloads(buf, segments) == [data, b"payload"]
    assert segments.packet_no.tolist() == [len(rows) - 2, len(rows) - 1]
    assert reader.counts.fragments == len(rows) - 1


def test_mixed_packets_come_in_capture_order():
    rows = [*COMMON.values(), *NOT_TCP.values(), *ODD.values(), *COMMON.values()]
    reader = LinkReader()
    _, segments = reader.read_segments(*packets_of(rows))
    n = len(COMMON)
    wanted = [*range(1, n + 1), *range(n + len(NOT_TCP) + 1, len(rows) + 1)]
    assert segments.packet_no.tolist() == wanted
    assert segments.ts_ns.tolist() == [(no - 1) * 1000 for no in wanted]


def test_unknown_link_type_is_counted():
    reader = LinkReader()
    assert len(reader.read_segments(*packets_of([(105, b"802.11" * 9)]))[1]) == 0
    assert reader.counts.unsupported == 1


def both_ways(buf, packets):
    """Segments by the kernel (where it can) and one by one, with the counts of both."""
    kernel, slow = LinkReader(), LinkReader()
    buf_1, one = kernel.read_segments(buf, packets)
    buf_2, two, _ = slow.read_one_by_one(buf, packets, np.arange(len(packets)))
    assert_same(one, two)
    assert payloads(buf_1, one) == payloads(buf_2, two)
    a, b = kernel.counts, slow.counts
    assert (a.segments, a.other, a.malformed, a.unsupported) == (b.segments, b.other, b.malformed, b.unsupported)
    assert a.segments + a.other + a.malformed + a.unsupported + a.fragments == len(packets)
    return a


@pytest.mark.parametrize("name", ["healthy_basic.pcap.zst", "mid_stream-any.pcap.zst", "mid_stream-snap96.pcap.zst"])
def test_kernel_reads_real_captures_as_the_one_by_one_reader_does(name):
    n = 0
    for block in iter_blocks(CAPTURES / name):
        n += both_ways(block.buf, block.packets).segments
    assert n > 3000


ROWS = [(linktype, bytes(packet)) for linktype, packet in [*COMMON.values(), *ODD.values(), *NOT_TCP.values()]]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_kernel_reads_spoilt_packets_as_the_one_by_one_reader_does(data):
    rows = []
    for linktype, packet in data.draw(st.lists(st.sampled_from(ROWS), min_size=1, max_size=6)):
        spoilt = bytearray(packet)
        for _ in range(data.draw(st.integers(0, 3))):
            spoilt[data.draw(st.integers(0, min(len(spoilt), 60) - 1))] = data.draw(st.integers(0, 255))
        keep = data.draw(st.integers(0, len(spoilt)))
        wire = data.draw(st.sampled_from([len(spoilt), keep, 70_000]))
        rows.append((linktype, bytes(spoilt[:keep]), max(wire, keep)))
    both_ways(*packets_of(rows))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 108, 113, 276, 101, 12, 228, 147]), st.binary(max_size=90)), max_size=8)
)
def test_random_bytes(rows):
    both_ways(*packets_of(rows))
