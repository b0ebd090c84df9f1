"""Reads common packets: Ethernet, VLAN, QinQ, Linux cooked, BSD null, raw IP; IPv4 and IPv6 without fragments or
extension headers; TCP.

The kernel says of every packet what it is (SEGMENT...); ODD ones are left to `odd`. Rules that both keep: the payload's
length comes from the IP header (Ethernet pads short frames), from the packet's length on the wire where the IP header
says 0 (segmentation offload); at least the 20 fixed bytes of the TCP header have to be captured; payload is captured as
far as both lengths reach. Sources: tcpdump.org's link-type list, RFC 791, 8200, 9293.
"""

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import PacketArrays, record_type
from kafkascope_parsers.link.datagrams import DNS_PORT

SEGMENT, OTHER, MALFORMED, ODD, UNSUPPORTED, DNS = range(6)
"""A TCP segment; a sound packet without one; a broken packet; one for `odd`; a link type that we do not read; a sound
packet without a segment that is UDP of port 53."""

NULL, ETHERNET, LOOP, SLL, SLL2 = 0, 1, 108, 113, 276
RAW_LINKTYPES = (12, 14, 101, 228, 229)
ETHERTYPE_IPV4, ETHERTYPE_IPV6 = 0x0800, 0x86DD
ETHERTYPES_VLAN = (0x8100, 0x88A8, 0x9100)
ETHERTYPES_ODD = (0x8847, 0x8848, 0x8864, 0x6558, 0x88BE)
"""MPLS, PPPoE, transparent Ethernet bridging, ERSPAN: read by `odd`."""

FAMILY_IPV4, FAMILIES_IPV6 = 2, (10, 24, 28, 30)
PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_IPV4, PROTOCOL_IPV6, PROTOCOL_GRE = 6, 17, 4, 41, 47
EXTENSION_HEADERS = (0, 43, 44, 51, 60, 135)
VXLAN_PORT = 4789
MAX_VLAN_TAGS = 2
IPV4_HEADER, IPV6_HEADER, TCP_HEADER, UDP_HEADER = 20, 40, 20, 8


class SegmentArrays(NamedTuple):
    """The columns of `Segments`, for kernels."""

    ts_ns: NDArray[np.int64]
    packet_no: NDArray[np.int64]
    source: NDArray[np.uint64]
    destination: NDArray[np.uint64]
    source_port: NDArray[np.uint16]
    destination_port: NDArray[np.uint16]
    seq: NDArray[np.uint32]
    ack: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    window: NDArray[np.uint16]
    offset: NDArray[np.int64]
    captured: NDArray[np.int32]
    length: NDArray[np.int32]


SEGMENT_ROW = record_type(
    [
        ("ts_ns", np.int64),
        ("packet_no", np.int64),
        ("source_high", np.uint64),
        ("source_low", np.uint64),
        ("destination_high", np.uint64),
        ("destination_low", np.uint64),
        ("offset", np.int64),
        ("captured", np.int64),
        ("length", np.int64),
        ("seq", np.uint32),
        ("ack", np.uint32),
        ("source_port", np.uint16),
        ("destination_port", np.uint16),
        ("window", np.uint16),
        ("tcp_flags", np.uint8),
    ],
)
"""The segment at hand. Kernels hand one such record on: it costs a pointer, where columns cost a reference count
each."""


@nb.njit(cache=True, nogil=True)
def big16(buf: NDArray[np.uint8], at: int) -> int:
    """Unsigned 16 bits in network order; the caller has compared with the end."""
    high, low = np.int64(buf[at]), np.int64(buf[at + 1])
    return int(high << 8 | low)


@nb.njit(cache=True, nogil=True)
def big32(buf: NDArray[np.uint8], at: int) -> int:
    """Unsigned 32 bits in network order."""
    return int(big16(buf, at) << 16 | big16(buf, at + 2))


@nb.njit(cache=True, nogil=True)
def big64(buf: NDArray[np.uint8], at: int) -> np.uint64:
    """Unsigned 64 bits in network order."""
    return np.uint64(big32(buf, at)) << np.uint64(32) | np.uint64(big32(buf, at + 4))


@nb.njit(cache=True, nogil=True)
def network_layer(buf: NDArray[np.uint8], at: int, end: int, linktype: int) -> tuple[int, int]:
    """The ethertype and place of the network layer of the packet buf[at:end]; (0, -kind) where there is none to
    read."""
    tags = MAX_VLAN_TAGS
    if linktype == ETHERNET:
        place, header = at + 12, 14
    elif linktype == SLL:
        place, header = at + 14, 16
    elif linktype == SLL2:
        place, header, tags = at, 20, 0
    elif linktype in (NULL, LOOP):
        if end - at < 4:
            return 0, -MALFORMED
        little = buf[at] != 0
        if buf[at + 1] != 0 or buf[at + 2] != 0 or (buf[at] != 0 and buf[at + 3] != 0):
            return 0, -OTHER
        family = buf[at] if little else buf[at + 3]
        if family == FAMILY_IPV4:
            return ETHERTYPE_IPV4, at + 4
        return (ETHERTYPE_IPV6, at + 4) if family in FAMILIES_IPV6 else (0, -OTHER)
    elif linktype in RAW_LINKTYPES:
        if end == at:
            return 0, -MALFORMED
        version = buf[at] >> 4
        if version == 4:
            return ETHERTYPE_IPV4, at
        return (ETHERTYPE_IPV6, at) if version == 6 else (0, -MALFORMED)
    else:
        return 0, -UNSUPPORTED
    if end - at < header:
        return 0, -MALFORMED
    ethertype, at = big16(buf, place), at + header
    while ethertype in ETHERTYPES_VLAN:
        if tags == 0:
            return 0, -ODD
        if end - at < 4:
            return 0, -MALFORMED
        ethertype, at, tags = big16(buf, at + 2), at + 4, tags - 1
    return ethertype, at


@nb.njit(cache=True, nogil=True)
def transport_layer(buf: NDArray[np.uint8], at: int, end: int, wire_end: int, ethertype: int) -> tuple[int, int, int]:
    """What the IP packet at `at` carries: (SEGMENT, place of the TCP header, its end on the wire), or (kind, 0, 0)."""
    if ethertype == ETHERTYPE_IPV4:
        if end - at < IPV4_HEADER or buf[at] >> 4 != 4:
            return MALFORMED, 0, 0
        header = (buf[at] & 15) * 4
        total = big16(buf, at + 2)
        ip_end = at + total if total else wire_end
        if header < IPV4_HEADER or at + header > ip_end:
            return MALFORMED, 0, 0
        protocol, fragment = buf[at + 9], big16(buf, at + 6) & 0x3FFF
        if fragment and protocol == PROTOCOL_TCP:
            return ODD, 0, 0
    else:
        if end - at < IPV6_HEADER or buf[at] >> 4 != 6:
            return MALFORMED, 0, 0
        header, total = IPV6_HEADER, big16(buf, at + 4)
        ip_end = at + IPV6_HEADER + total if total else wire_end
        protocol, fragment = buf[at + 6], 0
        if protocol in EXTENSION_HEADERS:
            return ODD, 0, 0
    at += header
    if protocol == PROTOCOL_TCP:
        return SEGMENT, at, ip_end
    if protocol in (PROTOCOL_GRE, PROTOCOL_IPV4, PROTOCOL_IPV6):
        return ODD, 0, 0
    if protocol == PROTOCOL_UDP and fragment == 0 and end - at >= 4:
        if big16(buf, at + 2) == VXLAN_PORT:
            return ODD, 0, 0
        if big16(buf, at) == DNS_PORT or big16(buf, at + 2) == DNS_PORT:
            return DNS, 0, 0
    return OTHER, 0, 0


@nb.njit(cache=True, nogil=True)
def read_addresses(buf: NDArray[np.uint8], at: int, ethertype: int, seg: Any) -> None:
    """Reads both addresses of the IP packet at `at`."""
    if ethertype == ETHERTYPE_IPV4:
        seg.source_high = seg.destination_high = np.uint64(0)
        seg.source_low = np.uint64(0xFFFF00000000) | np.uint64(big32(buf, at + 12))
        seg.destination_low = np.uint64(0xFFFF00000000) | np.uint64(big32(buf, at + 16))
    else:
        seg.source_high, seg.source_low = big64(buf, at + 8), big64(buf, at + 16)
        seg.destination_high, seg.destination_low = big64(buf, at + 24), big64(buf, at + 32)


@nb.njit(cache=True, nogil=True)
def read_packet(buf: NDArray[np.uint8], packet: tuple[int, int, int, int], seg: Any) -> int:
    """Reads the packet (place, captured bytes, bytes on the wire, link type) into the record seg. Returns what the
    packet is."""
    at, caplen, wirelen, linktype = packet
    end = at + caplen
    if at < 0 or caplen < 0 or end > len(buf):
        return MALFORMED
    ethertype, ip = network_layer(buf, at, end, linktype)
    if ip < 0:
        return int(-ip)
    if ethertype not in (ETHERTYPE_IPV4, ETHERTYPE_IPV6):
        return ODD if ethertype in ETHERTYPES_ODD else OTHER
    kind, tcp, ip_end = transport_layer(buf, ip, end, at + wirelen, ethertype)
    if kind != SEGMENT:
        return int(kind)
    if end - tcp < TCP_HEADER or ip_end - tcp < TCP_HEADER:
        return MALFORMED
    payload = tcp + (buf[tcp + 12] >> 4) * 4
    if payload < tcp + TCP_HEADER or payload > ip_end:
        return MALFORMED
    read_addresses(buf, ip, ethertype, seg)
    seg.source_port, seg.destination_port = big16(buf, tcp), big16(buf, tcp + 2)
    seg.seq, seg.ack = big32(buf, tcp + 4), big32(buf, tcp + 8)
    seg.tcp_flags, seg.window = buf[tcp + 13], big16(buf, tcp + 14)
    seg.offset = min(payload, end)
    seg.captured = max(min(end, ip_end) - payload, 0)
    seg.length = ip_end - payload
    return SEGMENT


@nb.njit(cache=True, nogil=True)
def read_common(
    buf: NDArray[np.uint8], p: PacketArrays, kinds: NDArray[np.uint8], scratch: NDArray[np.void], out: SegmentArrays
) -> int:
    """Reads all packets: what each is into kinds, segments into out, in order. Returns the number of segments."""
    n, seg = 0, scratch[0]
    for i in range(len(p.ts_ns)):
        kinds[i] = read_packet(buf, (p.offset[i], p.caplen[i], p.wirelen[i], p.linktype[i]), seg)
        if kinds[i] != SEGMENT:
            continue
        out.ts_ns[n], out.packet_no[n] = p.ts_ns[i], p.packet_no[i]
        out.source[n, 0], out.source[n, 1] = seg.source_high, seg.source_low
        out.destination[n, 0], out.destination[n, 1] = seg.destination_high, seg.destination_low
        out.source_port[n], out.destination_port[n] = seg.source_port, seg.destination_port
        out.seq[n], out.ack[n], out.flags[n], out.window[n] = seg.seq, seg.ack, seg.tcp_flags, seg.window
        out.offset[n], out.captured[n], out.length[n] = seg.offset, seg.captured, seg.length
        n += 1
    return n
