"""Segments of packets that scapy makes, on every link layer and in every tunnel; the kernel against the one-by-one
reader."""

import ipaddress
import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.erspan import ERSPAN_II
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, GRE, LLC, SNAP, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw
from scapy.utils import wrpcap

from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_parsers.link import LinkReader, Segments
from kafkascope_parsers.link.kernel import SEGMENT_LAYERS
from kafkascope_parsers.link.layers import LINKTYPE_NAMES

needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
ETHERNET, NULL, LOOP, SLL, SLL2, NFLOG, RAW = 1, 0, 108, 113, 276, 239, 101
SECOND_NS = 10**9

E = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
I4 = IP(src="10.1.2.3", dst="10.4.5.6", id=7)
I6 = IPv6(src="2001:db8::1", dst="2001:db8::2")
T = (
    TCP(sport=40000, dport=9092, seq=0xFFFFFFF0, ack=17, flags="PA", window=512, options=[("NOP", None)] * 4)
    / b"payload"
)
BARE = TCP(sport=40000, dport=9092, seq=0xFFFFFFF0, ack=17, flags="PA", window=512)
OUTER = IP(src="9.9.9.9", dst="8.8.8.8")


def nflog(packet, *, family=2):
    """As `tcpdump -i nflog:5` writes it: packet header, mark and prefix before the packet, all padded to 4 bytes."""
    data, head = bytes(packet), bytes([family, 0, 0, 5])
    prefix = struct.pack("<HH", 7, 10) + b"ab\0" + b"\0"
    return (
        head
        + struct.pack("<HHHBB", 8, 1, 0x0008, 1, 0)
        + prefix
        + struct.pack("<HH", 4 + len(data), 9)
        + data
        + b"\0" * 3
    )


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
    "raw of bsd": (12, I4 / T),
    "ipv4 alone": (228, I4 / T),
    "sll": (SLL, CookedLinux() / I4 / T),
    "sll ipv6": (SLL, CookedLinux() / I6 / T),
    "nflog": (NFLOG, nflog(I4 / T)),
    "nflog ipv6": (NFLOG, nflog(I6 / T, family=10)),
    "sll2": (SLL2, CookedLinuxV2() / I4 / T),
    "raw": (RAW, I4 / T),
    "raw ipv6": (229, I6 / T),
    "null, little-endian": (NULL, b"\x02\0\0\0" + bytes(I4 / T)),
    "null, big-endian": (NULL, b"\0\0\0\x02" + bytes(I4 / T)),
    "null, ipv6 of macOS": (NULL, b"\x1e\0\0\0" + bytes(I6 / T)),
    "loop, ipv6 of FreeBSD": (LOOP, b"\0\0\0\x1c" + bytes(I6 / T)),
    "null, ipv6 of Windows": (NULL, b"\x17\0\0\0" + bytes(I6 / T)),
    "null, ipv6 of OpenBSD": (NULL, b"\x18\0\0\0" + bytes(I6 / T)),
    "null, ipv6 of Linux": (NULL, b"\0\0\0\x0a" + bytes(I6 / T)),
    "raw, numbers 12 and 14": (14, I4 / T),
    "ppp": (9, b"\x00\x21" + bytes(I4 / T)),
    "ppp with compressed protocol": (9, b"\x21" + bytes(I4 / T)),
    "ppp in hdlc": (50, b"\xff\x03\x00\x57" + bytes(I6 / T)),
    "ppp address and control": (9, b"\xff\x03\x00\x21" + bytes(I4 / T)),
    "cisco hdlc in ppp_hdlc": (50, b"\x0f\x00\x08\x00" + bytes(I4 / T)),
    "cisco hdlc": (104, b"\x0f\x00\x86\xdd" + bytes(I6 / T)),
    "ppp over ethernet, without ethernet": (51, PPPoE(sessionid=3) / PPP() / I4 / T),
    "segmentation offload": (ETHERNET, E / IP(src="10.1.2.3", dst="10.4.5.6", len=0) / T),
    "ipv6 of length 0": (ETHERNET, E / IPv6(src="2001:db8::1", dst="2001:db8::2", plen=0) / T),
}
SHIMS = {
    "three vlans": (ETHERNET, E / Dot1Q(vlan=6) / Dot1Q(vlan=5) / Dot1Q(vlan=4) / I4 / T),
    "mpls": (ETHERNET, E / MPLS(label=5, s=0) / MPLS(label=6, s=1) / I4 / T),
    "pppoe": (ETHERNET, E / PPPoE() / PPP() / I4 / T),
    "destination options": (ETHERNET, E / I6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / T),
    "atomic fragment": (ETHERNET, E / I6 / IPv6ExtHdrFragment(offset=0, m=0) / T),
}
INNER = E / I4 / T
INNER_6 = E / I6 / T
OUTER_6 = IPv6(src="fd00::9", dst="fd00::8")
ERSPAN_3 = bytes.fromhex("200500080000000000000000")
"""Version 2 (type III), session 8, an Ethernet frame, no platform header."""
TUNNELS = {
    "gre": OUTER / GRE() / I4 / T,
    "gre, ipv6 in it": OUTER / GRE() / I6 / T,
    "gre over ipv6": OUTER_6 / GRE() / I4 / T,
    "gre with key": OUTER / GRE(key_present=1, key=5) / I4 / T,
    "gre with checksum, key and sequence number": OUTER
    / GRE(chksum_present=1, key_present=1, seqnum_present=1, key=5, sequence_number=9)
    / I4
    / T,
    "gre with ethernet": OUTER / GRE(key_present=1, key=5, proto=0x6558) / INNER_6,
    "gre with mpls": OUTER / GRE(proto=0x8847) / MPLS(label=6, s=1) / I4 / T,
    "erspan i": OUTER / GRE(proto=0x88BE) / INNER,
    "erspan ii": OUTER / GRE(seqnum_present=1, proto=0x88BE) / ERSPAN_II() / INNER,
    "erspan ii of a vlan": OUTER / GRE(seqnum_present=1, proto=0x88BE) / ERSPAN_II() / E / Dot1Q(vlan=7) / I4 / T,
    "erspan iii": OUTER / GRE(seqnum_present=1, proto=0x22EB) / ERSPAN_3 / INNER,
    "erspan iii with platform header": OUTER
    / GRE(seqnum_present=1, proto=0x22EB)
    / (ERSPAN_3[:-1] + b"\x01" + bytes(8))
    / INNER,
    "vxlan": OUTER / UDP(sport=5, dport=4789) / VXLAN(vni=3) / E / Dot1Q(vlan=9) / I4 / T,
    "vxlan on linux's old port": OUTER / UDP(sport=5, dport=8472) / VXLAN(vni=3, flags="Instance") / INNER,
    "vxlan over ipv6": OUTER_6 / UDP(sport=5, dport=4789) / VXLAN(vni=3) / INNER_6,
    "vxlan-gpe, ip in it": OUTER / UDP(sport=5, dport=4790) / (b"\x0c\0\0\x01" + b"\0\0\x05\0") / I4 / T,
    "geneve": OUTER / UDP(sport=5, dport=6081) / GENEVE(vni=4) / INNER,
    "geneve with options": OUTER
    / UDP(sport=5, dport=6081)
    / GENEVE(vni=4, options=GeneveOptions(classid=0x102, type=0x80, data=b"12345678"))
    / INNER_6,
    "geneve, ip in it": OUTER / UDP(sport=5, dport=6081) / GENEVE(proto=0x0800) / I4 / T,
    "ip in ip": OUTER / I4 / T,
    "ipv6 in ip": OUTER / I6 / T,
    "ip in ipv6": OUTER_6 / I4 / T,
    "ip options of both": IP(src="9.9.9.9", dst="8.8.8.8", options=b"\x01\x01\x01\x00")
    / IP(src="10.1.2.3", dst="10.4.5.6", options=b"\x01\x01\x01\x00")
    / T,
    "gre in vxlan in ip in ip": OUTER / OUTER / UDP(sport=5, dport=4789) / VXLAN(vni=3) / E / OUTER / GRE() / I4 / T,
    "vxlan behind hop-by-hop options": OUTER_6 / IPv6ExtHdrHopByHop() / UDP(dport=4789) / VXLAN(vni=3) / INNER,
}
TUNNELS = {name: (ETHERNET, E / packet) for name, packet in TUNNELS.items()}
NOT_BY_TSHARK = ("vxlan on linux's old port", "segmentation offload", "ipv6 of length 0")
"""Read by tshark only when told to, or with another setting than its default."""
NOT_TCP = {
    "arp": (ETHERNET, E / ARP()),
    "udp": (ETHERNET, E / I4 / UDP(dport=53) / b"x"),
    "icmp fragment": (ETHERNET, E / IP(src="10.1.2.3", dst="10.4.5.6", flags="MF") / ICMP() / b"x"),
    "ppp of another protocol": (9, b"\xc0\x21" + b"\x01" * 20),
    "pppoe discovery": (51, b"\x11\x09" + bytes(20)),
    "icmp": (ETHERNET, E / I6 / ICMP()),
    "llc": (ETHERNET, E / LLC() / SNAP() / b"abc"),
    "null of another family": (NULL, b"\x07\0\0\0" + bytes(I4 / T)),
    "nflog of a bridge": (NFLOG, nflog(E / ARP(), family=7)),
}


def assert_same(one, two):
    for name in Segments.__dataclass_fields__:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@pytest.mark.parametrize("name", [*COMMON, *SHIMS, *TUNNELS])
def test_every_way_that_tcp_is_wrapped(packets_of, payloads, name):
    linktype, packet = {**COMMON, **SHIMS, **TUNNELS}[name]
    reader = LinkReader()
    buf, segments = reader.read_segments(*packets_of([(linktype, packet)]))
    assert len(segments) == 1
    assert (reader.counts.segments, reader.counts.fragments) == (1, 0)
    assert payloads(buf, segments) == [b"pay" if name == "padded" else b"payload"]
    v6 = b"\x20\x01\x0d\xb8" in bytes(packet)
    low = (1, 2) if v6 else (0xFFFF0A010203, 0xFFFF0A040506)
    high = 0x20010DB800000000 if v6 else 0
    assert segments.source.tolist() == [[high, low[0]]]
    assert segments.destination.tolist() == [[high, low[1]]]
    assert (segments.source_port[0], segments.destination_port[0]) == (40000, 9092)
    assert (segments.seq[0], segments.ack[0], segments.flags[0], segments.window[0]) == (0xFFFFFFF0, 17, 24, 512)
    assert segments.length[0] == segments.captured[0]


@pytest.mark.parametrize("name", list(NOT_TCP))
def test_what_is_not_tcp_is_counted(packets_of, name):
    reader = LinkReader()
    _, segments = reader.read_segments(*packets_of([NOT_TCP[name]]))
    assert len(segments) == 0
    assert (reader.counts.other, reader.counts.malformed) == (1, 0)


def test_ethernet_padding_is_not_payload(packets_of, payloads):
    frame = bytes(E / I4 / TCP(flags="A"))
    buf, segments = LinkReader().read_segments(*packets_of([(ETHERNET, frame + b"\0" * (60 - len(frame)))]))
    assert segments.length.tolist() == [0]
    assert payloads(buf, segments) == [b""]


@pytest.mark.parametrize("keep", range(14, 14 + 20 + 24 + 7))
def test_snap_length_anywhere(packets_of, payloads, keep):
    """Cut before the end of the fixed TCP header a packet is malformed, after it its payload is short."""
    whole = bytes(E / I4 / T)
    reader = LinkReader()
    buf, segments = reader.read_segments(*packets_of([(ETHERNET, whole[:keep], len(whole))]))
    if keep < 14 + 20 + 20:
        assert (len(segments), reader.counts.malformed) == (0, 1)
    else:
        assert segments.length.tolist() == [7]
        assert payloads(buf, segments) == [b"payload"[: max(keep - 58, 0)]]


def test_mixed_packets_come_in_capture_order(packets_of):
    rows = [*COMMON.values(), *NOT_TCP.values(), *SHIMS.values(), *COMMON.values()]
    reader = LinkReader()
    _, segments = reader.read_segments(*packets_of(rows))
    n = len(COMMON)
    wanted = [*range(1, n + 1), *range(n + len(NOT_TCP) + 1, len(rows) + 1)]
    assert segments.packet_no.tolist() == wanted
    assert segments.ts_ns.tolist() == [(no - 1) * SECOND_NS for no in wanted]


@needs_tshark
@pytest.mark.parametrize("linktype", [ETHERNET, NFLOG])
def test_what_tshark_reads_inside_tunnels(packets_of, tmp_path, linktype):
    """The innermost addresses, sequence number and payload length, as tshark tells them."""
    names = [name for name in [*COMMON, *SHIMS, *TUNNELS] if (COMMON | SHIMS | TUNNELS)[name][0] == linktype]
    rows = [(COMMON | SHIMS | TUNNELS)[name] for name in names if name not in NOT_BY_TSHARK]
    wrpcap(str(tmp_path / "all.pcap"), [Raw(bytes(packet)) for _, packet in rows], linktype=linktype)
    fields = [f"-e{field}" for field in ("ip.src", "ipv6.src", "tcp.seq_raw", "tcp.len")]
    command = ["tshark", "-r", str(tmp_path / "all.pcap"), "-Tjson", *fields]
    result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    _, segments = LinkReader().read_segments(*packets_of(rows))
    assert len(segments) == len(result) == len(rows)
    for i, row in enumerate(result):
        layers = row["_source"]["layers"]
        assert segments.seq[i] == int(layers["tcp.seq_raw"][-1])
        assert segments.length[i] == int(layers["tcp.len"][-1])
        source = ipaddress.ip_address((int(segments.source[i, 0]) << 64) + int(segments.source[i, 1]))
        assert str(source.ipv4_mapped or source) in (layers.get("ip.src", [""])[-1], layers.get("ipv6.src", [""])[-1])


@pytest.mark.parametrize(("depth", "n_segments"), [(SEGMENT_LAYERS, 1), (SEGMENT_LAYERS + 1, 0), (200, 0)])
def test_tunnels_in_tunnels_end(packets_of, both_ways, depth, n_segments):
    """Each of these IP headers is one layer; beyond the limit the packet is malformed, and nobody loops."""
    outer = bytes(IP(src="9.9.9.9", dst="8.8.8.8", proto=4, len=0)) * (depth - 1)
    assert both_ways(*packets_of([(RAW, outer + bytes(I4 / T))])).segments == n_segments


def test_a_cut_mirror_says_how_long_the_segment_was(packets_of, payloads):
    """A mirror that keeps the first bytes of a frame: the length on the wire is the inner IP header's."""
    kept = bytes(INNER)[:-4]
    buf, segments = LinkReader().read_segments(
        *packets_of([(ETHERNET, E / OUTER / GRE(proto=0x88BE) / kept), (RAW, I4 / T)])
    )
    assert (segments.length.tolist(), payloads(buf, segments)) == ([7, 7], [b"pay", b"payload"])


def test_unknown_link_type_is_counted(packets_of):
    reader = LinkReader()
    assert len(reader.read_segments(*packets_of([(105, b"802.11" * 9)]))[1]) == 0
    assert reader.counts.unsupported == 1


@pytest.fixture(scope="session")
def both_ways(payloads, one_by_one):
    """Reads segments by the kernel and one by one, with the counts of the kernel, which are those of both."""

    def read(buf, packets):
        kernel = LinkReader()
        buf_1, one = kernel.read_segments(buf, packets)
        buf_2, two, b = one_by_one.read_one_by_one(buf, packets)
        assert_same(one, two)
        assert payloads(buf_1, one) == payloads(buf_2, two)
        a = kernel.counts
        for kind in ("segments", "other", "malformed", "unsupported", "fragments"):
            assert getattr(a, kind) == getattr(b, kind), kind
        assert a.segments + a.duplicates + a.other + a.malformed + a.unsupported + a.fragments == len(packets)
        assert a.duplicates == 0
        return a

    return read


@pytest.mark.parametrize("name", ["healthy_basic.pcap.zst", "mid_stream-any.pcap.zst", "mid_stream-snap96.pcap.zst"])
def test_kernel_reads_real_captures_as_the_one_by_one_reader_does(both_ways, name):
    n = 0
    for block in iter_blocks(CAPTURES / name):
        n += both_ways(block.buf, block.packets).segments
    assert n > 3000


ROWS = [
    (linktype, bytes(packet))
    for linktype, packet in [*COMMON.values(), *SHIMS.values(), *TUNNELS.values(), *NOT_TCP.values()]
]


@pytest.mark.slow
@settings(max_examples=300)
@given(st.data())
def test_kernel_reads_spoilt_packets_as_the_one_by_one_reader_does(packets_of, both_ways, data):
    rows = []
    for linktype, packet in data.draw(st.lists(st.sampled_from(ROWS), min_size=1, max_size=6)):
        spoilt = bytearray(packet)
        for _ in range(data.draw(st.integers(0, 3))):
            spoilt[data.draw(st.integers(0, min(len(spoilt), 60) - 1))] = data.draw(st.integers(0, 255))
        keep = data.draw(st.integers(0, len(spoilt)))
        wire = data.draw(st.sampled_from([len(spoilt), keep, 70_000]))
        rows.append((linktype, bytes(spoilt[:keep]), max(wire, keep)))
    both_ways(*packets_of(rows))


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 9, 50, 51, 104, 108, 113, 239, 276, 101, 12, 228, 147]), st.binary(max_size=90)
        ),
        max_size=8,
    )
)
def test_random_bytes(packets_of, both_ways, rows):
    both_ways(*packets_of(rows))


def test_every_link_type_that_is_read_has_a_name_and_a_packet(packets_of):
    def is_read(linktype):
        reader = LinkReader()
        reader.read_segments(*packets_of([(linktype, bytes(64))]))
        return reader.counts.unsupported == 0

    assert {linktype for linktype in range(400) if is_read(linktype)} == LINKTYPE_NAMES.keys()
    assert {linktype for linktype, _ in COMMON.values()} == LINKTYPE_NAMES.keys()
