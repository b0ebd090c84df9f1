"""Reads TCP segments from packets, block after block. The kernel reads all packets. IP fragments are joined, and the
kernel then reads the whole packets."""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import PacketArrays
from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.link.datagrams import DATAGRAM_LIMIT, Datagram, read_datagram
from kafkascope_parsers.link.duplicates import no_packets
from kafkascope_parsers.link.fragments import Fragments
from kafkascope_parsers.link.ip_packet import IpPacket, read_ip_packet
from kafkascope_parsers.link.kernel import IpPlaces, LinkState, read_packets
from kafkascope_parsers.link.layers import (
    DNS,
    DUPLICATE,
    IP_FRAGMENT,
    MALFORMED,
    OTHER,
    RAW_LINKTYPES,
    SEGMENT,
    UNSUPPORTED,
)
from kafkascope_parsers.link.segments import SEGMENT_ROW, Segments, room_for_segments


@dataclass(slots=True)
class PacketCounts:
    """Counts of the packets so far. segments + duplicates + other + malformed + unsupported + fragments = packets.

    duplicates counts segments that the capture had shown already; fragments the fragments of IP packets, except the
    last missing one of each, which counts as the whole packet does; given_up IP packets whose fragments did not all
    come, over_limit those of them that a limit cut short; dns datagrams of port 53, which are among other.
    """

    segments: int = 0
    duplicates: int = 0
    other: int = 0
    malformed: int = 0
    unsupported: int = 0
    fragments: int = 0
    given_up: int = 0
    over_limit: int = 0
    dns: int = 0

    def __add__(self, other: "PacketCounts") -> "PacketCounts":
        """The counts of both."""
        return PacketCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def datagrams_left_out(self) -> int:
        """Datagrams beyond DATAGRAM_LIMIT."""
        return max(0, self.dns - DATAGRAM_LIMIT)


class _Read(NamedTuple):
    """The kernel's results for packets: their kinds, places of IP headers, and the segments in the packets' order."""

    kinds: NDArray[np.uint8]
    ip: IpPlaces
    segments: Segments


class LinkReader:
    """Reads the segments of the files of one capture point, in order, and also the first DATAGRAM_LIMIT datagrams of
    port 53 of each file.

    counts: since the start, or the last `take_counts`. State: fragments that wait for the rest of their packet, and the
    last packets, in order to recognize copies of them.
    """

    def __init__(self) -> None:
        self.counts = PacketCounts()
        self._fragments = Fragments()
        self._state = _new_state()
        self._datagrams: list[Datagram] = []

    def take_datagrams(self) -> list[Datagram]:
        """Datagrams since the last call, in capture order."""
        found, self._datagrams = self._datagrams, []
        return found

    def take_counts(self) -> PacketCounts:
        """The counts, which then start again at 0."""
        taken, self.counts = self.counts, PacketCounts()
        return taken

    def read_segments(self, buf: NDArray[np.uint8], packets: Packets) -> tuple[NDArray[np.uint8], Segments]:
        """The segments of a block, in capture order, and the buffer that their offsets refer to.

        That is buf itself, or, if fragments were joined, a copy of buf with the whole packets after it. buf is read up
        to its end, so pass only the filled part.
        """
        read = self._read(buf, packets, self._state)
        if not (read.kinds == IP_FRAGMENT).any():
            return buf, read.segments
        bufs, segments, rows = [buf], [read.segments], [np.flatnonzero(read.kinds == SEGMENT)]
        row_of, base = np.arange(len(packets)), len(buf)
        while (read.kinds == IP_FRAGMENT).any():  # a whole packet may carry a fragment of another one
            wholes, completing = self._put_together(bufs[-1], packets, read)
            row_of, packets = row_of[completing], _as_packets(wholes, packets, completing)
            bufs.append(np.frombuffer(bytearray(b"".join(wholes)), np.uint8))  # writable: else kernels compile again
            read = self._read(bufs[-1], packets, _new_state())
            read.segments.offset[:] += base
            base += len(bufs[-1])
            segments.append(read.segments)
            rows.append(row_of[read.kinds == SEGMENT])
        return np.concatenate(bufs), _in_order(segments, np.argsort(np.concatenate(rows), kind="stable"))

    def _read(self, buf: NDArray[np.uint8], packets: Packets, state: LinkState) -> _Read:
        """Reads packets with the kernel, counts all except fragments, and keeps datagrams."""
        n = len(packets)
        arrays = PacketArrays(
            packets.ts_ns, packets.packet_no, packets.offset, packets.caplen, packets.wirelen, packets.linktype
        )
        kinds, ip, out = np.empty(n, np.uint8), IpPlaces(*np.empty((3, n), np.int64)), room_for_segments(n)
        n_segments = read_packets(buf, arrays, state, kinds, ip, out)
        found = np.bincount(kinds, minlength=DNS + 1)
        self.counts.segments += n_segments
        self.counts.duplicates += int(found[DUPLICATE])
        self.counts.other += int(found[OTHER] + found[DNS])
        self.counts.malformed += int(found[MALFORMED])
        self.counts.unsupported += int(found[UNSUPPORTED])
        if found[DNS]:
            self._keep_datagrams(buf, packets, ip, np.flatnonzero(kinds == DNS))
        return _Read(kinds, ip, _first_rows(out, n_segments))

    def _keep_datagrams(self, buf: NDArray[np.uint8], packets: Packets, ip: IpPlaces, rows: NDArray[np.int64]) -> None:
        """Keeps the datagrams in `rows`, up to the limit."""
        for row in rows[: max(DATAGRAM_LIMIT - self.counts.dns, 0)].tolist():
            packet = _ip_packet(buf, ip, row)
            self._datagrams.append(read_datagram(packet, int(packets.ts_ns[row]), int(packets.packet_no[row])))
        self.counts.dns += len(rows)

    def _put_together(
        self, buf: NDArray[np.uint8], packets: Packets, read: _Read
    ) -> tuple[list[bytes], NDArray[np.int64]]:
        """The IP packets that became whole, and the rows of the fragments that completed them. Counts the other
        fragments."""
        given_up, over_limit = self._fragments.n_given_up, self._fragments.n_over_limit
        wholes, completing = [], []
        for row in np.flatnonzero(read.kinds == IP_FRAGMENT).tolist():
            whole = self._fragments.add(_ip_packet(buf, read.ip, row), int(packets.ts_ns[row]))
            if whole is None:
                self.counts.fragments += 1
                continue
            wholes.append(whole)
            completing.append(row)
        self.counts.given_up += self._fragments.n_given_up - given_up
        self.counts.over_limit += self._fragments.n_over_limit - over_limit
        return wholes, np.array(completing, np.int64)


def _new_state() -> LinkState:
    return LinkState(no_packets(), np.zeros(1, SEGMENT_ROW))


def _first_rows(columns: Any, n: int) -> Segments:
    return Segments(*(column[:n] for column in columns))


def _ip_packet(buf: NDArray[np.uint8], ip: IpPlaces, row: int) -> IpPacket:
    place = int(ip.place[row])
    return read_ip_packet(buf[place : place + int(ip.captured[row])].tobytes(), int(ip.length[row]))


def _as_packets(wholes: list[bytes], packets: Packets, rows: NDArray[np.int64]) -> Packets:
    """Whole IP packets that follow each other in a block, with the times and numbers of these packets."""
    sizes = np.array([len(whole) for whole in wholes], np.int32)
    starts = np.cumsum(sizes, dtype=np.int64) - sizes
    linktypes = np.full(len(wholes), RAW_LINKTYPES[0], np.uint16)
    return Packets(packets.ts_ns[rows], packets.packet_no[rows], starts, sizes, sizes, linktypes)


def _in_order(parts: list[Segments], order: NDArray[np.int64]) -> Segments:
    names = Segments.__dataclass_fields__
    return Segments(*(np.concatenate([getattr(part, name) for part in parts])[order] for name in names))
