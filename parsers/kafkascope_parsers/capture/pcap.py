"""Classic pcap files: one header of 24 bytes, then records of 16 bytes and the captured bytes.

Micro- and nanoseconds, either byte order, and the modified kind of Alexey Kuznetsov, whose records have headers of 24
bytes. Source: draft-ietf-opsawg-pcap; Wireshark's wiretap/libpcap.c for the modified kind.
"""

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import PacketArrays, prefetch_records, room_for, uint32_at, written
from kafkascope_parsers.capture.extras import Secrets
from kafkascope_parsers.capture.limits import PACKET_LIMIT, RECORD_LIMIT
from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.capture.resume import next_pcap_record
from kafkascope_parsers.errors import CaptureError
from kafkascope_parsers.kernels import kernel

FILE_HEADER_BYTES = 24
MAGICS = {
    b"\xa1\xb2\xc3\xd4": (True, 1000, 16),
    b"\xd4\xc3\xb2\xa1": (False, 1000, 16),
    b"\xa1\xb2\x3c\x4d": (True, 1, 16),
    b"\x4d\x3c\xb2\xa1": (False, 1, 16),
    b"\xa1\xb2\xcd\x34": (True, 1000, 24),
    b"\x34\xcd\xb2\xa1": (False, 1000, 24),
}
"""Magic: (big-endian, nanoseconds of one unit of the time's fraction, bytes of a record's header)."""

WHOLE, TOO_LONG, ZEROS = range(3)
"""Why reading of records stopped: no whole record is left; a record that is impossible."""


class RecordKind(NamedTuple):
    """The facts about records from the file's header. limit: longest packet that is accepted."""

    big: bool
    unit_ns: int
    linktype: int
    header_bytes: int
    limit: int


@kernel
def walk_records(
    buf: NDArray[np.uint8],
    span: tuple[int, int],
    kind: RecordKind,
    first_no: int,
    out: PacketArrays,
) -> tuple[int, int, int]:
    """Reads the whole records of buf[span[0]:span[1]].

    Returns the number of packets, the place after the last one, and why it stopped there. Every record is at least its
    header long, so the loop advances.
    """
    at, end = span
    n = 0
    while end - at >= kind.header_bytes and n < len(out.ts_ns):
        seconds, fraction = uint32_at(buf, at, kind.big), uint32_at(buf, at + 4, kind.big)
        caplen, wirelen = uint32_at(buf, at + 8, kind.big), uint32_at(buf, at + 12, kind.big)
        if caplen > kind.limit:
            return n, at, TOO_LONG
        if caplen == 0 and wirelen == 0 and seconds == 0 and fraction == 0:
            return n, at, ZEROS
        if caplen > end - at - kind.header_bytes:
            break
        prefetch_records(buf, at, kind.header_bytes + caplen)
        out.ts_ns[n] = seconds * 1_000_000_000 + fraction * kind.unit_ns
        out.packet_no[n] = first_no + n
        out.offset[n] = at + kind.header_bytes
        out.caplen[n] = caplen
        out.wirelen[n] = max(min(wirelen, 0x7FFFFFFF), caplen)
        out.linktype[n] = kind.linktype
        n += 1
        at += kind.header_bytes + caplen
    return n, at, WHOLE


class PcapReader:
    """Reads one pcap file from its first byte on. See `CaptureReader`."""

    format = "pcap"

    def __init__(self, head: bytes, name: str) -> None:
        if len(head) < FILE_HEADER_BYTES:
            raise CaptureError("ends inside the 24-byte pcap header", name=name, byte=len(head))
        big, unit_ns, header_bytes = MAGICS[head[:4]]
        self.snaplen, network = struct.unpack_from(">II" if big else "<II", head, 16)
        self.linktypes = [network & 0xFFFF]
        self.n_dropped: int | None = None
        self.n_packets = 0
        self.position = 0
        self.secrets: list[Secrets] = []
        self.names: list[tuple[str, str]] = []
        limit = min(max(self.snaplen, PACKET_LIMIT), RECORD_LIMIT)
        self._kind = RecordKind(big, unit_ns, self.linktypes[0], header_bytes, limit)
        self._last_ns = 0
        self._name = name

    def read_packets(self, buf: NDArray[np.uint8], start: int, end: int, final: bool) -> tuple[Packets, int]:
        """As `CaptureReader.read_packets`."""
        at = start if self.position else start + FILE_HEADER_BYTES
        out = room_for(max(end - at, 0))
        n, place, why = 0, start, WHOLE
        if at <= end:
            n, place, why = walk_records(buf, (at, end), self._kind, self.n_packets + 1, out)
        if why != WHOLE and n == 0:
            raise CaptureError(self._wrong(why), name=self._name, byte=self.position + place - start)
        if n:
            self._last_ns = int(out.ts_ns[n - 1])
        self.position += place - start
        self.n_packets += n
        return written(out, n), place - start

    def begin_at(self, byte: int) -> None:
        """Continues at this byte of the file instead of at its first one. If it may not be the beginning of a record,
        `pass_over` has to follow."""
        self.position, self._last_ns = byte, -1

    def record_starts(self, packets: Packets) -> NDArray[np.int64]:
        """The places in the block where the records of packets begin."""
        return packets.offset - self._kind.header_bytes

    def pass_over(self, buf: NDArray[np.uint8], start: int, end: int, final: bool) -> tuple[int, bool]:
        """As `CaptureReader.pass_over`."""
        place, found = next_pcap_record(buf, (start + 1, end), self._kind, self._last_ns // 1_000_000_000, final)
        if not (found or final):
            place -= 1  # so that the next call looks at this place again
        self.position += place - start
        return place - start, found

    def _wrong(self, why: int) -> str:
        if why == ZEROS:
            return "zeros where a packet should begin"
        return f"a packet that says it holds more than {self._kind.limit} bytes"
