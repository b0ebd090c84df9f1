"""Changes of a scene below its messages: TCP, links and tunnels, clocks, DNS."""

import random
import struct
from collections.abc import Callable
from dataclasses import replace

from benchmarks.farm.mutations import mutated
from benchmarks.farm.rendering import ethernet, ipv4, talk_packets
from benchmarks.farm.scene import ACK, FIN, PUSH, RST, SYN, Packet, Scene, Talk
from benchmarks.farm.scene_messages import some_talks

_IP, _TCP = 14, 34
_SEQUENCES = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 500)


def odd_tcp(r: random.Random, scene: Scene) -> None:
    """Sequence numbers that wrap, overlaps, retransmissions with other bytes, resets with data, keep-alives, zero
    windows, segments lost, twice, late, tiny, and behind the end."""
    for talk in some_talks(r, scene):
        number = scene.talks.index(talk)
        sequences = r.choice(_SEQUENCES), r.choice(_SEQUENCES)
        packets = talk_packets(talk, number, r.choice((1448, 1448, 100, 7, 9000)), sequences)
        for _ in range(r.choice((1, 2, 5, 20))):
            if packets:
                r.choice(TCP_CHANGES)(r, packets, talk)
        if packets and r.random() < 0.3:
            _cut_short(r, packets)
        scene.others += packets
        talk.steps, talk.is_changed = [], True


def _again(r: random.Random, packets: list[Packet], talk: Talk) -> None:
    """A segment comes again: later, with other bytes, longer or shorter, or shifted by some bytes."""
    packet = r.choice(packets)
    raw = bytearray(packet.raw)
    if len(raw) > _TCP + 20:
        for _ in range(r.choice((0, 1, 5))):
            raw[r.randrange(_TCP + 20, len(raw))] ^= 0xFF
    shift = r.choice((0, 0, 1, -1, 100, -100, 2**31))
    raw[_TCP + 4 : _TCP + 8] = ((int.from_bytes(raw[_TCP + 4 : _TCP + 8], "big") + shift) % 2**32).to_bytes(4, "big")
    late_ns = r.choice((0, 1000, 10**6, 10**9, 10**11))
    packets.append(replace(packet, ts_ns=packet.ts_ns + late_ns, raw=_fit(bytes(raw))))


def _lose(r: random.Random, packets: list[Packet], talk: Talk) -> None:
    at = r.randrange(len(packets))
    del packets[at : at + r.choice((1, 1, 3, 50))]


def _swap(r: random.Random, packets: list[Packet], talk: Talk) -> None:
    a, b = r.randrange(len(packets)), r.randrange(len(packets))
    packets[a], packets[b] = replace(packets[a], ts_ns=packets[b].ts_ns), replace(packets[b], ts_ns=packets[a].ts_ns)


def _flags(r: random.Random, packets: list[Packet], talk: Talk) -> None:
    """Other flags: a reset or a FIN with data, a SYN in the middle, all of them, none."""
    at = r.randrange(len(packets))
    raw = bytearray(packets[at].raw)
    raw[_TCP + 13] = r.choice((0, 0xFF, RST, RST | ACK | PUSH, SYN, SYN | ACK, FIN | ACK | PUSH, SYN | FIN | RST, ACK))
    packets[at] = replace(packets[at], raw=bytes(raw))


def _number(r: random.Random, packets: list[Packet], talk: Talk) -> None:
    """A number of the TCP header at a limit: sequence, acknowledgement, window, offset, ports."""
    at = r.randrange(len(packets))
    raw = bytearray(packets[at].raw)
    place, size = r.choice(((4, 4), (8, 4), (14, 2), (12, 1), (0, 2), (2, 2), (18, 2)))
    raw[_TCP + place : _TCP + place + size] = r.choice((bytes(size), b"\xff" * size, r.randbytes(size)))
    packets[at] = replace(packets[at], raw=bytes(raw))


def _keep_alive(r: random.Random, packets: list[Packet], talk: Talk) -> None:
    """A segment one byte before what was sent, with or without that byte; a window of zero."""
    packet = r.choice(packets)
    sequence = (int.from_bytes(packet.raw[_TCP + 4 : _TCP + 8], "big") - 1) % 2**32
    acknowledged = int.from_bytes(packet.raw[_TCP + 8 : _TCP + 12], "big")
    raw = bytearray(ethernet(talk, r.randrange(2), (sequence, acknowledged), ACK, r.choice((b"", b"\0"))))
    if r.random() < 0.5:
        raw[_TCP + 14 : _TCP + 16] = bytes(2)
    packets.append(replace(packet, ts_ns=packet.ts_ns + 10**9, raw=bytes(raw)))


def _same_ends(r: random.Random, packets: list[Packet], talk: Talk) -> None:
    """The conversation once more, from the same port, over the first one or behind it."""
    later = r.choice((0, 10**6, 10**10))
    packets += [replace(packet, ts_ns=packet.ts_ns + later) for packet in packets[: r.choice((3, 10, len(packets)))]]


def _cut_short(r: random.Random, packets: list[Packet]) -> None:
    """A packet has only its first bytes. Comes last: the other changes want whole headers."""
    at = r.randrange(len(packets))
    packets[at] = replace(packets[at], raw=packets[at].raw[: r.randrange(len(packets[at].raw))])


TCP_CHANGES: list[Callable[[random.Random, list[Packet], Talk], None]] = [
    _again, _again, _lose, _swap, _flags, _number, _keep_alive, _same_ends,
]  # fmt: skip


def _fit(raw: bytes) -> bytes:
    """The packet with the length of its IP header as long as it is."""
    return raw[:16] + struct.pack(">H", min(0xFFFF, len(raw) - _IP)) + raw[18:]


def odd_clock(r: random.Random, scene: Scene) -> None:
    """Times jump back and ahead, to 1970, to 2038 and to the largest value of 32 bits of seconds; or all are the
    same."""
    talks = some_talks(r, scene)
    jumps = (-(10**9), 10**9, -(2**62), 2**61, -1_700_000_000 * 10**9, 2**32 * 10**9, 3600 * 10**9, -86400 * 10**9)
    for talk in talks:
        first, jump = r.randrange(len(talk.steps) + 1), r.choice(jumps)
        last = r.choice((len(talk.steps), first + 1, first + 5))
        for step in talk.steps[first:last]:
            step.ts_ns = talk.steps[0].ts_ns if jump == -(2**62) else step.ts_ns + jump
        talk.is_changed = True
    for talk in scene.talks:
        talk.is_changed = True  # what waits for a packet is settled by the clock of the whole capture


def odd_names(r: random.Random, scene: Scene) -> None:
    """DNS over UDP: questions and answers, mutated, of hostile names, for the servers of the scene and others."""
    if not scene.talks:
        return
    for _ in range(r.choice((1, 5, 30))):
        talk = r.choice(scene.talks)
        client, _, server, _ = talk.ends
        ts_ns = talk.steps[0].ts_ns if talk.steps else 0
        number, port = r.randrange(65536), r.choice((0, 53, 40000, 65535))
        name = (
            b"".join(bytes([len(label)]) + label for label in r.choice(_NAMES).split(b".") if len(label) < 64) + b"\0"
        )
        question = name + struct.pack(">HH", r.choice((1, 28, 5, 255, 0)), r.choice((1, 0x8001, 255)))
        ask = struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + question
        record = b"\xc0\x0c" + struct.pack(">HHIH", r.choice((1, 28, 5, 16)), 1, r.choice((0, 2**32 - 1)), 4) + server
        answers = r.choice((0, 1, 1, 3, 300))
        reply = struct.pack(">HHHHHH", number, r.choice((0x8180, 0x8183, 0x818F)), 1, answers, 0, 0)
        reply += question + record * min(answers, 20)
        for late, (here, there, source, target, raw) in enumerate(
            ((client, b"\x0a\0\0\x35", port, 53, ask), (b"\x0a\0\0\x35", client, 53, port, reply))
        ):
            content = mutated(r, raw) if r.random() < 0.4 else raw
            udp = struct.pack(">HHHH", source, target, 8 + len(content), 0) + content
            packet = b"\2" * 12 + b"\x08\0" + ipv4(here, there, 17, udp)
            scene.others.append(Packet(ts_ns + late * 10**6, packet))


_NAMES = (
    b"kafka-1.example",
    b"a.b.c.d.e.f.g",
    b"\xff\xfe.\x00.x",
    b"x" * 63 + b"." + b"y" * 63,
    b"=cmd().</script>",
    b"-1",
    b"..",
    b"",
    "\u202ename.²".encode(),
)


def odd_links(r: random.Random, scene: Scene) -> None:
    """Conversations in VLANs, MPLS, PPPoE, GRE, VXLAN, IP in IP and fragments, some of them broken."""
    for talk in some_talks(r, scene):
        wrap = r.choice(WRAPPINGS)
        packets = talk_packets(talk, scene.talks.index(talk))
        wrapped = [replace(packet, raw=raw) for packet in packets for raw in wrap(r, packet.raw)]
        for _ in range(r.choice((0, 1, 5))):
            at = r.randrange(len(wrapped)) if wrapped else 0
            if wrapped:
                head = bytearray(wrapped[at].raw)
                place = r.randrange(12, min(80, len(head)))
                head[place] = r.choice((0, 0xFF, 0x45, 0x60, r.randrange(256)))
                wrapped[at] = replace(wrapped[at], raw=bytes(head))
        scene.others += wrapped
        talk.steps, talk.is_changed = [], True


def vlan(r: random.Random, raw: bytes) -> list[bytes]:
    tag = struct.pack(">HH", r.choice((0x8100, 0x88A8, 0x9100)), r.choice((7, 0, 0xFFFF)))
    return [raw[:12] + tag * r.choice((1, 2, 3)) + raw[12:]]


def mpls(r: random.Random, raw: bytes) -> list[bytes]:
    labels = [r.randrange(1 << 20) << 12 | 64 for _ in range(r.choice((1, 2, 16, 17)))]
    labels[-1] |= 0x100
    return [raw[:12] + b"\x88\x47" + b"".join(label.to_bytes(4, "big") for label in labels) + raw[14:]]


def pppoe(r: random.Random, raw: bytes) -> list[bytes]:
    session = struct.pack(">BBHH", 0x11, 0, 1, r.choice((len(raw) - 12, 0, 0xFFFF))) + b"\0\x21"
    return [raw[:12] + b"\x88\x64" + session + raw[14:]]


def gre(r: random.Random, raw: bytes) -> list[bytes]:
    flags, more = r.choice(((0, b""), (0x2000, b"\0\0\0\1"), (0xB000, bytes(12)), (0x4000, bytes(8)), (7, b"")))
    inner = r.choice(
        (struct.pack(">HH", flags, 0x0800) + more + raw[14:], struct.pack(">HH", flags, 0x6558) + more + raw)
    )
    return [raw[:14] + ipv4(b"\xac\x10\0\1", b"\xac\x10\0\2", 47, inner)]


def vxlan(r: random.Random, raw: bytes) -> list[bytes]:
    port, head = r.choice(
        (
            (4789, b"\x08\0\0\0\0\0\7\0"),
            (8472, bytes(8)),
            (4790, b"\x0c\0\0\3\0\0\7\0"),
            (6081, b"\3\0\x65\x58\0\0\7\0" + bytes(12)),
        )
    )
    udp = struct.pack(">HHHH", 50000, port, 8 + len(head) + len(raw), 0) + head + raw
    return [raw[:14] + ipv4(b"\xac\x10\0\1", b"\xac\x10\0\2", 17, udp)]


def in_ip(r: random.Random, raw: bytes) -> list[bytes]:
    inner = raw[14:]
    for _ in range(r.choice((1, 2, 9))):
        inner = ipv4(b"\xac\x10\0\1", b"\xac\x10\0\2", 4, inner)
    return [raw[:14] + inner]


def in_ipv6(r: random.Random, raw: bytes) -> list[bytes]:
    """TCP over IPv6, behind extension headers, some of them fragments."""
    tcp, kind = raw[_TCP:], 6
    for _ in range(r.choice((0, 1, 3, 17))):
        header = r.choice((0, 43, 60, 51, 44, 135))
        length = 1 if header == 51 else 0
        tcp, kind = (
            struct.pack(">BB", kind, length) + r.choice((bytes(6), b"\0\1\0\0\0\7")) + bytes(4 if length else 0) + tcp,
            header,
        )
    head = struct.pack(">IHBB", 0x60000000, min(0xFFFF, len(tcp)), kind, 64)
    return [raw[:12] + b"\x86\xdd" + head + bytes(12) + raw[26:30] + bytes(12) + raw[30:34] + tcp]


def fragments(r: random.Random, raw: bytes) -> list[bytes]:
    """IPv4 fragments: in order, reversed, overlapping, one missing, or beyond the longest packet."""
    payload, size = raw[_TCP:], r.choice((8, 24, 64, 512))
    number = r.choice((0, r.randrange(65536)))
    parts = []
    for at in range(0, len(payload), size):
        piece = payload[at : at + size + (8 if r.random() < 0.1 else 0)]
        more = 0x2000 if at + size < len(payload) else 0
        offset = (at // 8 if r.random() > 0.02 else 8191) | more
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(piece), number, offset, 64, 6, 0)
        parts.append(raw[:14] + head + raw[26:34] + piece)
    order = r.randrange(4)
    if order == 1:
        parts.reverse()
    elif order == 2:
        r.shuffle(parts)
    elif order == 3:
        parts = parts[:-1]
    return parts


WRAPPINGS: list[Callable[[random.Random, bytes], list[bytes]]] = [
    vlan, mpls, pppoe, gre, vxlan, in_ip, in_ipv6, fragments,
]  # fmt: skip
