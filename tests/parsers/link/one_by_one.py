"""The slow twin of the link layer's kernel: reads packets one by one in plain Python, for tests to compare with.

Layers are peeled in a loop, each giving the next one and its place, as in `layers`, whose rules and names these are;
dpkt reads the IPv4 and TCP headers. What an IP packet in fragments carries is read once it is whole.
"""

import struct
from dataclasses import dataclass, replace

import dpkt
import numpy as np

from kafkascope_parsers.link import PacketCounts, Segments, ip_packet
from kafkascope_parsers.link.fragments import Fragments
from kafkascope_parsers.link.kernel import SEGMENT_LAYERS, TCP_HEADER
from kafkascope_parsers.link.layers import (
    AUTHENTICATION,
    CARRIERS,
    CISCO_HDLC,
    DNS_PORT,
    ETHERNET,
    ETHERTYPE_BRIDGED,
    ETHERTYPE_ERSPAN_2,
    ETHERTYPE_ERSPAN_3,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_PPPOE,
    ETHERTYPES_MPLS,
    ETHERTYPES_VLAN,
    EXTENSION_LIMIT,
    FAMILIES_IPV6,
    FAMILY_IPV4,
    FRAGMENT,
    GENEVE_PORT,
    LOOP,
    MALFORMED,
    MAX_VLAN_TAGS,
    MPLS_LIMIT,
    NFLOG,
    NFLOG_PAYLOAD,
    NULL,
    OTHER,
    PLAIN_EXTENSIONS,
    PPP_ETHER,
    PPP_HDLC,
    PPP_IPV4,
    PPP_IPV6,
    PPP_LINKTYPES,
    PPP_MPLS,
    PROTOCOL_GRE,
    PROTOCOL_IPV4,
    PROTOCOL_IPV6,
    PROTOCOL_TCP,
    PROTOCOL_UDP,
    RAW_LINKTYPES,
    SLL,
    SLL2,
    UDP_HEADER,
    UNSUPPORTED,
    VXLAN_GPE_PORT,
    VXLAN_HAS_ID,
    VXLAN_PORTS,
)
from kafkascope_parsers.link.segments import DSACK

_ETHERTYPE_AT = {ETHERNET: (12, 14), SLL: (14, 16), SLL2: (0, 20), CISCO_HDLC: (2, 4)}
_PPP_LAYERS = {PPP_IPV4: ETHERTYPE_IPV4, PPP_IPV6: ETHERTYPE_IPV6, PPP_MPLS: ETHERTYPES_MPLS[0]}
_IP_VERSIONS = {4: ETHERTYPE_IPV4, 6: ETHERTYPE_IPV6}
_GRE_ERSPAN_3_IP = 2
_MAPPED_IPV4 = b"\0" * 10 + b"\xff\xff"

Layer = tuple[int, int]
"""A layer and its place."""


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
class IpPacket:
    """An IP packet's header: what it carries is at `at`, up to `wire_end`; fragment_at counts bytes of the whole."""

    source: bytes
    destination: bytes
    identification: int
    ttl: int
    protocol: int
    at: int
    wire_end: int
    fragment_at: int = 0
    more: bool = False


class Datagram:
    """A UDP datagram of port 53."""


def read_packet(data: bytes, linktype: int, wirelen: int) -> "Segment | ip_packet.IpPacket | Datagram":
    """Reads a packet of any kind; of a fragment the IP packet. Raises NotASegment."""
    return _peel(data, _link_layer(data, linktype), wirelen)


def _peel(data: bytes, layer: Layer, wire_end: int) -> Segment | ip_packet.IpPacket | Datagram:
    for _ in range(SEGMENT_LAYERS):
        ethertype, at = layer
        if ethertype not in (ETHERTYPE_IPV4, ETHERTYPE_IPV6):
            layer = _shim_layer(data, ethertype, at)
            continue
        packet = (_ipv4 if ethertype == ETHERTYPE_IPV4 else _ipv6)(data, at, wire_end)
        if packet.fragment_at or packet.more:
            if packet.protocol not in CARRIERS:
                raise NotASegment(OTHER)
            return _fragment(data, at, packet)
        if packet.protocol == PROTOCOL_TCP:
            return _tcp(data, packet)
        wire_end = packet.wire_end
        data = data[:wire_end]
        if packet.protocol == PROTOCOL_UDP and _is_dns(data, packet.at):
            return Datagram()
        layer = _tunnel_layer(data, packet)
    raise NotASegment(MALFORMED)


def _is_dns(data: bytes, at: int) -> bool:
    return len(data) - at >= UDP_HEADER and DNS_PORT in (_big16(data, at), _big16(data, at + 2))


def _fragment(data: bytes, at: int, packet: IpPacket) -> ip_packet.IpPacket:
    header = data[at : at + (20 if data[at] >> 4 == 4 else 40)]
    payload, length = data[packet.at : packet.wire_end], packet.wire_end - packet.at
    fields = packet.identification, packet.fragment_at, packet.more
    return ip_packet.IpPacket(header, packet.protocol, payload, length, *fields)


def _need(data: bytes, at: int, n: int) -> None:
    if len(data) - at < n:
        raise NotASegment(MALFORMED)


def _big16(data: bytes, at: int) -> int:
    _need(data, at, 2)
    return int(struct.unpack_from("!H", data, at)[0])


def _link_layer(data: bytes, linktype: int) -> Layer:
    if linktype in _ETHERTYPE_AT:
        return _ethertype_layer(data, linktype)
    if linktype in (NULL, LOOP):
        _need(data, 0, 4)
        families = struct.unpack_from("<I", data)[0], struct.unpack_from(">I", data)[0]
        if FAMILY_IPV4 in families:
            return ETHERTYPE_IPV4, 4
        if any(family in FAMILIES_IPV6 for family in families):
            return ETHERTYPE_IPV6, 4
        raise NotASegment(OTHER)
    if linktype in RAW_LINKTYPES:
        return _version_layer(data, 0, MALFORMED)
    if linktype in PPP_LINKTYPES:
        return _ppp_layer(data, 0, linktype)
    if linktype == NFLOG:
        return _nflog_layer(data)
    raise NotASegment(UNSUPPORTED)


def _nflog_layer(data: bytes) -> Layer:
    at = 4
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("<HH", data, at)
        if kind == NFLOG_PAYLOAD and length >= 4:
            return _version_layer(data, at + 4, OTHER)
        if length < 4:
            break
        at += -(-length // 4) * 4
    raise NotASegment(MALFORMED)


def _ethertype_layer(data: bytes, linktype: int) -> Layer:
    place, at = _ETHERTYPE_AT[linktype]
    _need(data, 0, at)
    ethertype = _big16(data, place)
    for _ in range(MAX_VLAN_TAGS):
        if ethertype in ETHERTYPES_VLAN:
            _need(data, at, 4)
            ethertype, at = _big16(data, at + 2), at + 4
    return ethertype, at


def _version_layer(data: bytes, at: int, otherwise: int) -> Layer:
    _need(data, at, 1)
    if data[at] >> 4 not in _IP_VERSIONS:
        raise NotASegment(otherwise)
    return _IP_VERSIONS[data[at] >> 4], at


def _ppp_layer(data: bytes, at: int, linktype: int) -> Layer:
    if linktype == PPP_ETHER:
        _need(data, at, 6)
        if data[at : at + 2] != b"\x11\0":
            raise NotASegment(OTHER)
        at += 6
    _need(data, at, 4)
    if linktype == PPP_HDLC and data[at] in (0x0F, 0x8F):
        return _big16(data, at + 2), at + 4
    if data[at : at + 2] == b"\xff\x03":
        at += 2
    size = 1 if data[at] & 1 else 2
    layer = _PPP_LAYERS.get(int.from_bytes(data[at : at + size], "big"))
    if layer is None:
        raise NotASegment(OTHER)
    return layer, at + size


def _shim_layer(data: bytes, ethertype: int, at: int) -> Layer:
    if ethertype in ETHERTYPES_VLAN:
        _need(data, at, 4)
        return _big16(data, at + 2), at + 4
    if ethertype == ETHERTYPE_PPPOE:
        return _ppp_layer(data, at, PPP_ETHER)
    if ethertype == ETHERTYPE_BRIDGED:
        _need(data, at, 14)
        return _big16(data, at + 12), at + 14
    if ethertype not in ETHERTYPES_MPLS:
        raise NotASegment(OTHER)
    for _ in range(MPLS_LIMIT):
        _need(data, at, 4)
        at += 4
        if data[at - 2] & 1:
            return _version_layer(data, at, OTHER)
    raise NotASegment(MALFORMED)


def _ipv4(data: bytes, at: int, wire_end: int) -> IpPacket:
    _need(data, at, 20)
    header = (data[at] & 15) * 4
    if data[at] >> 4 != 4 or header < 20:
        raise NotASegment(MALFORMED)
    ip = dpkt.ip.IP(data[at : at + header].ljust(header, b"\0"))
    wire_end = at + ip.len if ip.len else wire_end
    if at + header > wire_end:
        raise NotASegment(MALFORMED)
    source, destination = _MAPPED_IPV4 + ip.src, _MAPPED_IPV4 + ip.dst
    return IpPacket(source, destination, ip.id, ip.ttl, ip.p, at + header, wire_end, ip.offset * 8, bool(ip.mf))


def _ipv6(data: bytes, at: int, wire_end: int) -> IpPacket:
    _need(data, at, 40)
    if data[at] >> 4 != 6:
        raise NotASegment(MALFORMED)
    length, protocol, hop_limit = struct.unpack_from("!HBB", data, at + 4)
    found = IpPacket(
        data[at + 8 : at + 24],
        data[at + 24 : at + 40],
        0,
        hop_limit,
        protocol,
        at + 40,
        at + 40 + length if length else wire_end,
    )
    for _ in range(EXTENSION_LIMIT):
        protocol, at = found.protocol, found.at
        if protocol not in (*PLAIN_EXTENSIONS, AUTHENTICATION, FRAGMENT):
            break
        _need(data, at, 8)
        unit = {AUTHENTICATION: 4, FRAGMENT: 0}.get(protocol, 8)
        found = replace(found, protocol=data[at], at=at + 8 + data[at + 1] * unit)
        if protocol == FRAGMENT:
            place, identification = struct.unpack_from("!HI", data, at + 2)
            if place & 0xFFF9:
                return replace(found, identification=identification, fragment_at=place & 0xFFF8, more=bool(place & 1))
    if found.at > found.wire_end:
        raise NotASegment(MALFORMED)
    return found


def _tunnel_layer(data: bytes, packet: IpPacket) -> Layer:
    at = packet.at
    if packet.protocol in (PROTOCOL_IPV4, PROTOCOL_IPV6):
        return ETHERTYPE_IPV4 if packet.protocol == PROTOCOL_IPV4 else ETHERTYPE_IPV6, at
    if packet.protocol == PROTOCOL_GRE:
        return _gre_layer(data, at)
    if packet.protocol != PROTOCOL_UDP or len(data) - at < 8:
        raise NotASegment(OTHER)
    port, at = _big16(data, at + 2), at + 8
    if port not in (*VXLAN_PORTS, VXLAN_GPE_PORT, GENEVE_PORT):
        raise NotASegment(OTHER)
    _need(data, at, 8)
    if port == GENEVE_PORT and data[at] >> 6 == 0:
        return _big16(data, at + 2), at + 8 + (data[at] & 63) * 4
    if port == GENEVE_PORT or not data[at] & VXLAN_HAS_ID:
        raise NotASegment(OTHER)
    gpe = {1: ETHERTYPE_IPV4, 2: ETHERTYPE_IPV6} if port == VXLAN_GPE_PORT else {}
    return gpe.get(data[at + 3], ETHERTYPE_BRIDGED), at + 8


def _gre_layer(data: bytes, at: int) -> Layer:
    _need(data, at, 4)
    flags, ethertype = struct.unpack_from("!HH", data, at)
    if flags & (dpkt.gre.GRE_RP | 7):
        raise NotASegment(OTHER)
    at += 4 + 4 * sum(bool(flags & bit) for bit in (dpkt.gre.GRE_CP, dpkt.gre.GRE_KP, dpkt.gre.GRE_SP))
    if ethertype == ETHERTYPE_ERSPAN_2:
        return ETHERTYPE_BRIDGED, at + (8 if flags & dpkt.gre.GRE_SP else 0)
    if ethertype != ETHERTYPE_ERSPAN_3:
        return ethertype, at
    _need(data, at, 12)
    frame, at = data[at + 10] >> 2 & 31, at + (20 if data[at + 11] & 1 else 12)
    if frame == _GRE_ERSPAN_3_IP:
        return _version_layer(data, at, OTHER)
    if frame:
        raise NotASegment(OTHER)
    return ETHERTYPE_BRIDGED, at


def _tcp(data: bytes, packet: IpPacket) -> Segment:
    at, wire_end = packet.at, packet.wire_end
    if wire_end - at < TCP_HEADER:
        raise NotASegment(MALFORMED)
    _need(data, at, TCP_HEADER)
    try:
        tcp = dpkt.tcp.TCP(data[at : at + 60])
    except dpkt.UnpackError as error:
        raise NotASegment(MALFORMED) from error
    payload = at + tcp.off * 4
    if payload > wire_end:
        raise NotASegment(MALFORMED)
    return Segment(
        packet.source,
        packet.destination,
        tcp.sport,
        tcp.dport,
        tcp.seq,
        tcp.ack,
        tcp.flags & 0xFF | (DSACK if payload <= len(data) and _reports_duplicate(tcp) else 0),
        tcp.win,
        min(payload, len(data)),
        max(min(len(data), wire_end) - payload, 0),
        wire_end - payload,
    )


def _reports_duplicate(tcp: dpkt.tcp.TCP) -> bool:
    """Whether the first SACK block reports what was received before (RFC 2883)."""
    try:
        options = [] if tcp.flags & dpkt.tcp.TH_SYN else dpkt.tcp.parse_opts(tcp.opts)
    except dpkt.Error:
        return False
    for option in options:
        if option is None:  # dpkt's mark for a last byte that begins an option and has no length behind it
            break
        kind, value = option
        if kind == dpkt.tcp.TCP_OPT_EOL:
            break
        if kind == dpkt.tcp.TCP_OPT_SACK and len(value) >= 8:
            edges = struct.unpack(f"!{len(value) // 8 * 2}I", value[: len(value) // 8 * 8])
            behind_ack = (tcp.ack - edges[0]) % (1 << 32)
            inside = len(edges) > 2 and all(d % (1 << 32) < 1 << 31 for d in (edges[0] - edges[2], edges[3] - edges[1]))
            return 0 < behind_ack < 1 << 31 or inside
    return False


def read_one_by_one(buf, packets):
    """As LinkReader.read_segments, for packets of which none is a copy of another: bytes, segments, counts."""
    counts, fragments, annex, found = PacketCounts(), Fragments(), bytearray(), []
    for row in range(len(packets)):
        at, caplen = int(packets.offset[row]), int(packets.caplen[row])
        data, linktype, wirelen = buf[at : at + caplen].tobytes(), int(packets.linktype[row]), int(packets.wirelen[row])
        try:
            read = read_packet(data, linktype, wirelen)
            while isinstance(read, ip_packet.IpPacket):
                data = fragments.add(read, int(packets.ts_ns[row]))
                if data is None:
                    counts.fragments += 1
                    break
                read, at = read_packet(data, RAW_LINKTYPES[0], len(data)), len(buf) + len(annex)
                annex += data
        except NotASegment as verdict:
            counts.other += verdict.kind == OTHER
            counts.malformed += verdict.kind == MALFORMED
            counts.unsupported += verdict.kind == UNSUPPORTED
            continue
        counts.other += isinstance(read, Datagram)
        if isinstance(read, Segment):
            counts.segments += 1
            found.append((row, at, read))
    return np.concatenate([buf, np.frombuffer(bytes(annex), np.uint8)]), _columns(packets, found), counts


def _columns(packets, found):
    rows, read = [row for row, _, _ in found], [segment for _, _, segment in found]
    return Segments(
        packets.ts_ns[rows],
        packets.packet_no[rows],
        _addresses([s.source for s in read]),
        _addresses([s.destination for s in read]),
        np.array([s.source_port for s in read], np.uint16),
        np.array([s.destination_port for s in read], np.uint16),
        np.array([s.seq for s in read], np.uint32),
        np.array([s.ack for s in read], np.uint32),
        np.array([s.flags for s in read], np.uint16),
        np.array([s.window for s in read], np.uint16),
        np.array([at + s.offset for _, at, s in found], np.int64),
        np.array([s.captured for s in read], np.int32),
        np.array([s.length for s in read], np.int32),
        np.zeros(len(read), np.int32),
    )


def _addresses(packed):
    return np.frombuffer(b"".join(packed), ">u8").reshape(-1, 2).astype(np.uint64)
