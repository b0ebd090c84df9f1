"""Reads packets: link layer, IPv4 and IPv6 with the headers of mirrors and tunnels around them, and TCP.

The kernel finds the kind of every packet (SEGMENT and the other kinds of `layers`), and the beginning of the IP packet
of a fragment or of a DNS datagram. Rules: the payload's length comes from the IP header (Ethernet pads short frames),
or, if the IP header has 0 (segmentation offload), from the end of the layer around the IP packet; at least the 20 fixed
bytes of the TCP header have to be captured; payload is captured as far as both lengths reach. A segment inside tunnels
is the segment that was tunnelled, with the addresses of its own IP header. Sources: tcpdump.org's link-type list, RFC
791, 8200, 9293; for tunnels see `layers`.

Functions that run for every packet are inlined: passing arrays to a call costs more than the function itself.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import PacketArrays
from kafkascope_parsers.kernel_instruction import CACHE_LINE, prefetch
from kafkascope_parsers.kernels import inlined, kernel
from kafkascope_parsers.link.duplicates import is_copy
from kafkascope_parsers.link.layers import (
    CARRIERS,
    DNS,
    DUPLICATE,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    IP_FRAGMENT,
    MALFORMED,
    OTHER,
    PROTOCOL_TCP,
    SEGMENT,
    after_extensions,
    big16,
    big32,
    big64,
    network_layer,
    shim_layer,
    tunnel_layer,
)
from kafkascope_parsers.link.segments import DSACK, SEGMENT_ROW, SegmentArrays

__all__ = ["SEGMENT_ROW", "IpPlaces", "LinkState", "SegmentArrays", "read_packet", "read_packets"]

SEGMENT_LAYERS = 16
"""Steps from the link layer to TCP: IP headers, each with the tunnel header that it carries, and shims (MPLS, PPPoE, a
third VLAN tag). A mirrored packet of a pod network has 3."""

_AHEAD = 8
"""How many packets before it is read the headers of a packet are prefetched."""

IPV4_HEADER, IPV6_HEADER, TCP_HEADER = 20, 40, 20
TIMESTAMPED_HEADER = 32
"""A TCP header with timestamps as the only option, as all current systems send it."""


OPTION_END, OPTION_NOP, OPTION_SACK, OPTION_TIMESTAMPS = 0, 1, 5, 8
"""Kinds of TCP options (RFC 9293, 2018, 7323)."""
SACK_BLOCK = 8
"""Bytes of a SACK block: the sequence numbers of its first byte and of the one behind its last."""


class LinkState(NamedTuple):
    """State of the kernel: one RECENT_ROW, and one SEGMENT_ROW as scratch."""

    recent: NDArray[np.void]
    scratch: NDArray[np.void]


class PlacedPacket(NamedTuple):
    """A packet's place in the block, its bytes as captured and as on the wire, and its link type."""

    at: int
    caplen: int
    wirelen: int
    linktype: int


class IpPlaces(NamedTuple):
    """For each packet that is an IP_FRAGMENT or DNS, the place of its IP header in the block, and its number of bytes
    as captured and on the wire. int64; meaningless for other packets."""

    place: NDArray[np.int64]
    captured: NDArray[np.int64]
    length: NDArray[np.int64]


@inlined
def transport_layer(buf: NDArray[np.uint8], at: int, end: int, wire_end: int, ethertype: int) -> tuple[int, int, int]:
    """The payload of the IP packet at `at`: (protocol, its place, its end on the wire), or (-kind, 0, 0)."""
    if ethertype == ETHERTYPE_IPV4:
        if end - at < IPV4_HEADER or buf[at] >> 4 != 4:
            return -MALFORMED, 0, 0
        header = (buf[at] & 15) * 4
        total = big16(buf, at + 2)
        ip_end = at + total if total else wire_end
        if header < IPV4_HEADER or at + header > ip_end:
            return -MALFORMED, 0, 0
        protocol = int(buf[at + 9])
        if big16(buf, at + 6) & 0x3FFF:
            return -IP_FRAGMENT if protocol in CARRIERS else -OTHER, 0, 0
        return protocol, at + header, ip_end
    if end - at < IPV6_HEADER or buf[at] >> 4 != 6:
        return -MALFORMED, 0, 0
    total = big16(buf, at + 4)
    ip_end = at + IPV6_HEADER + total if total else wire_end
    protocol, at = int(buf[at + 6]), at + IPV6_HEADER
    if protocol != PROTOCOL_TCP:
        protocol, at = after_extensions(buf, at, end, protocol)
        if at > ip_end:
            return -MALFORMED, 0, 0
    return protocol, at, ip_end


@inlined
def read_addresses(buf: NDArray[np.uint8], at: int, ethertype: int, seg: Any) -> None:
    """Reads both addresses of the IP packet at `at`, and its part of the mark."""
    if ethertype == ETHERTYPE_IPV4:
        seg.source_high = seg.destination_high = np.uint64(0)
        seg.source_low = np.uint64(0xFFFF00000000) | np.uint64(big32(buf, at + 12))
        seg.destination_low = np.uint64(0xFFFF00000000) | np.uint64(big32(buf, at + 16))
        seg.mark = np.uint64(big16(buf, at + 4)) << np.uint64(48) | np.uint64(buf[at + 8]) << np.uint64(24)
    else:
        seg.source_high, seg.source_low = big64(buf, at + 8), big64(buf, at + 16)
        seg.destination_high, seg.destination_low = big64(buf, at + 24), big64(buf, at + 32)
        seg.mark = np.uint64(buf[at + 7]) << np.uint64(24)


@kernel
def reports_duplicate(buf: NDArray[np.uint8], at: int, end: int, ack: int) -> bool:
    """Whether the TCP options buf[at:end] report bytes that were received before: the first SACK block is below the
    acknowledgment number, or part of the second block (RFC 2883, 4)."""
    while end - at >= 2:
        kind, size = buf[at], int(buf[at + 1])
        if kind == OPTION_NOP:
            at += 1
            continue
        if kind == OPTION_END or size < 2 or size > end - at:
            return False
        if kind == OPTION_SACK and size >= 2 + SACK_BLOCK:
            first, behind = big32(buf, at + 2), big32(buf, at + 6)
            if is_before(first, ack):
                return True
            if size < 2 + 2 * SACK_BLOCK:
                return False
            return not is_before(first, big32(buf, at + 10)) and not is_before(big32(buf, at + 14), behind)
        at += size
    return False


@kernel
def is_before(one: int, other: int) -> bool:
    """Whether a sequence number comes before another; they wrap around."""
    return (one - other) & 0xFFFFFFFF > 0x7FFFFFFF


@inlined
def has_more_options(buf: NDArray[np.uint8], tcp: int, payload: int) -> bool:
    """Whether the TCP header has options besides timestamps, which nearly all segments have."""
    size = payload - tcp
    return size > TIMESTAMPED_HEADER or (size == TIMESTAMPED_HEADER and buf[tcp + 22] != OPTION_TIMESTAMPS)


@inlined
def read_tcp(buf: NDArray[np.uint8], tcp: int, end: int, ip_end: int, seg: Any) -> int:
    """Reads the TCP header at `tcp`; the mark already has the part of the IP header. Returns the kind."""
    if end - tcp < TCP_HEADER or ip_end - tcp < TCP_HEADER:
        return MALFORMED
    payload = tcp + (buf[tcp + 12] >> 4) * 4
    if payload < tcp + TCP_HEADER or payload > ip_end:
        return MALFORMED
    seg.source_port, seg.destination_port = big16(buf, tcp), big16(buf, tcp + 2)
    seg.seq, seg.ack = big32(buf, tcp + 4), big32(buf, tcp + 8)
    seg.tcp_flags, seg.window = buf[tcp + 13], big16(buf, tcp + 14)
    sent = 0
    if payload - tcp >= TIMESTAMPED_HEADER and end - tcp >= TIMESTAMPED_HEADER and not buf[tcp + 13] & 2:
        sent = big32(buf, tcp + 24) & 0xFFFFFF
    if not buf[tcp + 13] & 2 and payload <= end and has_more_options(buf, tcp, payload):
        seg.tcp_flags |= DSACK if reports_duplicate(buf, tcp + TCP_HEADER, payload, seg.ack) else 0
    seg.mark |= np.uint64(big16(buf, tcp + 16) << 32 | sent)
    seg.offset = min(payload, end)
    seg.captured = max(min(end, ip_end) - payload, 0)
    seg.length = ip_end - payload
    return SEGMENT


@inlined
def read_packet(buf: NDArray[np.uint8], packet: PlacedPacket, seg: Any) -> int:
    """Reads the packet into the record seg. Returns its kind; seg holds a segment, and of an IP_FRAGMENT or DNS the IP
    packet (see IpPlaces)."""
    at, caplen, wirelen, linktype = packet
    end, wire_end = at + caplen, at + wirelen
    if at < 0 or caplen < 0 or end > len(buf):
        return MALFORMED
    ethertype, at = network_layer(buf, at, end, linktype)
    for _ in range(SEGMENT_LAYERS):
        if at < 0:
            return int(-at)
        if ethertype not in (ETHERTYPE_IPV4, ETHERTYPE_IPV6):
            ethertype, at = shim_layer(buf, at, end, ethertype)
            continue
        seg.offset, seg.captured, seg.length = at, end - at, wire_end - at
        protocol, inner, ip_end = transport_layer(buf, at, end, wire_end, ethertype)
        if protocol == PROTOCOL_TCP:
            read_addresses(buf, at, ethertype, seg)
            return int(read_tcp(buf, inner, end, ip_end, seg))
        if protocol < 0:
            return int(-protocol)
        end, wire_end = min(end, ip_end), ip_end
        ethertype, at = tunnel_layer(buf, inner, end, protocol)
    return MALFORMED if at >= 0 else int(-at)


@inlined
def prefetch_headers(buf: NDArray[np.uint8], at: int) -> None:
    """Prefetches the headers of the packet at `at`: those of Ethernet, IP and TCP with timestamps are 66 bytes."""
    prefetch(buf, at)
    prefetch(buf, at + CACHE_LINE)


@kernel
def read_packets(
    buf: NDArray[np.uint8],
    p: PacketArrays,
    state: LinkState,
    kinds: NDArray[np.uint8],
    ip: IpPlaces,
    out: SegmentArrays,
) -> int:
    """Reads all packets: the kind of each into kinds and ip, segments into out, in order. Returns the number of
    segments."""
    n, seg, recent = 0, state.scratch[0], state.recent[0]
    for i in range(len(p.ts_ns)):
        prefetch_headers(buf, p.offset[min(i + _AHEAD, len(p.ts_ns) - 1)])
        kinds[i] = read_packet(buf, PlacedPacket(p.offset[i], p.caplen[i], p.wirelen[i], p.linktype[i]), seg)
        if kinds[i] == IP_FRAGMENT or kinds[i] == DNS:
            ip.place[i], ip.captured[i], ip.length[i] = seg.offset, seg.captured, seg.length
        if kinds[i] != SEGMENT:
            continue
        seg.ts_ns = p.ts_ns[i]
        if is_copy(seg, recent):
            kinds[i] = DUPLICATE
            continue
        out.ts_ns[n], out.packet_no[n] = p.ts_ns[i], p.packet_no[i]
        out.source[n, 0], out.source[n, 1] = seg.source_high, seg.source_low
        out.destination[n, 0], out.destination[n, 1] = seg.destination_high, seg.destination_low
        out.source_port[n], out.destination_port[n] = seg.source_port, seg.destination_port
        out.seq[n], out.ack[n], out.flags[n], out.window[n] = seg.seq, seg.ack, seg.tcp_flags, seg.window
        out.offset[n], out.captured[n], out.length[n], out.skipped[n] = seg.offset, seg.captured, seg.length, 0
        n += 1
    return n
