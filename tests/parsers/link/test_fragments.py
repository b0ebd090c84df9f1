"""Fragments that scapy makes, shuffled, repeated, overlapping, incomplete."""

import random

import pytest
from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import GRE, Ether
from scapy.layers.vxlan import VXLAN

from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.link.fragments import PACKET_LIMIT, TIMEOUT_NS

RAW = 101
I4 = IP(src="10.1.2.3", dst="10.4.5.6", id=7)
I6 = IPv6(src="2001:db8::1", dst="2001:db8::2")
T = TCP(sport=40000, dport=9092, seq=5, flags="PA") / b"payload"
DATA = random.Random(1).randbytes(5000)
BIG = TCP(sport=40000, dport=9092, seq=5, flags="A") / DATA


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("version", [4, 6])
def test_fragments_are_put_together_even_across_blocks(packets_of, payloads, version, order):
    parts = fragment(I4 / BIG, 1400) if version == 4 else fragment6(I6 / IPv6ExtHdrFragment(id=77) / BIG, 1400)
    rows = [(RAW, bytes(part)) for part in parts[::order]]
    assert len(rows) > 3
    reader = LinkReader()
    _, none = reader.read_segments(*packets_of(rows[:2]))
    assert len(none) == 0
    whole = (RAW, bytes(I4 / T))
    buf, segments = reader.read_segments(*packets_of([*rows[2:], whole]))
    assert payloads(buf, segments) == [DATA, b"payload"]
    assert segments.packet_no.tolist() == [len(rows) - 2, len(rows) - 1]
    assert reader.counts.fragments == len(rows) - 1


def read(block, payloads):
    reader = LinkReader()
    buf, segments = reader.read_segments(*block)
    return payloads(buf, segments), reader.counts


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_fragments_of_several_packets(packets_of, payloads, seed):
    parts = [part for n in range(4) for part in fragment(IP(src="10.1.2.3", dst="10.4.5.6", id=n) / BIG, 900)]
    random.Random(seed).shuffle(parts)
    assert read(packets_of([(RAW, part) for part in parts]), payloads)[0] == [DATA] * 4


@pytest.mark.parametrize(
    "outer",
    [
        IP(src="9.9.9.9", dst="8.8.8.8", id=3) / UDP(sport=5, dport=4789) / VXLAN(vni=3) / Ether() / I4 / BIG,
        IP(src="9.9.9.9", dst="8.8.8.8", id=3)
        / GRE(seqnum_present=1, proto=0x88BE)
        / (b"\x10" + bytes(7))
        / Ether()
        / I4
        / BIG,
        IP(src="9.9.9.9", dst="8.8.8.8", id=3) / I6 / BIG,
    ],
    ids=["vxlan", "erspan", "ipv6 in ip"],
)
def test_a_mirror_in_fragments(packets_of, payloads, outer):
    """Mirrors of full-size frames do not fit the MTU on their way."""
    parts = fragment(outer, 1400)
    assert len(parts) > 3
    assert read(packets_of([(RAW, part) for part in parts]), payloads)[0] == [DATA]


def test_fragments_inside_a_mirror_in_fragments(packets_of, payloads):
    outer = [IP(src="9.9.9.9", dst="8.8.8.8", id=n) / GRE() / part for n, part in enumerate(fragment(I4 / BIG, 1400))]
    parts = [(RAW, part) for packet in outer for part in fragment(packet, 600)]
    assert read(packets_of(parts), payloads)[0] == [DATA]


def test_where_fragments_overlap_the_first_data_wins(packets_of, payloads):
    whole = bytes(BIG)
    first, second = whole[:1600], b"x" * 800 + whole[1600:]
    parts = [
        IP(src="10.1.2.3", dst="10.4.5.6", id=7, proto=6, flags="MF") / first,
        IP(src="10.1.2.3", dst="10.4.5.6", id=7, proto=6, frag=100) / second,
    ]
    for order in (1, -1):
        found, _ = read(packets_of([(RAW, part) for part in parts[::order]], [0, 1000]), payloads)
        assert found == [DATA if order == 1 else (whole[:800] + second)[20:]]


@pytest.mark.parametrize("copies", [[0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 3, 0, 1, 2, 3]])
def test_fragments_that_the_capture_shows_twice(packets_of, payloads, copies):
    parts = fragment(I4 / BIG, 1400)
    assert len(parts) == 4
    block = packets_of([(RAW, parts[i]) for i in copies], [1000 * i for i in range(8)])
    found, counts = read(block, payloads)
    assert (found, counts.segments, counts.fragments) == ([DATA], 1, 7)


def test_an_identification_used_again_later(packets_of, payloads):
    """The rest of a packet that never became whole is not mixed with the next one, nor is a whole one's echo."""
    parts = fragment(I4 / BIG, 1400)
    other = fragment(I4 / TCP(sport=40000, dport=9092, seq=5, flags="A") / DATA[::-1], 1400)
    later = TIMEOUT_NS + 1
    block = packets_of([(RAW, part) for part in [parts[0], *other[1:], *other]], [0] + [later] * 3 + [2 * later] * 4)
    found, counts = read(block, payloads)
    assert (found, counts.given_up) == ([DATA[::-1]], 2)
    assert read(packets_of([(RAW, part) for part in [*parts, *other]]), payloads)[0] == [DATA, DATA[::-1]]


def test_too_many_incomplete_packets_are_given_up_and_counted(packets_of, payloads):
    n = PACKET_LIMIT + 5
    parts = [(RAW, IP(src="10.1.2.3", dst="10.4.5.6", id=i, proto=6, flags="MF") / b"12345678") for i in range(n)]
    found, counts = read(packets_of(parts, [0] * n), payloads)
    assert (found, counts.given_up, counts.fragments) == ([], 5, n)


def test_a_cut_fragment_is_given_up(packets_of, payloads):
    parts = [bytes(part) for part in fragment(I4 / BIG, 1400)]
    block = packets_of([(RAW, parts[0][:96], len(parts[0])), *((RAW, part) for part in parts[1:]), (RAW, I4 / T)])
    found, counts = read(block, payloads)
    assert (found, counts.given_up, counts.fragments) == ([b"payload"], 1, len(parts))
