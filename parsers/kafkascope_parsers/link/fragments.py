"""Joins IP fragments that may carry TCP. If fragments overlap, the first data is used. Packets that are incomplete at a
limit are given up.

Time is that of the packets. A packet that has become whole is remembered for a while, so that copies of its fragments
(see `duplicates`) do not begin another one.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from kafkascope_parsers.link.duplicates import COPY_NS
from kafkascope_parsers.link.ip_packet import IpPacket

PACKET_LIMIT = 1024
"""Incomplete packets kept, and those just completed."""

BYTES_LIMIT = 32 << 20
"""Bytes of incomplete packets kept; the oldest are given up."""

PARTS_LIMIT = 1400
"""Fragments of one packet: 64 kB over the smallest MTU there may be, 68 bytes (RFC 791)."""

SIZE_LIMIT = 2 * 0xFFFF
"""Bytes of one packet's fragments; more than 64 kB are possible only if they overlap."""

TIMEOUT_NS = 30_000_000_000
"""As in Linux (ipfrag_time). After that time the identification belongs to another packet."""


@dataclass(slots=True)
class _Packet:
    ts_ns: int
    parts: dict[tuple[int, int], bytes] = field(default_factory=dict)
    first: IpPacket | None = None
    size: int = 0
    end: int = -1
    done: bool = False


_Key = tuple[bytes, bytes, int, int]


class Fragments:
    """Incomplete IP packets, oldest first. n_given_up counts those that never became whole, n_over_limit those of them
    that were given up at a limit; n_copies fragments of packets that were whole already."""

    def __init__(self) -> None:
        self._packets: OrderedDict[_Key, _Packet] = OrderedDict()
        self._bytes = 0
        self.n_given_up = 0
        self.n_over_limit = 0
        self.n_copies = 0

    def __len__(self) -> int:
        return len(self._packets)

    def add(self, ip: IpPacket, ts_ns: int) -> bytes | None:
        """Takes a fragment. Returns the whole IP packet when this was its last missing fragment, else None."""
        self._forget_before(ts_ns - TIMEOUT_NS)
        key = (ip.source, ip.destination, ip.protocol, ip.identification)
        packet = self._packet(key, ts_ns)
        if packet.done:
            self.n_copies += 1
            return None
        end = ip.fragment_at + len(ip.payload)
        over = len(packet.parts) >= PARTS_LIMIT or packet.size > SIZE_LIMIT
        if end > 0xFFFF or len(ip.payload) != ip.length or over:
            self.n_over_limit += over
            self._drop(key)
            return None
        self._take(packet, ip, end)
        # joining is tried only when there are enough bytes; otherwise the time for many small parts would be quadratic
        whole = _joined(packet) if packet.first is not None and 0 <= packet.end <= packet.size else None
        if whole is not None and packet.first is not None:
            self._bytes -= packet.size
            self._packets[key] = _Packet(ts_ns, done=True)
            return packet.first.whole(whole)
        if len(self._packets) > PACKET_LIMIT or self._bytes > BYTES_LIMIT:
            oldest = next(iter(self._packets))
            self.n_over_limit += not self._packets[oldest].done
            self._drop(oldest)
        return None

    def _packet(self, key: _Key, ts_ns: int) -> _Packet:
        packet = self._packets.get(key)
        if packet is not None and packet.done and abs(ts_ns - packet.ts_ns) > COPY_NS:
            self._drop(key)
            packet = None
        if packet is None:
            packet = self._packets[key] = _Packet(ts_ns)
        return packet

    def _take(self, packet: _Packet, ip: IpPacket, end: int) -> None:
        if ip.fragment_at == 0 and packet.first is None:
            packet.first = ip
        if not ip.more and packet.end < 0:
            packet.end = end
        if packet.parts.setdefault((ip.fragment_at, end), ip.payload) is ip.payload:
            packet.size += len(ip.payload)
            self._bytes += len(ip.payload)

    def _forget_before(self, ts_ns: int) -> None:
        while self._packets and (oldest := next(iter(self._packets.items())))[1].ts_ns < ts_ns:
            self._drop(oldest[0])

    def _drop(self, key: _Key) -> None:
        packet = self._packets.pop(key)
        self._bytes -= packet.size
        self.n_given_up += not packet.done


def _joined(packet: _Packet) -> bytes | None:
    """All parts in order, or None while one is missing."""
    reached = 0
    for start, end in sorted(packet.parts):
        if start > reached:
            return None
        reached = max(reached, end)
    if reached < packet.end:
        return None
    whole = bytearray(reached)
    for (start, end), data in reversed(packet.parts.items()):
        whole[start:end] = data
    return bytes(whole[: packet.end])
