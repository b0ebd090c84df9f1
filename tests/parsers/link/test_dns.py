"""DNS messages and the datagrams that carry them, crafted by scapy, which also says what they mean."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from kafkascope_parsers.capture import Packets
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.link.datagrams import DATAGRAM_LIMIT
from kafkascope_parsers.link.dns import read_dns, split_stream

ETHERNET = 1
QUESTION = DNS(id=77, qd=DNSQR(qname="Kafka-1.LAB.", qtype="A"))
ANSWER = DNS(
    id=77,
    qr=1,
    qd=DNSQR(qname="kafka-1.lab.", qtype="A"),
    an=[
        DNSRR(rrname="kafka-1.lab.", type="CNAME", rdata="node-9.lab."),
        DNSRR(rrname="node-9.lab.", type="A", rdata="10.0.0.9"),
        DNSRR(rrname="node-9.lab.", type="AAAA", rdata="2001:db8::9"),
    ],
)


def packets_of(frames):
    sizes = np.array([len(frame) for frame in frames], np.int32)
    n, ends = len(frames), np.cumsum(sizes, dtype=np.int64)
    stamps, numbers = np.arange(n, dtype=np.int64) * 1000, np.arange(1, n + 1, dtype=np.int64)
    packets = Packets(stamps, numbers, ends - sizes, sizes, sizes, np.full(n, ETHERNET, np.uint16))
    return np.frombuffer(bytearray(b"".join(frames)), np.uint8), packets


def test_question_and_answer_are_read():
    request, response = read_dns(bytes(QUESTION)), read_dns(bytes(ANSWER))
    assert (request.id, request.is_response, request.rcode) == (77, False, None)
    assert (request.name, request.type) == ("kafka-1.lab", "A")
    assert (response.id, response.is_response, response.name, response.rcode) == (77, True, "kafka-1.lab", "NOERROR")
    assert response.addresses == ("10.0.0.9", "2001:db8::9")
    assert response.aliases == ("node-9.lab",)


def test_a_compressed_answer_is_read():
    raw = bytes.fromhex("004d8180000100010000000007") + b"kafka-1" + bytes.fromhex("036c61620000010001")
    raw += bytes.fromhex("c00c000100010000003c00040a000009")  # a pointer to the question's name
    assert read_dns(raw).addresses == ("10.0.0.9",)


def test_a_name_that_is_not_there_has_its_code():
    assert read_dns(bytes(DNS(qr=1, rcode=3, qd=DNSQR(qname="gone.lab")))).rcode == "NXDOMAIN"


def test_odd_bytes_of_a_name_are_escaped():
    assert read_dns(bytes(DNS(qd=DNSQR(qname=b"a\x1b[2J.lab.")))).name == "a\\027[2j.lab"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0" * 11,
        bytes(DNS(qd=[])),
        b"\0\1\1\0\0\1\0\0\0\0\0\0" + b"\xc0\x0c\0\1\0\1",  # a name that points at itself
        bytes(ANSWER)[:-3],
        bytes(QUESTION)[:15],
    ],
)
def test_what_is_cut_short_or_loops_is_refused(raw):
    with pytest.raises(ValueError, match=r"."):
        read_dns(raw)


@settings(max_examples=300)
@given(st.binary(max_size=80), st.integers(0, 200))
def test_spoilt_messages_end_in_a_message_or_a_value_error(noise, at):
    raw = bytearray(bytes(ANSWER))
    raw[at : at + len(noise)] = noise
    with suppress(ValueError):
        assert len(read_dns(bytes(raw)).addresses) <= 256


LAYERS = [
    Ether() / IP(src="10.0.0.1", dst="10.0.0.53"),
    Ether() / Dot1Q(vlan=7) / IP(src="10.0.0.1", dst="10.0.0.53"),
    Ether() / IP() / UDP(sport=5000, dport=4789) / VXLAN() / Ether() / IP(src="10.0.0.1", dst="10.0.0.53"),
]


@pytest.mark.parametrize("below", LAYERS)
def test_datagrams_of_port_53_are_kept(below):
    frame = bytes(below / UDP(sport=40000, dport=53) / QUESTION)
    other = bytes(Ether() / IP() / UDP(sport=40000, dport=54) / b"else")
    reader = read([other, frame, other])
    (datagram,) = reader.take_datagrams()
    assert datagram.payload == bytes(QUESTION)
    assert (datagram.source[-4:], datagram.destination[-4:]) == (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 53]))
    assert (datagram.source_port, datagram.destination_port, datagram.packet_no) == (40000, 53, 2)
    assert reader.take_datagrams() == []
    assert (reader.counts.other, reader.counts.dns) == (3, 1)


def test_ipv6_and_short_frames():
    frame = bytes(Ether() / IPv6(src="2001:db8::1", dst="2001:db8::53") / UDP(sport=53, dport=999) / ANSWER)
    assert read([frame]).take_datagrams()[0].payload == bytes(ANSWER)
    padded = bytes(Ether() / IP() / UDP(sport=9, dport=53) / b"x") + b"\0" * 17
    assert read([padded]).take_datagrams()[0].payload == b"x"
    for n in range(len(frame)):
        assert all(frame.endswith(bytes(ANSWER)) for _ in read([frame[:n]]).take_datagrams())


def test_there_is_an_end_to_it():
    frame = bytes(Ether() / IP() / UDP(sport=9, dport=53) / b"x")
    reader = LinkReader()
    reader.counts.dns = DATAGRAM_LIMIT - 2
    read([frame] * 5, reader)
    assert len(reader.take_datagrams()) == 2
    assert reader.counts.other == 5


def read(frames, reader=None):
    reader = reader or LinkReader()
    reader.read_segments(*packets_of(frames))
    return reader


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_stream_gives_its_whole_messages(cut):
    """Two messages with their lengths before them, as DNS over TCP has them; the second may be cut."""
    messages = [bytes(QUESTION), bytes(ANSWER)]
    stream = b"".join(len(message).to_bytes(2, "big") + message for message in messages)
    whole = messages if cut == 0 else messages[:1]
    assert split_stream(stream[: len(stream) - cut]) == whole
