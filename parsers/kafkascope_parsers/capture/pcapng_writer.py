"""Writes pcapng: one section, the names of addresses, an interface per link type and snap length, enhanced packet
blocks with nanoseconds.

Packets are copied by arrays, not one by one. Source: draft-ietf-opsawg-pcapng. Little-endian.
"""

import ipaddress
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.packets import Packets

_SECTION, _INTERFACE, _NAMES, _ENHANCED_PACKET = 0x0A0D0D0A, 1, 4, 6
_NAME_RECORDS = {4: 1, 6: 2}
"""IP version -> type of a record of the name resolution block."""
_OPT_COMMENT, _SHB_USERAPPL, _IF_TSRESOL = 1, 4, 9
_NANOSECONDS = 9
_HEAD_BYTES, _TAIL_BYTES = 28, 4
COPY_BYTES = 4 << 20
"""Captured bytes that are copied at once: a gather takes eight bytes of index for each."""
LONGEST_OPTION = 32_000
"""An option's length has 16 bits."""

Bytes = NDArray[np.uint8]


def option(code: int, value: bytes) -> bytes:
    """An option, padded to 32 bits."""
    value = value[:LONGEST_OPTION]
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def comment_options(comments: list[str]) -> bytes:
    """The options of a packet that carries these comments, with their end."""
    return b"".join(option(_OPT_COMMENT, text.encode("utf-8", "backslashreplace")) for text in comments) + bytes(4)


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def _name_record(ip: str, name: str) -> bytes:
    """An address and its name, padded to 32 bits."""
    address = ipaddress.ip_address(ip)
    value = address.packed + name.encode("utf-8") + b"\0"
    return struct.pack("<HH", _NAME_RECORDS[address.version], len(value)) + value + bytes(-len(value) % 4)


@dataclass(frozen=True, slots=True)
class Section:
    """The description of the file in its section header. names: IP address -> host name, for Wireshark's name
    resolution."""

    application: str
    comment: str
    names: Mapping[str, str] = field(default_factory=dict)


class PcapngWriter:
    """Writes to an open binary file, from its section header on."""

    def __init__(self, file: BinaryIO, section: Section) -> None:
        options = option(_OPT_COMMENT, section.comment.encode("utf-8", "backslashreplace"))
        options += option(_SHB_USERAPPL, section.application.encode("utf-8"))
        head = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
        self._file = file
        self._interfaces: dict[tuple[int, int], int] = {}
        self.n_bytes = 0
        self._write(_block(_SECTION, head + options + bytes(4)))
        if section.names:
            records = b"".join(_name_record(ip, name) for ip, name in section.names.items())
            self._write(_block(_NAMES, records + bytes(4)))

    def write(self, buf: Bytes, packets: Packets, snaplen: int, options: Mapping[int, bytes]) -> None:
        """Writes packets whose offsets refer to buf. options: those of packet i, as `comment_options` makes them."""
        for linktype in np.unique(packets.linktype).tolist():
            if (linktype, snaplen) not in self._interfaces:
                resolution = option(_IF_TSRESOL, bytes([_NANOSECONDS])) + bytes(4)
                self._write(_block(_INTERFACE, struct.pack("<HHI", linktype, 0, snaplen) + resolution))
                self._interfaces[linktype, snaplen] = len(self._interfaces)
        portion = (np.cumsum(packets.caplen, dtype=np.int64) - 1) // COPY_BYTES
        starts = np.flatnonzero(np.diff(portion, prepend=-1))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(packets)], strict=True):
            self._write_portion(buf, packets, (start, end), snaplen, options)

    def _write_portion(
        self, buf: Bytes, packets: Packets, rows: tuple[int, int], snaplen: int, options: Mapping[int, bytes]
    ) -> None:
        start, end = rows
        caplen = packets.caplen[start:end].astype(np.int64)
        extra = {row - start: value for row, value in options.items() if start <= row < end}
        extra_bytes = np.zeros(end - start, np.int64)
        for row, value in extra.items():
            extra_bytes[row] = len(value)
        sizes = _HEAD_BYTES + (caplen + 3 & ~3) + extra_bytes + _TAIL_BYTES
        ends = np.cumsum(sizes)
        at = ends - sizes
        out = np.zeros(int(ends[-1]), np.uint8)
        links, which = np.unique(packets.linktype[start:end], return_inverse=True)
        interface = np.array([self._interfaces[link, snaplen] for link in links.tolist()])[which]
        ts = packets.ts_ns[start:end].astype(np.uint64)
        fields = np.empty((end - start, 7), "<u4")
        fields[:, 0], fields[:, 1], fields[:, 2] = _ENHANCED_PACKET, sizes, interface
        fields[:, 3], fields[:, 4] = ts >> np.uint64(32), ts & np.uint64(0xFFFFFFFF)
        fields[:, 5], fields[:, 6] = caplen, packets.wirelen[start:end]
        out[at[:, None] + np.arange(_HEAD_BYTES)] = fields.view(np.uint8)
        _copy(out, at + _HEAD_BYTES, buf, packets.offset[start:end], caplen)
        out[ends[:, None] - np.arange(_TAIL_BYTES, 0, -1)] = sizes.astype("<u4").view(np.uint8).reshape(-1, 4)
        for row, value in extra.items():
            place = int(ends[row]) - _TAIL_BYTES
            out[place - len(value) : place] = np.frombuffer(value, np.uint8)
        self._write(out.tobytes())

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self.n_bytes += len(data)


def _copy(
    target: Bytes, to: NDArray[np.int64], source: Bytes, at: NDArray[np.int64], length: NDArray[np.int64]
) -> None:
    """Copies length[i] bytes from source[at[i]] to target[to[i]], for all i at once."""
    if len(at) == 1:
        target[to[0] : to[0] + length[0]] = source[at[0] : at[0] + length[0]]
        return
    begins = np.cumsum(length) - length
    within = np.arange(int(length.sum()))
    target[np.repeat(to - begins, length) + within] = source[np.repeat(at - begins, length) + within]
