"""pcapng files: sections of blocks, in either byte order, with any number of interfaces.

Packets come from enhanced, simple and (old) packet blocks; drop counts from interface statistics; secrets and names are
kept; every other block is skipped. A simple packet block has no time: it gets that of the packet before it. Source:
draft-ietf-opsawg-pcapng.
"""

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import PacketArrays, prefetch_records, record_type, room_for, uint32_at, written
from kafkascope_parsers.capture.extras import Secrets, names_of, secrets_of
from kafkascope_parsers.capture.limits import INTERFACE_LIMIT, NAME_LIMIT, RECORD_LIMIT, SECRETS_LIMIT
from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.capture.resume import next_pcapng_block
from kafkascope_parsers.errors import CaptureError
from kafkascope_parsers.kernels import kernel

MAGIC = b"\x0a\x0d\x0d\x0a"
SECTION, INTERFACE_DESCRIPTION, OLD_PACKET, SIMPLE_PACKET, STATISTICS, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 5, 6
NAMES, SECRETS = 4, 10
_MANAGEMENT = (INTERFACE_DESCRIPTION, STATISTICS, NAMES, SECRETS)
SMALLEST_BLOCK = 12
SHORTEST_HEAD = 28
"""A section header block without options."""
_ORDERS = {b"\x1a\x2b\x3c\x4d": True, b"\x4d\x3c\x2b\x1a": False}
_SMALLEST_BODY = {SECTION: 16, INTERFACE_DESCRIPTION: 8, STATISTICS: 12, NAMES: 0, SECRETS: 8}
_OPTION_END, _IF_TSRESOL, _IF_TSOFFSET, _ISB_IFDROP, _ISB_OSDROP = 0, 9, 14, 5, 7
_FINEST_BINARY, _FINEST_DECIMAL = 62, 27
"""Finer than these, 64 bits hold less than a second: every time is the interface's offset."""
_MASK63 = 0x7FFFFFFFFFFFFFFF

INTERFACE = record_type(
    [
        ("snaplen", np.int64),
        ("offset_ns", np.int64),
        ("multiply", np.int64),
        ("divide", np.int64),
        ("shift", np.int64),
        ("linktype", np.uint16),
    ],
)
"""An interface. A time of t units is t * multiply // divide nanoseconds where shift < 0, else t * 10^9 >> shift; plus
offset_ns."""

ENDS, MANAGEMENT, BAD_LENGTH, BAD_TRAILER, BAD_INTERFACE, BAD_CAPLEN = range(6)
"""Why reading of blocks stopped: no whole block is left; a block that Python reads; a block that is impossible."""
_WHY = {
    BAD_LENGTH: f"a pcapng block of an impossible length (too short for its type, or over {RECORD_LIMIT} bytes)",
    BAD_TRAILER: "a pcapng block whose two lengths differ",
    BAD_INTERFACE: "a packet of an interface that the section does not describe",
    BAD_CAPLEN: "a packet longer than its pcapng block",
}


@kernel
def to_ns(units: int, interface: Any) -> Any:
    """A time stamp of the interface in nanoseconds since the epoch, modulo 2^63 where the packet is corrupt."""
    if interface.shift >= 0:
        whole = units >> interface.shift
        part = units & ((np.int64(1) << interface.shift) - 1)
        scale = max(interface.shift - 33, 0)
        nanos = ((part >> scale) * 1_000_000_000) >> (interface.shift - scale)
        return (whole * 1_000_000_000 + nanos + interface.offset_ns) & _MASK63
    return (units * interface.multiply // interface.divide + interface.offset_ns) & _MASK63


class WalkState(NamedTuple):
    """State of the reader between blocks: the byte order, the next row to write, the packet number of row 0, and the
    time of the previous packet.
    """

    big: bool
    row: int
    first_no: int
    last_ns: int


@kernel
def read_packet_block(
    buf: NDArray[np.uint8],
    block: tuple[int, int, int],
    state: WalkState,
    interfaces: NDArray[np.void],
    out: PacketArrays,
) -> int:
    """Reads the packet block (place, length, type) into a row; returns ENDS, or what is wrong."""
    at, length, kind = block
    big, row, first_no, last_ns = state
    head = 12 if kind == SIMPLE_PACKET else 28
    if length < head + 4:
        return BAD_LENGTH
    number = 0
    if kind == ENHANCED_PACKET:
        number = uint32_at(buf, at + 8, big)
    elif kind == OLD_PACKET:
        number = uint32_at(buf, at + 8, big)
        number = number >> 16 if big else number & 0xFFFF
    if number >= len(interfaces):
        return BAD_INTERFACE
    if kind == SIMPLE_PACKET:
        wirelen = uint32_at(buf, at + 8, big)
        caplen = min(wirelen, length - head - 4)
        if interfaces[0].snaplen > 0:
            caplen = min(caplen, interfaces[0].snaplen)
        ts_ns = last_ns
    else:
        units = (uint32_at(buf, at + 12, big) & 0x7FFFFFFF) << 32 | uint32_at(buf, at + 16, big)
        caplen = uint32_at(buf, at + 20, big)
        wirelen = uint32_at(buf, at + 24, big)
        ts_ns = to_ns(units, interfaces[number])
    if caplen > length - head - 4:
        return BAD_CAPLEN
    out.ts_ns[row] = ts_ns
    out.packet_no[row] = first_no + row
    out.offset[row] = at + head
    out.caplen[row] = caplen
    out.wirelen[row] = max(min(wirelen, 0x7FFFFFFF), caplen)
    out.linktype[row] = interfaces[number].linktype
    return ENDS


@kernel
def walk_blocks(
    buf: NDArray[np.uint8],
    span: tuple[int, int],
    state: WalkState,
    interfaces: NDArray[np.void],
    out: PacketArrays,
) -> tuple[int, int, int]:
    """Reads whole blocks of buf[span[0]:span[1]] until one that Python has to read.

    Returns the next row, the place reached and why it stopped. A block is at least 12 bytes long, so the loop advances.
    """
    at, end = span
    big, row, first_no, last_ns = state
    while end - at >= SMALLEST_BLOCK and row < len(out.ts_ns):
        kind = uint32_at(buf, at, big)
        if kind == SECTION:
            return row, at, MANAGEMENT
        length = uint32_at(buf, at + 4, big)
        if length < SMALLEST_BLOCK or length > RECORD_LIMIT:
            return row, at, BAD_LENGTH
        padded = (length + 3) & ~3
        if padded > end - at:
            break
        prefetch_records(buf, at, padded)
        if uint32_at(buf, at + padded - 4, big) != length:
            return row, at, BAD_TRAILER
        if kind in _MANAGEMENT:
            return row, at, MANAGEMENT
        if kind in (ENHANCED_PACKET, SIMPLE_PACKET, OLD_PACKET):
            wrong = read_packet_block(buf, (at, length, kind), WalkState(big, row, first_no, last_ns), interfaces, out)
            if wrong != ENDS:
                return row, at, wrong
            last_ns = out.ts_ns[row]
            row += 1
        at += padded
    return row, at, ENDS


class PcapngReader:
    """Reads one pcapng file from its first byte on. See `CaptureReader`."""

    format = "pcapng"

    def __init__(self, head: bytes, name: str) -> None:
        if len(head) < SHORTEST_HEAD:
            raise CaptureError("ends inside the first pcapng section header", name=name, byte=len(head))
        if head[8:12] not in _ORDERS:
            raise CaptureError("the pcapng section header has no byte-order magic", name=name, byte=8)
        self.snaplen = 0
        self.linktypes: list[int] = []
        self.n_packets = 0
        self.position = 0
        self.secrets: list[Secrets] = []
        self.names: list[tuple[str, str]] = []
        self._big = _ORDERS[head[8:12]]
        self._interfaces = np.zeros(0, INTERFACE)
        self._drops: dict[tuple[int, int], int] = {}
        self._section = 0
        self._last_ns = 0
        self._name = name

    @property
    def n_dropped(self) -> int | None:
        """The number of dropped packets in the interfaces' last statistics; None if there are none."""
        return sum(self._drops.values()) if self._drops else None

    def read_packets(self, buf: NDArray[np.uint8], start: int, end: int, final: bool) -> tuple[Packets, int]:
        """As `CaptureReader.read_packets`."""
        out = room_for(end - start)
        row, at, why = 0, start, MANAGEMENT
        while why == MANAGEMENT:
            state = WalkState(self._big, row, self.n_packets + 1, self._last_ns)
            row, at, why = walk_blocks(buf, (at, end), state, self._interfaces, out)
            if row:
                self._last_ns = int(out.ts_ns[row - 1])
            if why == MANAGEMENT:
                length, why = self._read_management(buf, at, end)
                at += length
        if why != ENDS and row == 0 and at == start:
            raise CaptureError(_WHY[why], name=self._name, byte=self.position)
        self.position += at - start
        self.n_packets += row
        return written(out, row), at - start

    def pass_over(self, buf: NDArray[np.uint8], start: int, end: int, final: bool) -> tuple[int, bool]:
        """As `CaptureReader.pass_over`."""
        place, found = next_pcapng_block(buf, (start + 1, end), self._big, final)
        if not (found or final):
            place -= 1  # so that the next call looks at this place again
        self.position += place - start
        return place - start, found

    def _read_management(self, buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
        """Reads a block that is not a packet; returns its length and MANAGEMENT, or 0 and the reason why it cannot be
        read."""
        kind = uint32_at(buf, at, self._big)
        big = self._big
        if kind == SECTION:
            big = _ORDERS.get(buf[at + 8 : at + 12].tobytes(), big)
            if buf[at + 8 : at + 12].tobytes() not in _ORDERS:
                return 0, BAD_LENGTH
        length = int(uint32_at(buf, at + 4, big))
        padded = (length + 3) & ~3
        if length < SMALLEST_BLOCK + _SMALLEST_BODY[kind] or length > RECORD_LIMIT:
            return 0, BAD_LENGTH
        if padded > end - at:
            return 0, ENDS
        if uint32_at(buf, at + padded - 4, big) != length:
            return 0, BAD_TRAILER
        self._take(kind, big, buf[at + 8 : at + length - 4].tobytes())
        return padded, MANAGEMENT

    def _take(self, kind: int, big: bool, body: bytes) -> None:
        order = ">" if big else "<"
        if kind == SECTION:
            self._big, self._interfaces = big, self._interfaces[:0]
            self._section += 1
        elif kind == INTERFACE_DESCRIPTION:
            self._add_interface(body)
        elif kind == STATISTICS:
            self._note_drops(body)
        elif kind == NAMES:
            self.names += names_of(body, order)[: NAME_LIMIT - len(self.names)]
        else:
            self._keep_secrets(secrets_of(body, order))

    def _keep_secrets(self, found: Secrets | None) -> None:
        kept = sum(len(known.data) for known in self.secrets)
        if found is not None and kept + len(found.data) <= SECRETS_LIMIT:
            self.secrets.append(found)

    def _add_interface(self, body: bytes) -> None:
        """Interfaces beyond the limit are left out, and then so are their packets."""
        if len(self._interfaces) >= INTERFACE_LIMIT:
            return
        order = ">" if self._big else "<"
        linktype, snaplen = struct.unpack_from(f"{order}H2xI", body)
        options = self._options(body, 8)
        row = np.zeros(1, INTERFACE)
        row["linktype"], row["snaplen"] = linktype, snaplen
        resolution = options[_IF_TSRESOL][0] if options.get(_IF_TSRESOL) else 6
        exponent = resolution & 0x7F
        row["shift"], row["multiply"], row["divide"] = -1, 0, 1
        if exponent <= _FINEST_BINARY and resolution & 0x80:
            row["shift"] = exponent
        elif exponent <= _FINEST_DECIMAL and not resolution & 0x80:
            row["multiply"], row["divide"] = 10 ** max(9 - exponent, 0), 10 ** max(exponent - 9, 0)
        if len(options.get(_IF_TSOFFSET, b"")) == 8:
            (seconds,) = struct.unpack(f"{order}q", options[_IF_TSOFFSET])
            row["offset_ns"] = seconds * 10**9 if abs(seconds) < 1 << 33 else 0
        if linktype not in self.linktypes:
            self.linktypes.append(linktype)
        self.snaplen = max(self.snaplen, snaplen)
        self._interfaces = np.concatenate([self._interfaces, row])

    def _note_drops(self, body: bytes) -> None:
        order = ">" if self._big else "<"
        (number,) = struct.unpack_from(f"{order}I", body)
        options = self._options(body, 12)
        counts = [options[code] for code in (_ISB_IFDROP, _ISB_OSDROP) if len(options.get(code, b"")) == 8]
        if counts and number < len(self._interfaces):
            self._drops[self._section, number] = sum(struct.unpack(f"{order}Q", count)[0] for count in counts)

    def _options(self, body: bytes, at: int) -> dict[int, bytes]:
        """The options of a block body from `at` on; of several with one code the last is used. Options that do not fit
        are left out."""
        found: dict[int, bytes] = {}
        order = ">" if self._big else "<"
        while at + 4 <= len(body):
            code, length = struct.unpack_from(f"{order}HH", body, at)
            if code == _OPTION_END or at + 4 + length > len(body):
                break
            found[code] = body[at + 4 : at + 4 + length]
            at += 4 + ((length + 3) & ~3)
        return found
