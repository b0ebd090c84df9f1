"""Steps through the headers below TCP, in kernels: each finds the next layer and its place.

A layer is named by its ethertype; a step returns (ethertype, place of the layer), or (0, -kind) if reading ends there.
The returned place is not compared with the end: every step compares before it reads.

Sources: link types, NFLOG among them, tcpdump.org; PPP, RFC 1661, 1662 (address, control and protocol field
compression); PPPoE, RFC 2516; MPLS, RFC 3032; GRE, RFC 2784, 2890; ERSPAN, draft-foschiano-erspan-03; VXLAN, RFC 7348;
VXLAN-GPE, draft-ietf-nvo3-vxlan-gpe; GENEVE, RFC 8926; IP in IP, RFC 2003, 4213, 2473; IPv6 extension headers, RFC
8200, 4302, 6275.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import inlined, kernel

SEGMENT, OTHER, MALFORMED, UNSUPPORTED, IP_FRAGMENT, DUPLICATE, DNS = range(7)
"""Kinds of packets: a TCP segment; a sound packet without one; a broken packet; a link type that is not supported; a
fragment of an IP packet that may carry TCP; a segment that the capture shows once more; a sound packet without a
segment that is UDP of port 53."""

NULL, ETHERNET, PPP, PPP_HDLC, PPP_ETHER, CISCO_HDLC, LOOP, SLL, NFLOG, SLL2 = 0, 1, 9, 50, 51, 104, 108, 113, 239, 276
RAW_LINKTYPES = (12, 14, 101, 228, 229)
PPP_LINKTYPES = (PPP, PPP_HDLC, PPP_ETHER)
LINKTYPE_NAMES = {
    NULL: "NULL",
    ETHERNET: "ETHERNET",
    PPP: "PPP",
    PPP_HDLC: "PPP_HDLC",
    PPP_ETHER: "PPP_ETHER",
    CISCO_HDLC: "C_HDLC",
    LOOP: "LOOP",
    SLL: "LINUX_SLL",
    NFLOG: "NFLOG",
    SLL2: "LINUX_SLL2",
    **dict.fromkeys(RAW_LINKTYPES, "RAW"),
    228: "IPV4",
    229: "IPV6",
}
"""The link types that are read, by the names that they have in tcpdump.org's list, without LINKTYPE_."""

ETHERTYPE_IPV4, ETHERTYPE_IPV6 = 0x0800, 0x86DD
ETHERTYPES_VLAN = (0x8100, 0x88A8, 0x9100)
ETHERTYPES_MPLS = (0x8847, 0x8848)
ETHERTYPE_PPPOE, ETHERTYPE_BRIDGED = 0x8864, 0x6558
ETHERTYPE_ERSPAN_2, ETHERTYPE_ERSPAN_3 = 0x88BE, 0x22EB
"""In GRE only. Type I has the number of type II, but no sequence number and no header of its own."""

NFLOG_HEADER, NFLOG_ATTRIBUTE, NFLOG_PAYLOAD = 4, 4, 9
"""Bytes of the header of an NFLOG packet, and of one of its attributes; the attribute that is the packet."""

FAMILY_IPV4, FAMILIES_IPV6 = 2, (10, 23, 24, 28, 30)
"""AF_INET; AF_INET6 of Linux, Windows, the BSDs, FreeBSD, macOS."""

PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_IPV4, PROTOCOL_IPV6, PROTOCOL_GRE = 6, 17, 4, 41, 47
CARRIERS = (PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_IPV4, PROTOCOL_IPV6, PROTOCOL_GRE)
"""IP protocols that are or may carry TCP: fragments of others are not put together."""

HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION, MOBILITY = 0, 43, 44, 51, 60, 135
PLAIN_EXTENSIONS = (HOP_BY_HOP, ROUTING, DESTINATION, MOBILITY)
EXTENSION_LIMIT = 16
"""Extension headers of one IPv6 packet. RFC 8200 recommends each at most once, which makes 7."""

VXLAN_PORTS, VXLAN_GPE_PORT, GENEVE_PORT = (4789, 8472), 4790, 6081
"""IANA's ports, and the one that Linux used before (flannel still does)."""
DNS_PORT = 53
VXLAN_HEADER, UDP_HEADER = 8, 8
VXLAN_HAS_ID = 0x08

PPP_IPV4, PPP_IPV6, PPP_MPLS = 0x21, 0x57, 0x281
MAX_VLAN_TAGS = 2
MPLS_LIMIT = 16
"""Labels of one packet."""


@kernel
def big16(buf: NDArray[np.uint8], at: int) -> int:
    """Unsigned 16 bits in network order; the caller has compared with the end."""
    high, low = np.int64(buf[at]), np.int64(buf[at + 1])
    return int(high << 8 | low)


@kernel
def little16(buf: NDArray[np.uint8], at: int) -> int:
    """Unsigned 16 bits, little-endian; the caller has compared with the end."""
    low, high = np.int64(buf[at]), np.int64(buf[at + 1])
    return int(high << 8 | low)


@kernel
def big32(buf: NDArray[np.uint8], at: int) -> int:
    """Unsigned 32 bits in network order."""
    return int(big16(buf, at) << 16 | big16(buf, at + 2))


@kernel
def big64(buf: NDArray[np.uint8], at: int) -> np.uint64:
    """Unsigned 64 bits in network order."""
    return np.uint64(big32(buf, at)) << np.uint64(32) | np.uint64(big32(buf, at + 4))


@inlined
def network_layer(buf: NDArray[np.uint8], at: int, end: int, linktype: int) -> Any:
    """The layer on top of the link layer of the packet buf[at:end], behind at most two VLAN tags."""
    if linktype == ETHERNET:
        place, header = at + 12, 14
    elif linktype == SLL:
        place, header = at + 14, 16
    elif linktype == SLL2:
        place, header = at, 20
    elif linktype in (NULL, LOOP):
        return family_layer(buf, at, end)
    elif linktype in RAW_LINKTYPES:
        return version_layer(buf, at, end, MALFORMED)
    elif linktype in PPP_LINKTYPES:
        return ppp_layer(buf, at, end, linktype)
    elif linktype == CISCO_HDLC:
        place, header = at + 2, 4
    elif linktype == NFLOG:
        return nflog_layer(buf, at, end)
    else:
        return 0, -UNSUPPORTED
    if end - at < header:
        return 0, -MALFORMED
    ethertype, at = big16(buf, place), at + header
    for _ in range(MAX_VLAN_TAGS):
        if ethertype not in ETHERTYPES_VLAN:
            break
        if end - at < 4:
            return 0, -MALFORMED
        ethertype, at = big16(buf, at + 2), at + 4
    return ethertype, at


@kernel
def family_layer(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """The layer behind the address family of BSD's loopback, in either byte order."""
    if end - at < 4:
        return 0, -MALFORMED
    little = buf[at] != 0
    if buf[at + 1] != 0 or buf[at + 2] != 0 or (little and buf[at + 3] != 0):
        return 0, -OTHER
    family = buf[at] if little else buf[at + 3]
    if family == FAMILY_IPV4:
        return ETHERTYPE_IPV4, at + 4
    return (ETHERTYPE_IPV6, at + 4) if family in FAMILIES_IPV6 else (0, -OTHER)


@kernel
def nflog_layer(buf: NDArray[np.uint8], at: int, end: int) -> Any:
    """The packet among the attributes of a Linux netfilter log message, whose numbers are little-endian."""
    at += NFLOG_HEADER
    while end - at >= NFLOG_ATTRIBUTE:
        length, kind = little16(buf, at), little16(buf, at + 2)
        if length < NFLOG_ATTRIBUTE:
            break
        if kind == NFLOG_PAYLOAD:
            return version_layer(buf, at + NFLOG_ATTRIBUTE, end, OTHER)
        at += (length + 3) // 4 * 4
    return 0, -MALFORMED


@kernel
def version_layer(buf: NDArray[np.uint8], at: int, end: int, otherwise: int) -> tuple[int, int]:
    """IPv4 or IPv6 by its first four bits; otherwise: the kind of a packet that is neither."""
    if end - at < 1:
        return 0, -MALFORMED
    version = buf[at] >> 4
    if version == 4:
        return ETHERTYPE_IPV4, at
    return (ETHERTYPE_IPV6, at) if version == 6 else (0, -otherwise)


@kernel
def ppp_layer(buf: NDArray[np.uint8], at: int, end: int, linktype: int) -> tuple[int, int]:
    """The layer on top of PPP, with or without its address and control bytes, or of PPPoE's session header."""
    if linktype == PPP_ETHER:
        if end - at < 6:
            return 0, -MALFORMED
        if buf[at] != 0x11 or buf[at + 1] != 0:
            return 0, -OTHER
        at += 6
    if end - at < 4:
        return 0, -MALFORMED
    if linktype == PPP_HDLC and buf[at] in (0x0F, 0x8F):
        return big16(buf, at + 2), at + 4
    if buf[at] == 0xFF and buf[at + 1] == 3:
        at += 2
    if buf[at] & 1:
        protocol, at = int(buf[at]), at + 1
    else:
        protocol, at = big16(buf, at), at + 2
    if protocol == PPP_IPV4:
        return ETHERTYPE_IPV4, at
    if protocol == PPP_IPV6:
        return ETHERTYPE_IPV6, at
    return (ETHERTYPES_MPLS[0], at) if protocol == PPP_MPLS else (0, -OTHER)


@kernel
def shim_layer(buf: NDArray[np.uint8], at: int, end: int, ethertype: int) -> Any:
    """The layer on top of a third VLAN tag, MPLS, PPPoE, or an Ethernet frame inside another protocol."""
    if ethertype in ETHERTYPES_VLAN:
        return (big16(buf, at + 2), at + 4) if end - at >= 4 else (0, -MALFORMED)
    if ethertype == ETHERTYPE_PPPOE:
        return ppp_layer(buf, at, end, PPP_ETHER)
    if ethertype == ETHERTYPE_BRIDGED:
        return (big16(buf, at + 12), at + 14) if end - at >= 14 else (0, -MALFORMED)
    if ethertype not in ETHERTYPES_MPLS:
        return 0, -OTHER
    for _ in range(MPLS_LIMIT):
        if end - at < 4:
            return 0, -MALFORMED
        at += 4
        if buf[at - 2] & 1:
            return version_layer(buf, at, end, OTHER)
    return 0, -MALFORMED


@kernel
def tunnel_layer(buf: NDArray[np.uint8], at: int, end: int, protocol: int) -> Any:
    """The layer that an IP packet carries whose payload begins at `at`."""
    if protocol == PROTOCOL_IPV4:
        return ETHERTYPE_IPV4, at
    if protocol == PROTOCOL_IPV6:
        return ETHERTYPE_IPV6, at
    if protocol == PROTOCOL_GRE:
        return gre_layer(buf, at, end)
    if protocol != PROTOCOL_UDP or end - at < UDP_HEADER:
        return 0, -OTHER
    if big16(buf, at) == DNS_PORT or big16(buf, at + 2) == DNS_PORT:
        return 0, -DNS
    port, at = big16(buf, at + 2), at + UDP_HEADER
    if port not in VXLAN_PORTS and port != VXLAN_GPE_PORT and port != GENEVE_PORT:
        return 0, -OTHER
    if end - at < VXLAN_HEADER:
        return 0, -MALFORMED
    if port == GENEVE_PORT:
        if buf[at] >> 6:
            return 0, -OTHER
        return big16(buf, at + 2), at + 8 + (buf[at] & 63) * 4
    if not buf[at] & VXLAN_HAS_ID:
        return 0, -OTHER
    if port == VXLAN_GPE_PORT and buf[at + 3] in (1, 2):
        return ETHERTYPE_IPV4 if buf[at + 3] == 1 else ETHERTYPE_IPV6, at + VXLAN_HEADER
    return ETHERTYPE_BRIDGED, at + VXLAN_HEADER


@kernel
def gre_layer(buf: NDArray[np.uint8], at: int, end: int) -> Any:
    """The layer on top of GRE with any of its optional fields but source routes, and of ERSPAN I, II and III in it."""
    if end - at < 4:
        return 0, -MALFORMED
    flags, ethertype = big16(buf, at), big16(buf, at + 2)
    if flags & 0x4007:
        return 0, -OTHER
    at += 4 + 4 * ((flags >> 15 & 1) + (flags >> 13 & 1) + (flags >> 12 & 1))
    if ethertype == ETHERTYPE_ERSPAN_2:
        return ETHERTYPE_BRIDGED, at + (8 if flags & 0x1000 else 0)
    if ethertype != ETHERTYPE_ERSPAN_3:
        return ethertype, at
    if end - at < 12:
        return 0, -MALFORMED
    frame, at = buf[at + 10] >> 2 & 31, at + (20 if buf[at + 11] & 1 else 12)
    if frame == 2:
        return version_layer(buf, at, end, OTHER)
    return (ETHERTYPE_BRIDGED, at) if frame == 0 else (0, -OTHER)


@kernel
def after_extensions(buf: NDArray[np.uint8], at: int, end: int, protocol: int) -> tuple[int, int]:
    """The payload after IPv6's extension headers: (protocol, place), or (-kind, 0)."""
    for _ in range(EXTENSION_LIMIT):
        if protocol not in PLAIN_EXTENSIONS and protocol != AUTHENTICATION and protocol != FRAGMENT:
            break
        if end - at < 8:
            return -MALFORMED, 0
        if protocol == FRAGMENT and big16(buf, at + 2) & 0xFFF9:
            return -IP_FRAGMENT if buf[at] in CARRIERS else -OTHER, 0
        if protocol == FRAGMENT:
            size = 8
        elif protocol == AUTHENTICATION:
            size = 8 + buf[at + 1] * 4
        else:
            size = 8 + buf[at + 1] * 8
        protocol, at = int(buf[at]), at + size
    return protocol, at
