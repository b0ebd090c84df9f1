"""Puts IP fragments that carry TCP together. First data wins where fragments overlap; what is incomplete at a limit is
given up."""

from collections import OrderedDict
from dataclasses import dataclass, field

from kafkascope_parsers.link.odd import Fragment

PACKET_LIMIT = 1024
"""Incomplete packets kept. A 64 kB packet each makes 64 MiB at most."""

PARTS_LIMIT = 8192
"""Fragments of one packet: 64 kB in pieces of 8 bytes."""


@dataclass(slots=True)
class _Packet:
    parts: dict[int, bytes] = field(default_factory=dict)
    end: int = -1


class Fragments:
    """Incomplete IP packets, oldest first. n_given_up counts those that never became whole."""

    def __init__(self) -> None:
        self._packets: OrderedDict[tuple[bytes, bytes, int], _Packet] = OrderedDict()
        self.n_given_up = 0

    def __len__(self) -> int:
        return len(self._packets)

    def add(self, fragment: Fragment) -> bytes | None:
        """Takes a fragment; gives what the IP packet carries once it is whole."""
        key = (fragment.source, fragment.destination, fragment.identification)
        packet = self._packets.setdefault(key, _Packet())
        if fragment.at + len(fragment.data) > 0xFFFF or not fragment.whole or len(packet.parts) >= PARTS_LIMIT:
            del self._packets[key]
            self.n_given_up += 1
            return None
        packet.parts.setdefault(fragment.at, fragment.data)
        if not fragment.more:
            packet.end = fragment.at + len(fragment.data)
        whole = _joined(packet) if packet.end >= 0 else None
        if whole is not None:
            del self._packets[key]
        elif len(self._packets) > PACKET_LIMIT:
            self._packets.popitem(last=False)
            self.n_given_up += 1
        return whole


def _joined(packet: _Packet) -> bytes | None:
    """All parts in order, or None while one is missing."""
    whole = bytearray()
    for at in sorted(packet.parts):
        if at > len(whole):
            return None
        whole += packet.parts[at][len(whole) - at :]
    return bytes(whole[: packet.end]) if len(whole) >= packet.end else None
