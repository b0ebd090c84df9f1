"""Reads captures with struct and dpkt: an oracle for pieces that knows nothing of the program."""

import struct
from pathlib import Path
from typing import NamedTuple

import dpkt
import zstandard

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
LEADER_MOVE = CAPTURES / "leader_move.pcap.zst"


class Packet(NamedTuple):
    ts_ns: int
    wirelen: int
    data: bytes
    linktype: int
    comments: tuple[str, ...] = ()


class Piece(NamedTuple):
    comment: str
    application: str
    packets: list[Packet]
    linktypes: list[int]

    @property
    def plain(self) -> list[Packet]:
        return [packet._replace(comments=()) for packet in self.packets]


def unpacked(path: Path) -> bytes:
    with path.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


def pcap_packets(data: bytes) -> list[Packet]:
    """Packets of a little-endian pcap, micro- or nanoseconds, as the pcap draft has them."""
    unit = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}[struct.unpack_from("<I", data)[0]]
    (linktype,) = struct.unpack_from("<I", data, 20)
    found, at = [], 24
    while at + 16 <= len(data):
        seconds, part, caplen, wirelen = struct.unpack_from("<IIII", data, at)
        body = data[at + 16 : at + 16 + caplen]
        found.append(Packet(seconds * 10**9 + part * unit, wirelen, body, linktype))
        at += 16 + caplen
    return found


def pcapng_packets(data: bytes) -> Piece:
    """A little-endian pcapng of one section with enhanced packet blocks and nanoseconds, as the draft has it."""
    interfaces: list[int] = []
    packets: list[Packet] = []
    section: dict[int, list[bytes]] = {}
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        body = data[at + 8 : at + length - 4]
        if kind == 0x0A0D0D0A:
            assert struct.unpack_from("<IHHq", body) == (0x1A2B3C4D, 1, 0, -1)
            section = options(body[16:])
        elif kind == 1:
            assert options(body[8:])[9] == [b"\x09"]
            interfaces.append(struct.unpack_from("<H", body)[0])
        elif kind != 4:
            assert kind == 6
            interface, high, low, caplen, wirelen = struct.unpack_from("<IIIII", body)
            rest = 20 + (caplen + 3) // 4 * 4
            texts = tuple(text.decode() for text in options(body[rest:]).get(1, []))
            captured = body[20 : 20 + caplen]
            packets.append(Packet(high << 32 | low, wirelen, captured, interfaces[interface], texts))
        at += length
    return Piece(section[1][0].decode(), section[4][0].decode(), packets, interfaces)


def options(data: bytes) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found.setdefault(code, []).append(data[at + 4 : at + 4 + length])
        at += 4 + (length + 3) // 4 * 4
    return found


def ends(packet: Packet) -> frozenset[tuple[bytes, int]]:
    """Both ends of a packet's TCP connection, as dpkt reads them; none where it is not TCP."""
    ip = dpkt.ethernet.Ethernet(packet.data).data
    tcp = getattr(ip, "data", None)
    if not isinstance(tcp, dpkt.tcp.TCP):
        return frozenset()
    return frozenset({(ip.src, tcp.sport), (ip.dst, tcp.dport)})
