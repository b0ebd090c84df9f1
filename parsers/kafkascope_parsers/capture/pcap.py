"""Classic pcap files: one header of 24 bytes, then records of 16 bytes and the captured bytes.

All four kinds: micro- and nanoseconds, either byte order. Source: draft-ietf-opsawg-pcap.
"""

import struct

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import PacketArrays, room_for, uint32_at, written
from kafkascope_parsers.capture.limits import RECORD_LIMIT
from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.errors import CaptureError

FILE_HEADER_BYTES = 24
RECORD_HEADER_BYTES = 16
MAGICS = {
    b"\xa1\xb2\xc3\xd4": (True, 1000),
    b"\xd4\xc3\xb2\xa1": (False, 1000),
    b"\xa1\xb2\x3c\x4d": (True, 1),
    b"\x4d\x3c\xb2\xa1": (False, 1),
}
"""Magic: (big-endian, nanoseconds of one unit of the time's fraction)."""

MODIFIED_MAGICS = (b"\xa1\xb2\xcd\x34", b"\x34\xcd\xb2\xa1")
"""Kuznetsov's patched pcap, whose records have longer headers."""


@nb.njit(cache=True, nogil=True)
def walk_records(
    buf: NDArray[np.uint8],
    span: tuple[int, int],
    kind: tuple[bool, int, int],
    first_no: int,
    out: PacketArrays,
) -> tuple[int, int, bool]:
    """Reads the whole records of buf[span[0]:span[1]].

    kind: (big-endian, nanoseconds of a unit, link type). Returns the number of packets, the place after the last one,
    and whether an impossible record stands there. Every record is at least its header long, so the loop advances.
    """
    at, end = span
    big, unit_ns, linktype = kind
    n = 0
    while end - at >= RECORD_HEADER_BYTES and n < len(out.ts_ns):
        caplen = uint32_at(buf, at + 8, big)
        if caplen > RECORD_LIMIT:
            return n, at, True
        if caplen > end - at - RECORD_HEADER_BYTES:
            break
        wirelen = min(uint32_at(buf, at + 12, big), 0x7FFFFFFF)
        out.ts_ns[n] = uint32_at(buf, at, big) * 1_000_000_000 + uint32_at(buf, at + 4, big) * unit_ns
        out.packet_no[n] = first_no + n
        out.offset[n] = at + RECORD_HEADER_BYTES
        out.caplen[n] = caplen
        out.wirelen[n] = max(wirelen, caplen)
        out.linktype[n] = linktype
        n += 1
        at += RECORD_HEADER_BYTES + caplen
    return n, at, False


class PcapReader:
    """Reads one pcap file from its first byte on. See `CaptureReader`."""

    format = "pcap"

    def __init__(self, head: bytes, name: str) -> None:
        if len(head) < FILE_HEADER_BYTES:
            raise CaptureError("ends inside the 24-byte pcap header", name=name, byte=len(head))
        self._big, self._unit_ns = MAGICS[head[:4]]
        order = ">" if self._big else "<"
        self.snaplen, network = struct.unpack_from(f"{order}II", head, 16)
        self.linktypes = [network & 0xFFFF]
        self.n_dropped: int | None = None
        self.n_packets = 0
        self.truncated_tail_bytes = 0
        self._name = name
        self._position = 0

    def read_packets(self, buf: NDArray[np.uint8], start: int, end: int, final: bool) -> tuple[Packets, int]:
        """As `CaptureReader.read_packets`."""
        at = start if self._position else start + FILE_HEADER_BYTES
        out = room_for(max(end - at, 0))
        if at > end:
            n, place, corrupt = 0, start, False
        else:
            kind = (self._big, self._unit_ns, self.linktypes[0])
            n, place, corrupt = walk_records(buf, (at, end), kind, self.n_packets + 1, out)
        if corrupt and n == 0:
            raise CaptureError(
                f"the record says it holds more than {RECORD_LIMIT} bytes: the file is corrupt from here on",
                name=self._name,
                byte=self._position + place - start,
            )
        self._position += place - start
        self.n_packets += n
        if final and not corrupt:
            self.truncated_tail_bytes = end - place
        return written(out, n), place - start
