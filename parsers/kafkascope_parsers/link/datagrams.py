"""UDP datagrams of port 53, which tell what names stand for."""

from dataclasses import dataclass

DNS_PORT = 53
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
    ts_ns: int = 0
    packet_no: int = 0
