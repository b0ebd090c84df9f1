"""A capture as conversations that can be changed: TCP connections as frames in order of time, and all other packets.

Connections are taken apart where the capture has them whole: Ethernet, IPv4, TCP without IP options, the SYN, every
byte. Others stay the packets that they are.
"""

import struct
from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.farm.message_tree import NotReadError, Tree, read_tree
from benchmarks.tiling import load_packets

from kafkascope_parsers.schema import API_VERSION_RANGE, message_type

FIN, SYN, RST, PUSH, ACK = 1, 2, 4, 8, 16
_FRAME_LIMIT = 1 << 20

Ends = tuple[bytes, int, bytes, int]
"""Client address and port, server address and port."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet of Ethernet, and the number of its conversation in the scene (-1: none)."""

    ts_ns: int
    raw: bytes
    talk: int = -1


@dataclass(slots=True)
class Step:
    """Bytes that one side sends at once: a frame with its size, other bytes of the stream, or a segment with flags
    alone.

    api: key and version, of a frame whose request is known; at_once: whether it goes into one segment.
    """

    ts_ns: int
    side: int
    raw: bytes
    flags: int = 0
    api: tuple[int, int] | None = None

    @property
    def direction(self) -> str:
        return "response" if self.side else "request"

    @property
    def correlation_id(self) -> bytes:
        """As on the wire; of a frame whose request is known."""
        return self.raw[4:8] if self.side else self.raw[8:12]

    def tree(self) -> Tree | None:
        """Its fields; None if it cannot be read."""
        if self.api is None:
            return None
        message = message_type(self.api[0], self.direction)
        try:
            return read_tree(message, self.raw[4:], self.api[1]) if message is not None else None
        except NotReadError:
            return None


@dataclass(slots=True)
class Talk:
    """A connection. is_changed: whether it is no longer what the capture had."""

    ends: Ends
    macs: bytes
    steps: list[Step] = field(default_factory=list)
    is_changed: bool = False

    def frames(self) -> list[int]:
        """The places of the frames whose request is known."""
        return [i for i, step in enumerate(self.steps) if step.api is not None]


@dataclass(slots=True)
class Scene:
    """A capture."""

    name: str
    talks: list[Talk]
    others: list[Packet]

    def copy(self) -> "Scene":
        """One whose conversations may be changed."""
        talks = [replace(talk, steps=[replace(step) for step in talk.steps]) for talk in self.talks]
        return Scene(self.name, talks, list(self.others))


@dataclass(frozen=True, slots=True)
class _Segment:
    ts_ns: int
    to_server: bool
    sequence: int
    flags: int
    payload: bytes


@cache
def load_scene(path: Path) -> Scene:
    """The scene of a capture; not to be changed (`copy`)."""
    packets = load_packets(path)
    flows: dict[Ends, list[_Segment]] = defaultdict(list)
    packets_of: dict[Ends, list[Packet]] = defaultdict(list)
    macs: dict[Ends, bytes] = {}
    others = []
    for at, caplen, ts_ns, linktype in zip(
        packets.at.tolist(), packets.caplen.tolist(), packets.ts_ns.tolist(), packets.linktype.tolist(), strict=True
    ):
        packet = Packet(ts_ns, packets.data[at : at + caplen].tobytes())
        found = _segment(packet) if linktype == 1 else None
        if found is None:
            others += [packet] if linktype == 1 else []
            continue
        ends, segment = found
        flows[ends].append(segment)
        packets_of[ends].append(packet)
        if segment.to_server:
            macs.setdefault(ends, packet.raw[:12])
    talks = []
    for ends, segments in flows.items():
        talk = _talk(ends, segments, macs.get(ends, bytes(12)))
        if talk is None:
            others += packets_of[ends]
        else:
            talks.append(talk)
    return Scene(path.name.partition(".")[0], talks, others)


def tcp_ends(packet: Packet) -> Ends | None:
    """The ends of a packet of plain IPv4 and TCP, the higher port first; None of another packet."""
    found = _segment(packet)
    return found[0] if found is not None else None


def _segment(packet: Packet) -> tuple[Ends, _Segment] | None:
    raw = packet.raw
    if len(raw) < 54 or raw[12:15] != b"\x08\0\x45" or raw[23] != 6 or raw[20] & 0x3F or raw[21]:
        return None
    length = int.from_bytes(raw[16:18], "big")
    source, target, sequence, _, offset, flags = struct.unpack(">HHIIBB", raw[34:48])
    header = 34 + (offset >> 4) * 4
    if 14 + length > len(raw) or header > 14 + length:
        return None
    here, there = raw[26:30], raw[30:34]
    to_server = target < source
    ends = (here, source, there, target) if to_server else (there, target, here, source)
    return ends, _Segment(packet.ts_ns, to_server, sequence, flags, raw[header : 14 + length])


def _talk(ends: Ends, segments: list[_Segment], macs: bytes) -> Talk | None:
    """The connection; None if bytes or the SYN are missing, or if there are several of the same ends."""
    steps: list[Step] = []
    for side in (0, 1):
        mine = [s for s in segments if s.to_server != bool(side)]
        syns = {s.sequence for s in mine if s.flags & SYN}
        if len(syns) != 1:
            return None
        first = syns.pop()
        steps += [Step(s.ts_ns, side, b"", s.flags) for s in mine if s.flags & (SYN | RST)][:2]
        stream, arrivals = bytearray(), []
        for s in sorted((s for s in mine if s.payload), key=lambda s: ((s.sequence - first - 1) & 0xFFFFFFFF, s.ts_ns)):
            offset = (s.sequence - first - 1) & 0xFFFFFFFF
            if offset > len(stream):
                return None
            stream += s.payload[len(stream) - offset :]
            arrivals.append((len(stream), s.ts_ns))
        steps += _cut(bytes(stream), arrivals, side)
        steps += [Step(s.ts_ns, side, b"", FIN) for s in mine if s.flags & FIN][:1]
    steps.sort(key=lambda step: step.ts_ns)
    _name_frames(steps)
    return Talk(ends, macs, steps)


def _cut(stream: bytes, arrivals: list[tuple[int, int]], side: int) -> list[Step]:
    """The frames of a direction, each at the time of its last byte; bytes that are not frames are one step."""
    steps, at, waiting = [], 0, deque(arrivals)
    while at < len(stream):
        size = int.from_bytes(stream[at : at + 4], "big")
        end = at + 4 + size if 0 < size <= _FRAME_LIMIT and at + 4 + size <= len(stream) else len(stream)
        while len(waiting) > 1 and waiting[0][0] < end:
            waiting.popleft()
        steps.append(Step(waiting[0][1], side, stream[at:end]))
        at = end
    return steps


def _name_frames(steps: list[Step]) -> None:
    """Finds the API of each frame, by the header of its request."""
    asked: dict[bytes, tuple[int, int]] = {}
    for step in steps:
        if not step.raw or len(step.raw) < 8 or int.from_bytes(step.raw[:4], "big") != len(step.raw) - 4:
            continue
        if step.side == 0 and len(step.raw) >= 14:
            key, version = struct.unpack(">hh", step.raw[4:8])
            known = 0 <= key < len(API_VERSION_RANGE)
            if known and API_VERSION_RANGE[key][0] <= version <= API_VERSION_RANGE[key][1]:
                step.api = asked[step.correlation_id] = (key, version)
        elif step.side == 1:
            step.api = asked.pop(step.correlation_id, None)


def address(raw: bytes) -> str:
    return ".".join(map(str, raw))


def ends_of(talk: Talk) -> tuple[Any, ...]:
    """Client address and port, server address and port, as the tables have them."""
    client, client_port, server, server_port = talk.ends
    return address(client), client_port, address(server), server_port
