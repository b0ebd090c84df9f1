"""Reads packets one by one: what the kernel leaves (fragments, extension headers, tunnels, MPLS, PPPoE), and its slow
twin for all others.

Layers are peeled in a loop, each giving the next one and its place; dpkt reads the IPv4 and TCP headers. Tunnels (GRE,
ERSPAN, VXLAN, IP in IP) are opened, so a mirrored segment counts as the segment that was mirrored. Same rules as
`kernel`.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

import dpkt

from kafkascope_parsers.link.datagrams import DNS_PORT, Datagram
from kafkascope_parsers.link.kernel import (
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPES_VLAN,
    FAMILIES_IPV6,
    FAMILY_IPV4,
    LOOP,
    MALFORMED,
    NULL,
    OTHER,
    PROTOCOL_GRE,
    PROTOCOL_IPV4,
    PROTOCOL_IPV6,
    PROTOCOL_TCP,
    PROTOCOL_UDP,
    RAW_LINKTYPES,
    SLL,
    SLL2,
    TCP_HEADER,
    UDP_HEADER,
    UNSUPPORTED,
    VXLAN_PORT,
)

LAYER_LIMIT = 16
"""Headers peeled off one packet. A mirrored VLAN packet in VXLAN in IPv6 with two extension headers has 9."""

_MPLS, _PPPOE, _BRIDGED, _ERSPAN_2, _ERSPAN_3, _LLC_LIMIT = (0x8847, 0x8848), 0x8864, 0x6558, 0x88BE, 0x22EB, 0x600
_PPP_TYPES = {0x0021: ETHERTYPE_IPV4, 0x0057: ETHERTYPE_IPV6}
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION, _MOBILITY = 0, 43, 44, 51, 60, 135
_GRE_SEQUENCE = 0x1000
_MAPPED_IPV4 = b"\0" * 10 + b"\xff\xff"


class NotASegment(Exception):  # noqa: N818 - a verdict, not an error
    """Ends the reading of a packet: kind is OTHER, MALFORMED or UNSUPPORTED."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        super().__init__(kind)


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment; offset counts from the packet's first byte. Fields as in `Segments`."""

    source: bytes
    destination: bytes
    source_port: int
    destination_port: int
    seq: int
    ack: int
    flags: int
    window: int
    offset: int
    captured: int
    length: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of an IP packet that carries TCP: data belongs at `at` of what the IP header carries."""

    source: bytes
    destination: bytes
    identification: int
    at: int
    more: bool
    data: bytes
    whole: bool


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Where peeling stands: the next layer's reader, its place, and the end of what holds it, on the wire."""

    read: "Callable[[bytes, _Cursor], _Cursor | Segment | Fragment | Datagram]"
    at: int
    wire_end: int
    source: bytes = b""
    destination: bytes = b""


def read_odd(data: bytes, linktype: int, wirelen: int) -> Segment | Fragment | Datagram:
    """Reads a packet of any kind. Raises NotASegment."""
    layer: _Cursor | Segment | Fragment | Datagram = _link_layer(data, linktype, wirelen)
    for _ in range(LAYER_LIMIT):
        if not isinstance(layer, _Cursor):
            return layer
        layer = layer.read(data, layer)
    if isinstance(layer, _Cursor):
        raise NotASegment(MALFORMED)
    return layer


def tcp_segment(data: bytes, source: bytes, destination: bytes) -> Segment:
    """Reads the TCP segment that `data` is. Raises NotASegment."""
    found = _tcp(data, _Cursor(_tcp, 0, len(data), source, destination))
    if not isinstance(found, Segment):
        raise NotASegment(MALFORMED)
    return found


def _need(data: bytes, at: int, n: int) -> None:
    if len(data) - at < n:
        raise NotASegment(MALFORMED)


def _link_layer(data: bytes, linktype: int, wirelen: int) -> _Cursor:
    if linktype == ETHERNET:
        return _Cursor(_ethernet, 0, wirelen)
    if linktype == SLL:
        _need(data, 0, 16)
        return _by_ethertype(data, struct.unpack_from("!H", data, 14)[0], _Cursor(_ethernet, 16, wirelen))
    if linktype == SLL2:
        _need(data, 0, 20)
        return _by_ethertype(data, struct.unpack_from("!H", data, 0)[0], _Cursor(_ethernet, 20, wirelen))
    if linktype in (NULL, LOOP):
        _need(data, 0, 4)
        families = struct.unpack_from("<I", data)[0], struct.unpack_from(">I", data)[0]
        if FAMILY_IPV4 in families:
            return _Cursor(_ipv4, 4, wirelen)
        if any(family in FAMILIES_IPV6 for family in families):
            return _Cursor(_ipv6, 4, wirelen)
        raise NotASegment(OTHER)
    if linktype in RAW_LINKTYPES:
        _need(data, 0, 1)
        if data[0] >> 4 not in (4, 6):
            raise NotASegment(MALFORMED)
        return _Cursor(_ipv4 if data[0] >> 4 == 4 else _ipv6, 0, wirelen)
    raise NotASegment(UNSUPPORTED)


def _ethernet(data: bytes, c: _Cursor) -> _Cursor:
    _need(data, c.at, 14)
    ethertype = struct.unpack_from("!H", data, c.at + 12)[0]
    return _by_ethertype(data, ethertype, replace(c, at=c.at + 14))


def _by_ethertype(data: bytes, ethertype: int, c: _Cursor) -> _Cursor:
    at = c.at
    for _ in range(LAYER_LIMIT):
        if ethertype not in ETHERTYPES_VLAN:
            break
        _need(data, at, 4)
        ethertype, at = struct.unpack_from("!H", data, at + 2)[0], at + 4
    c = replace(c, at=at)
    if ethertype in (ETHERTYPE_IPV4, ETHERTYPE_IPV6):
        return replace(c, read=_ipv4 if ethertype == ETHERTYPE_IPV4 else _ipv6)
    if ethertype in _MPLS:
        return replace(c, read=_mpls)
    if ethertype == _PPPOE:
        _need(data, at, 8)
        inner = _PPP_TYPES.get(struct.unpack_from("!H", data, at + 6)[0], 0)
        return _by_ethertype(data, inner, replace(c, at=at + 8))
    if ethertype == _BRIDGED:
        return replace(c, read=_ethernet)
    raise NotASegment(OTHER)


def _mpls(data: bytes, c: _Cursor) -> _Cursor:
    _need(data, c.at, 5)
    if not data[c.at + 2] & 1:
        return replace(c, at=c.at + 4)
    version = data[c.at + 4] >> 4
    if version not in (4, 6):
        raise NotASegment(OTHER)
    return replace(c, read=_ipv4 if version == 4 else _ipv6, at=c.at + 4)


def _ipv4(data: bytes, c: _Cursor) -> _Cursor | Fragment:
    _need(data, c.at, 20)
    header = (data[c.at] & 15) * 4
    if data[c.at] >> 4 != 4 or header < 20:
        raise NotASegment(MALFORMED)
    ip = dpkt.ip.IP(data[c.at : c.at + header].ljust(header, b"\0"))
    wire_end = c.at + ip.len if ip.len else c.wire_end
    at = c.at + header
    if at > wire_end:
        raise NotASegment(MALFORMED)
    source, destination = _MAPPED_IPV4 + ip.src, _MAPPED_IPV4 + ip.dst
    inner = replace(c, at=at, wire_end=wire_end, source=source, destination=destination)
    if (ip.offset or ip.mf) and ip.p == PROTOCOL_TCP:
        part = data[at:wire_end]
        return Fragment(source, destination, ip.id, ip.offset * 8, bool(ip.mf), part, len(part) == wire_end - at)
    if (ip.offset or ip.mf) and ip.p == PROTOCOL_UDP:
        raise NotASegment(OTHER)
    return _by_protocol(data, ip.p, inner)


def _ipv6(data: bytes, c: _Cursor) -> _Cursor | Fragment:
    _need(data, c.at, 40)
    if data[c.at] >> 4 != 6:
        raise NotASegment(MALFORMED)
    length, protocol = struct.unpack_from("!HB", data, c.at + 4)
    source, destination = data[c.at + 8 : c.at + 24], data[c.at + 24 : c.at + 40]
    wire_end = c.at + 40 + length if length else c.wire_end
    at = c.at + 40
    for _ in range(LAYER_LIMIT):
        if protocol in (_HOP_BY_HOP, _ROUTING, _DESTINATION, _MOBILITY):
            _need(data, at, 8)
            protocol, at = data[at], at + 8 + data[at + 1] * 8
        elif protocol == _AUTHENTICATION:
            _need(data, at, 8)
            protocol, at = data[at], at + 8 + data[at + 1] * 4
        elif protocol == _FRAGMENT:
            _need(data, at, 8)
            protocol, place, identification = struct.unpack_from("!BxHI", data, at)
            at += 8
            if place & 0xFFF9:
                if protocol != PROTOCOL_TCP:
                    raise NotASegment(OTHER)
                part = data[at:wire_end]
                whole = len(part) == wire_end - at
                return Fragment(source, destination, identification, place & 0xFFF8, bool(place & 1), part, whole)
        else:
            break
    if at > wire_end:
        raise NotASegment(MALFORMED)
    return _by_protocol(data, protocol, replace(c, at=at, wire_end=wire_end, source=source, destination=destination))


def _by_protocol(data: bytes, protocol: int, c: _Cursor) -> _Cursor:
    if protocol == PROTOCOL_TCP:
        return replace(c, read=_tcp)
    if protocol in (PROTOCOL_IPV4, PROTOCOL_IPV6):
        return replace(c, read=_ipv4 if protocol == PROTOCOL_IPV4 else _ipv6)
    if protocol == PROTOCOL_GRE:
        return replace(c, read=_gre)
    if protocol == PROTOCOL_UDP and len(data) - c.at >= 4:
        (port,) = struct.unpack_from("!H", data, c.at + 2)
        if port == VXLAN_PORT:
            _need(data, c.at, 16)
            return replace(c, read=_ethernet, at=c.at + 16)
        if DNS_PORT in (port, struct.unpack_from("!H", data, c.at)[0]) and len(data) - c.at >= UDP_HEADER:
            return replace(c, read=_udp)
    raise NotASegment(OTHER)


def _udp(data: bytes, c: _Cursor) -> Datagram:
    source_port, destination_port, length = struct.unpack_from("!HHH", data, c.at)
    end = min(c.at + length, c.wire_end) if length else c.wire_end
    return Datagram(c.source, c.destination, source_port, destination_port, data[c.at + UDP_HEADER : end])


def _gre(data: bytes, c: _Cursor) -> _Cursor:
    _need(data, c.at, 4)
    flags, protocol = struct.unpack_from("!HH", data, c.at)
    if flags & (dpkt.gre.GRE_RP | 7):
        raise NotASegment(OTHER)
    at = c.at + 4 + 4 * sum(bool(flags & bit) for bit in (dpkt.gre.GRE_CP, dpkt.gre.GRE_KP, dpkt.gre.GRE_SP))
    if protocol == _ERSPAN_2:
        return replace(c, read=_ethernet, at=at + (8 if flags & _GRE_SEQUENCE else 0))
    if protocol == _ERSPAN_3:
        _need(data, at, 12)
        return replace(c, read=_ethernet, at=at + (20 if data[at + 11] & 1 else 12))
    return _by_ethertype(data, protocol, replace(c, at=at))


def _tcp(data: bytes, c: _Cursor) -> Segment:
    if c.wire_end - c.at < TCP_HEADER:
        raise NotASegment(MALFORMED)
    _need(data, c.at, TCP_HEADER)
    try:
        tcp = dpkt.tcp.TCP(data[c.at : c.at + 60])
    except dpkt.UnpackError as error:
        raise NotASegment(MALFORMED) from error
    payload = c.at + tcp.off * 4
    if payload > c.wire_end:
        raise NotASegment(MALFORMED)
    return Segment(
        c.source,
        c.destination,
        tcp.sport,
        tcp.dport,
        tcp.seq,
        tcp.ack,
        tcp.flags & 0xFF,
        tcp.win,
        min(payload, len(data)),
        max(min(len(data), c.wire_end) - payload, 0),
        c.wire_end - payload,
    )
