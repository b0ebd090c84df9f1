"""UDP datagrams of port 53: DNS queries and responses."""

import struct
from dataclasses import dataclass

from kafkascope_parsers.link.ip_packet import IpPacket
from kafkascope_parsers.link.layers import UDP_HEADER

DATAGRAM_LIMIT = 200_000
"""Datagrams of one capture that are read: each costs Python some microseconds; Kafka's clients ask a few hundred."""


@dataclass(frozen=True, slots=True)
class Datagram:
    """A UDP datagram. source, destination: 16 bytes, IPv4 as ::ffff:a.b.c.d; payload: as far as it was captured."""

    source: bytes
    destination: bytes
    source_port: int
    destination_port: int
    payload: bytes
    ts_ns: int
    packet_no: int


def read_datagram(ip: IpPacket, ts_ns: int, packet_no: int) -> Datagram:
    """The datagram that an IP packet carries, whose UDP header was captured (RFC 768)."""
    source_port, destination_port, length = struct.unpack_from("!HHH", ip.payload)
    payload = ip.payload[UDP_HEADER : length or None]
    return Datagram(ip.source, ip.destination, source_port, destination_port, payload, ts_ns, packet_no)
