"""Conversations back into packets: sequence numbers, acknowledgements and lengths fit, checksums are zero."""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.farm.scene import ACK, FIN, PUSH, RST, SYN, Packet, Scene, Talk

MSS = 1448
FIRST_SEQUENCES = (1000, 5000)


def packets_of(scene: Scene, mss: int = MSS) -> list[Packet]:
    """All packets of a scene in order of time."""
    packets = list(scene.others)
    for number, talk in enumerate(scene.talks):
        packets += talk_packets(talk, number, mss)
    return sorted(packets, key=lambda packet: packet.ts_ns)


def talk_packets(talk: Talk, number: int, mss: int = MSS, sequences: Sequence[int] = FIRST_SEQUENCES) -> list[Packet]:
    """The packets of a conversation. sequences: the initial sequence number of each side."""
    packets: list[Packet] = []
    sequence, now = list(sequences), 0
    for step in talk.steps:
        pieces = [step.raw[at : at + mss] for at in range(0, len(step.raw), mss)] or [b""]
        for piece in pieces:
            now = max(now + 1000, step.ts_ns) if abs(step.ts_ns - now) < 10**9 else step.ts_ns
            flags = step.flags & (SYN | FIN | RST) | (PUSH if piece else 0)
            flags |= 0 if flags & SYN and step.side == 0 else ACK
            raw = ethernet(talk, step.side, (sequence[step.side], sequence[1 - step.side]), flags, piece)
            packets.append(Packet(now, raw, number))
            sequence[step.side] = (sequence[step.side] + len(piece) + bool(flags & (SYN | FIN))) & 0xFFFFFFFF
    return packets


def ethernet(talk: Talk, side: int, numbers: tuple[int, int], flags: int, payload: bytes) -> bytes:
    """One packet of a conversation. numbers: of the sequence and of the acknowledgement."""
    client, client_port, server, server_port = talk.ends
    here, there = ((client, client_port), (server, server_port))[:: -1 if side else 1]
    tcp = struct.pack(">HHIIBBHHH", here[1], there[1], *numbers, 5 << 4, flags, 64000, 0, 0)
    macs = talk.macs if side == 0 else talk.macs[6:] + talk.macs[:6]
    return macs + b"\x08\0" + ipv4(here[0], there[0], 6, tcp + payload)


def ipv4(here: bytes, there: bytes, protocol: int, payload: bytes) -> bytes:
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + here + there + payload


def write_pcap(path: Path, packets: Iterable[Packet], linktype: int = 1, snaplen: int = 1 << 18) -> None:
    """A classic pcap with nanoseconds, packets in the order given. Times are kept to what the format can say."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, linktype))
        for packet in packets:
            seconds, ns = divmod(max(0, packet.ts_ns), 10**9)
            kept = packet.raw[:snaplen]
            out.write(struct.pack("<IIII", min(seconds, 0xFFFFFFFF), ns, len(kept), len(packet.raw)) + kept)
