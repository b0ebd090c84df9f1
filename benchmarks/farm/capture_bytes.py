"""Capture files with odd bytes: wrong lengths of blocks and options, in both formats, compressed, cut, flipped."""

import bz2
import gzip
import lzma
import random
import struct
from collections.abc import Callable, Sequence

import lz4.frame
import zstandard
from benchmarks.farm.mutations import mutated
from benchmarks.farm.scene import Packet

_LENGTHS = (0, 1, 3, 4, 8, 11, 12, 13, 27, 28, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, 1 << 20, 262145, 1 << 28)
_LINKTYPES = (0, 1, 12, 101, 108, 113, 228, 229, 239, 276, 50, 104, 147, 0xFFFF, 0x10000001)
COMPRESSIONS: tuple[Callable[[bytes], bytes], ...] = (
    lambda raw: raw,
    lambda raw: raw,
    lambda raw: gzip.compress(raw, 1),
    lambda raw: zstandard.ZstdCompressor(1).compress(raw),
    lz4.frame.compress,
    lambda raw: lzma.compress(raw, preset=0),
    lambda raw: bz2.compress(raw, 1),
    lambda raw: gzip.compress(raw[: len(raw) // 2], 1) + gzip.compress(raw[len(raw) // 2 :], 1),
)


def odd_file(r: random.Random, packets: Sequence[Packet]) -> bytes:
    """The packets as a file of some format, with odd bytes."""
    raw = r.choice((pcap, pcapng, pcapng))(r, packets)
    if r.random() < 0.4:
        raw = mutated(r, raw)
    raw = r.choice(COMPRESSIONS)(raw)
    return mutated(r, raw) if r.random() < 0.4 else raw


def pcap(r: random.Random, packets: Sequence[Packet]) -> bytes:
    """The classic format, in either byte order, of each magic number."""
    order = r.choice("<>")
    magic, per_second = r.choice(((0xA1B2C3D4, 10**6), (0xA1B23C4D, 10**9), (0xA1B2CD34, 10**6), (0xA1B2C3D5, 10**6)))
    snaplen, linktype = r.choice((262144, 262144, 96, *_LENGTHS)), 1 if r.random() < 0.8 else r.choice(_LINKTYPES)
    out = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, snaplen, linktype)]
    for packet in packets:
        seconds, ns = divmod(max(0, packet.ts_ns), 10**9)
        head = [min(seconds, 0xFFFFFFFF), ns * per_second // 10**9, len(packet.raw), len(packet.raw)]
        if r.random() < 0.01:
            head[r.randrange(4)] = r.choice(_LENGTHS)
        more = bytes(8) if magic == 0xA1B2CD34 else b""
        out.append(struct.pack(f"{order}IIII", *head) + more + packet.raw)
    return b"".join(out)


def pcapng(r: random.Random, packets: Sequence[Packet]) -> bytes:
    """The newer format: sections, interfaces of any resolution, all kinds of packet blocks, names, secrets, options."""
    order = r.choice("<>")
    out = [_section(r, order), _interface(r, order)]
    for packet in packets:
        choice = r.random()
        if choice < 0.02:
            out.append(r.choice(_OTHER_BLOCKS)(r, order))
        out.append(_packet(r, order, packet))
    return b"".join(out)


def _block(r: random.Random, order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = len(body) + 12
    first, last = size, size
    if r.random() < 0.005:
        first = r.choice(_LENGTHS)
    if r.random() < 0.005:
        last = r.choice(_LENGTHS)
    return struct.pack(f"{order}II", kind, first) + body + struct.pack(f"{order}I", last)


def _options(r: random.Random, order: str, codes: Sequence[int]) -> bytes:
    out = b""
    for code in r.sample(list(codes), r.randint(0, min(3, len(codes)))):
        value = r.choice((b"", b"\0", b"\xff", b"\x09", b"\x7f\xff\xff\xff", r.randbytes(8), b"name\xff\0", b"x" * 200))
        size = len(value) if r.random() < 0.95 else r.choice((0xFFFF, len(value) + 1, 0))
        out += struct.pack(f"{order}HH", code, size) + value + bytes(-len(value) % 4)
    return out + (bytes(4) if r.random() < 0.9 else b"")


def _section(r: random.Random, order: str) -> bytes:
    length = r.choice((-1, -1, 0, 100, 2**62))
    return _block(
        r, order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, length) + _options(r, order, (1, 2, 4))
    )


def _interface(r: random.Random, order: str) -> bytes:
    linktype = 1 if r.random() < 0.9 else r.choice(_LINKTYPES) & 0xFFFF
    body = struct.pack(f"{order}HHI", linktype, 0, r.choice((0, 0, 96, 0xFFFFFFFF)))
    return _block(r, order, 1, body + (_options(r, order, (2, 9, 11, 14)) if r.random() < 0.4 else b""))


def _packet(r: random.Random, order: str, packet: Packet) -> bytes:
    units = max(0, packet.ts_ns) // 1000
    time = units >> 32 & 0xFFFFFFFF, units & 0xFFFFFFFF
    number = 0 if r.random() < 0.99 else r.choice((1, 2, 0xFFFFFFFF))
    caplen = len(packet.raw) if r.random() < 0.995 else r.choice(_LENGTHS)
    raw = packet.raw + bytes(-len(packet.raw) % 4)
    if r.random() < 0.02:
        return _block(r, order, 3, struct.pack(f"{order}I", caplen) + raw)
    if r.random() < 0.02:
        return _block(r, order, 2, struct.pack(f"{order}HHIIII", number & 0xFFFF, 0, *time, caplen, caplen) + raw)
    head = struct.pack(f"{order}IIIII", number, *time, caplen, len(packet.raw))
    return _block(r, order, 6, head + raw + (_options(r, order, (1, 2, 4)) if r.random() < 0.1 else b""))


def _names(r: random.Random, order: str) -> bytes:
    address, name = (
        r.randbytes(4),
        r.choice((b"kafka-1\0", b"\xff\xfe\0", b"", b"=cmd()\0", b"a" * 300 + b"\0", b"no end")),
    )
    record = struct.pack(f"{order}HH", r.choice((1, 2, 0, 9)), 4 + len(name)) + address + name
    return _block(r, order, 4, record + bytes(-len(record) % 4) + r.choice((bytes(4), b"")))


def _secrets(r: random.Random, order: str) -> bytes:
    content = r.choice((b"CLIENT_RANDOM x y\n", b"", r.randbytes(40), b"\xff" * 9))
    return _block(
        r, order, 10, struct.pack(f"{order}II", r.choice((0x544C534B, 0)), r.choice((len(content), 2**31))) + content
    )


def _statistics(r: random.Random, order: str) -> bytes:
    body = struct.pack(f"{order}III", r.choice((0, 7, 2**32 - 1)), 0, 0) + _options(r, order, (4, 5, 7))
    return _block(r, order, 5, body)


def _unknown(r: random.Random, order: str) -> bytes:
    return _block(r, order, r.choice((0, 0xBAD, 0x7FFFFFFF, 0xFFFFFFFF)), r.randbytes(r.choice((0, 4, 60))))


_OTHER_BLOCKS = (_names, _secrets, _statistics, _unknown, _section, _interface)
