#!/usr/bin/env python3
"""Makes captures of any size by tiling a small real one.

    python -m benchmarks.tiling small 1000 small.pcap      a kind of traffic.py, megabytes, the file to write

Every copy (tile) has client addresses, client ports and times of its own, so that its connections are new ones; servers
stay. Tiles come in groups that run at the same time, packet by packet, and groups follow each other. IP and TCP
checksums follow the change (RFC 1624). The source must be Ethernet, IPv4 without options, TCP; other packets are left
out. The result is a nanosecond pcap, written in blocks: memory does not grow with it.
"""

import argparse
import json
import struct
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.traffic import KINDS, SERVER_PORTS, piece
from numpy.typing import NDArray

from kafkascope_analyzer.read.source import CaptureFile

SIDE_BY_SIDE = 8
MOST_TILES = 1 << 16
"""The tile's number is two bytes of the address: 10.T.T.n."""
_ETHERNET, _IP, _TCP = 14, 14, 34
_FIRST_PORT, _N_PORTS = 32768, 28232
"""Linux's ephemeral ports; ports of a tile are shifted within them."""
_PAUSE_NS = 1_000_000_000
_BLOCK_BYTES = 4 << 20
_RECORD_BYTES = 16

PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)
"""Of a nanosecond pcap of Ethernet packets."""

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class RawPackets:
    """All packets of a capture: their bytes one after another, and by packet: place, time, lengths, link type."""

    data: Bytes
    at: Ints
    ts_ns: Ints
    caplen: Ints
    wirelen: Ints
    linktype: Ints


NAME_BYTES = 4
"""Bytes of each name of a tile that are replaced by the tile's number, as hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names in packets that every tile replaces by one of its own: packet (ascending), and offset in the packet.

    The TCP checksums of these packets do not follow."""

    packet: Ints
    offset: Ints


@dataclass(frozen=True, slots=True)
class Source:
    """Packets to tile: their bytes one after another, and by packet: place, lengths, time, whether a server sent it,
    the number of its client's address."""

    data: Bytes
    at: Ints
    caplen: Ints
    wirelen: Ints
    ts_ns: Ints
    from_server: NDArray[np.bool_]
    client: Ints
    names: Names | None = None

    def only(self, packets: Ints) -> "Source":
        """Only these packets, ascending. Raises ValueError if names were given before."""
        if self.names is not None:
            raise ValueError("choose packets first, then names in them")
        columns = ("at", "caplen", "wirelen", "ts_ns", "from_server", "client")
        return replace(self, **{name: getattr(self, name)[packets] for name in columns})

    @property
    def file_bytes(self) -> int:
        """Size of one tile in a pcap."""
        return int(self.caplen.sum()) + _RECORD_BYTES * len(self.at)


def load_packets(path: Path) -> RawPackets:
    """Reads a whole capture, of any format that kafkascope reads."""
    parts, rows, ends = [], [], 0
    for block in CaptureFile(path).blocks():
        packets = block.packets
        lengths = packets.caplen, packets.wirelen, packets.linktype
        rows.append(np.stack([packets.offset + ends, packets.ts_ns, *lengths]).astype(np.int64))
        parts.append(block.buf.copy())
        ends += len(block.buf)
    return RawPackets(np.concatenate(parts), *np.concatenate(rows, axis=1))


def load_source(path: Path) -> Source:
    """Reads the packets of a capture that can be tiled."""
    packets = load_packets(path)
    data, at, caplen, linktype = packets.data, packets.at, packets.caplen, packets.linktype
    keep = np.flatnonzero((linktype == 1) & (caplen >= _TCP + 20))
    body = at[keep]
    common = (data[body + 12] == 8) & (data[body + 13] == 0) & (data[body + 14] == 0x45) & (data[body + 23] == 6)
    source_port, target_port = _u16(data, body + _TCP), _u16(data, body + _TCP + 2)
    from_server = np.isin(source_port, SERVER_PORTS)
    keep = keep[common & (from_server != np.isin(target_port, SERVER_PORTS))]
    from_server = np.isin(_u16(data, at[keep] + _TCP), SERVER_PORTS)
    place = at[keep] + np.where(from_server, _IP + 16, _IP + 12)
    address = _u16(data, place) << 16 | _u16(data, place + 2)
    _, client = np.unique(address, return_inverse=True)
    ts_ns, wirelen = packets.ts_ns[keep], packets.wirelen[keep]
    return Source(data, at[keep], caplen[keep], wirelen, ts_ns, from_server, client.astype(np.int64))


def tiles_for(source: Source, megabytes: float) -> int:
    """How many tiles make about that many megabytes (10^6)."""
    tiles = max(1, round(megabytes * 1e6 / source.file_bytes))
    if tiles > MOST_TILES:
        raise SystemExit(f"{megabytes} MB are more than {MOST_TILES} tiles of this source")
    return tiles


def write_tiles(source: Source, out: Path, n_tiles: int) -> None:
    """Writes n_tiles tiles of the source."""
    span = int(source.ts_ns.max() - source.ts_ns.min()) + _PAUSE_NS
    size = (source.caplen + _RECORD_BYTES) * SIDE_BY_SIDE
    portion = (np.cumsum(size) - 1) // _BLOCK_BYTES
    starts = np.flatnonzero(np.diff(portion, prepend=-1)).tolist()
    with out.open("wb") as file:
        file.write(PCAP_HEADER)
        for first in range(0, n_tiles, SIDE_BY_SIDE):
            tiles = np.arange(first, min(first + SIDE_BY_SIDE, n_tiles))
            for start, end in zip(starts, [*starts[1:], len(source.at)], strict=True):
                file.write(_block(source, np.arange(start, end), tiles, first // SIDE_BY_SIDE * span).tobytes())


def _block(source: Source, rows: Ints, tiles: Ints, later_ns: int) -> Bytes:
    """These packets of these tiles, packet by packet, as pcap records."""
    row, tile = np.repeat(rows, len(tiles)), np.tile(tiles, len(rows))
    caplen = source.caplen[row]
    ends = np.cumsum(caplen + _RECORD_BYTES)
    head = ends - caplen - _RECORD_BYTES
    out = np.empty(int(ends[-1]), np.uint8)
    ts = source.ts_ns[row] + later_ns + tile - tiles[0]  # a nanosecond apart, so that packets stay in time order
    fields = np.stack([ts // 10**9, ts % 10**9, caplen, source.wirelen[row]], 1).astype("<u4")
    out[head[:, None] + np.arange(_RECORD_BYTES)] = fields.view(np.uint8)
    body = head + _RECORD_BYTES
    begins = np.cumsum(caplen) - caplen
    within = np.arange(int(caplen.sum()))
    out[np.repeat(body - begins, caplen) + within] = source.data[np.repeat(source.at[row] - begins, caplen) + within]
    _shift(out, body, source.from_server[row], source.client[row], tile)
    if source.names is not None:
        _rename(out, body, source.names, row, tile)
    return out


def _rename(out: Bytes, body: Ints, names: Names, row: Ints, tile: Ints) -> None:
    """Gives each packet its tile's names."""
    first = np.searchsorted(names.packet, row, side="left")
    counts = np.searchsorted(names.packet, row, side="right") - first
    name = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    place = np.repeat(body, counts) + names.offset[name]
    nibbles = np.repeat(tile, counts)[:, None] >> np.arange(4 * NAME_BYTES - 4, -1, -4) & 15
    out[place[:, None] + np.arange(NAME_BYTES)] = np.frombuffer(b"0123456789abcdef", np.uint8)[nibbles]


def _shift(out: Bytes, body: Ints, from_server: NDArray[np.bool_], client: Ints, tile: Ints) -> None:
    """Gives each packet its tile's client address and port."""
    ip = body + np.where(from_server, _IP + 16, _IP + 12)
    port = body + np.where(from_server, _TCP + 2, _TCP)
    old = [_u16(out, ip), _u16(out, ip + 2), _u16(out, port)]
    ephemeral = (old[2] >= _FIRST_PORT) & (old[2] < _FIRST_PORT + _N_PORTS)
    shifted = _FIRST_PORT + (old[2] - _FIRST_PORT + 7 * tile) % _N_PORTS
    new = [10 << 8 | tile >> 8, (tile & 255) << 8 | client + 1, np.where(ephemeral, shifted, old[2])]
    for place, value in zip((ip, ip + 2, port), new, strict=True):
        _put_u16(out, place, value)
    _follow(out, body + _IP + 10, old[:2], new[:2])
    _follow(out, body + _TCP + 16, old, new)


def _follow(out: Bytes, place: Ints, old: list[Ints], new: list[Ints]) -> None:
    """Updates a checksum for changed 16-bit words (RFC 1624, equation 3)."""
    total = 0xFFFF - _u16(out, place)
    for before, after in zip(old, new, strict=True):
        total = total + (0xFFFF - before) + after
    for _ in range(2):
        total = (total & 0xFFFF) + (total >> 16)
    _put_u16(out, place, 0xFFFF - total)


def _u16(data: Bytes, at: Ints) -> Ints:
    return data[at].astype(np.int64) << 8 | data[at + 1]


def _put_u16(data: Bytes, at: Ints, value: Ints) -> None:
    data[at], data[at + 1] = value >> 8, value & 255


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("megabytes", type=float)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    source = load_source(piece(args.kind))
    tiles = tiles_for(source, args.megabytes)
    write_tiles(source, args.out, tiles)
    print(json.dumps({"tiles": tiles, "packets": tiles * len(source.at)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
