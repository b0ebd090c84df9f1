"""The header of an IP packet at a place that the kernel has found: of a fragment, or of a packet with a datagram.

The kernel has compared the headers with the end of what was captured. Sources: RFC 791, RFC 8200, RFC 4302.
"""

import struct
from dataclasses import dataclass

from kafkascope_parsers.link.layers import AUTHENTICATION, FRAGMENT, PLAIN_EXTENSIONS

_IPV4_HEADER, _IPV6_HEADER, _EXTENSION_HEADER = 20, 40, 8
_MAPPED_IPV4 = b"\0" * 10 + b"\xff\xff"


@dataclass(frozen=True, slots=True)
class IpPacket:
    """An IP packet. header: the fixed part; payload: as far as it was captured; length: bytes of the payload on the
    wire; fragment_at: where in the payload of the whole packet this one begins; more: whether other fragments follow.
    """

    header: bytes
    protocol: int
    payload: bytes
    length: int
    identification: int = 0
    fragment_at: int = 0
    more: bool = False

    @property
    def is_ipv4(self) -> bool:
        """Whether the header is that of IPv4; else it is that of IPv6."""
        return len(self.header) == _IPV4_HEADER

    @property
    def source(self) -> bytes:
        """The source address, 16 bytes, IPv4 as ::ffff:a.b.c.d."""
        return _MAPPED_IPV4 + self.header[12:16] if self.is_ipv4 else self.header[8:24]

    @property
    def destination(self) -> bytes:
        """The destination address, 16 bytes, IPv4 as ::ffff:a.b.c.d."""
        return _MAPPED_IPV4 + self.header[16:20] if self.is_ipv4 else self.header[24:40]

    def whole(self, payload: bytes) -> bytes:
        """The packet of which this is the first fragment, without options and extension headers. Its length is 0, which
        means all bytes that follow: the whole packet may be longer than the 16 bits of the field allow."""
        header, protocol = self.header, bytes([self.protocol])
        if self.is_ipv4:
            return (
                b"\x45" + header[1:2] + b"\0\0" + header[4:6] + b"\0\0" + header[8:9] + protocol + header[10:] + payload
            )
        return header[:4] + b"\0\0" + protocol + header[7:] + payload


def read_ip_packet(data: bytes, wire_length: int) -> IpPacket:
    """Reads the IP packet at the beginning of data. wire_length: of data, where the header does not say the length."""
    return _ipv4(data, wire_length) if data[0] >> 4 == 4 else _ipv6(data, wire_length)


def _ipv4(data: bytes, wire_length: int) -> IpPacket:
    total, identification, place = struct.unpack_from("!2xHHH", data)
    at, end = (data[0] & 15) * 4, total or wire_length
    fragment_at, more = (place & 0x1FFF) * 8, bool(place & 0x2000)
    return IpPacket(data[:_IPV4_HEADER], data[9], data[at:end], end - at, identification, fragment_at, more)


def _ipv6(data: bytes, wire_length: int) -> IpPacket:
    length, protocol = struct.unpack_from("!4xHB", data)
    at, end = _IPV6_HEADER, _IPV6_HEADER + length if length else wire_length
    identification = place = 0
    while protocol in (*PLAIN_EXTENSIONS, AUTHENTICATION, FRAGMENT) and not place & 0xFFF9:
        unit = {AUTHENTICATION: 4, FRAGMENT: 0}.get(protocol, 8)
        if protocol == FRAGMENT:
            place, identification = struct.unpack_from("!2xHI", data, at)
        protocol, at = data[at], at + _EXTENSION_HEADER + data[at + 1] * unit
    payload = data[at:end]
    return IpPacket(data[:_IPV6_HEADER], protocol, payload, end - at, identification, place & 0xFFF8, bool(place & 1))
