"""Packets to TCP segments, block after block: the kernel for common packets, `odd` for the others."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import PacketArrays
from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.link.datagrams import DATAGRAM_LIMIT, Datagram
from kafkascope_parsers.link.duplicates import no_packets
from kafkascope_parsers.link.fragments import Fragments
from kafkascope_parsers.link.kernel import LinkState, read_common
from kafkascope_parsers.link.layers import DNS, DUPLICATE, MALFORMED, ODD, OTHER, SEGMENT, UNSUPPORTED
from kafkascope_parsers.link.odd import Fragment, NotASegment, Segment, read_odd, read_whole
from kafkascope_parsers.link.segments import SEGMENT_ROW, Segments, room_for_segments


@dataclass(slots=True)
class PacketCounts:
    """What the packets so far were. segments + duplicates + other + malformed + unsupported + fragments = packets.

    duplicates counts segments that the capture had shown already; odd those packets that were read one by one,
    fragments those that were a part of a segment (the last part counts as the segment), given_up IP packets whose
    fragments did not all come, over_limit those of them that a limit cut short; dns datagrams of port 53, which are
    among other.
    """

    segments: int = 0
    duplicates: int = 0
    other: int = 0
    malformed: int = 0
    unsupported: int = 0
    fragments: int = 0
    odd: int = 0
    given_up: int = 0
    over_limit: int = 0
    dns: int = 0

    @property
    def datagrams_left_out(self) -> int:
        """Datagrams beyond DATAGRAM_LIMIT."""
        return max(0, self.dns - DATAGRAM_LIMIT)


class LinkReader:
    """Reads the segments of the files of one capture point, in order, and on the way the first DATAGRAM_LIMIT datagrams
    of port 53 of each file.

    counts: since the start, or the last `take_counts`. State: fragments that wait for the rest of their packet, and the
    last packets, to know copies of them.
    """

    def __init__(self) -> None:
        self.counts = PacketCounts()
        self._fragments = Fragments()
        self._state = LinkState(no_packets(), np.zeros(1, SEGMENT_ROW))
        self._datagrams: list[Datagram] = []

    def take_datagrams(self) -> list[Datagram]:
        """Datagrams since the last call, in capture order."""
        found, self._datagrams = self._datagrams, []
        return found

    def take_counts(self) -> PacketCounts:
        """The counts, which begin anew."""
        taken, self.counts = self.counts, PacketCounts()
        return taken

    def read_segments(self, buf: NDArray[np.uint8], packets: Packets) -> tuple[NDArray[np.uint8], Segments]:
        """The segments of a block, in capture order, and the bytes that their offsets count in.

        These are buf itself, or, where fragments were put together, a copy of buf with the packets made whole after it.
        buf is read as far as len(buf), so pass it cut to what is filled.
        """
        arrays = PacketArrays(
            packets.ts_ns, packets.packet_no, packets.offset, packets.caplen, packets.wirelen, packets.linktype
        )
        out, kinds = room_for_segments(len(packets)), np.empty(len(packets), np.uint8)
        n = read_common(buf, arrays, kinds, self._state, out)
        found = np.bincount(kinds, minlength=DNS + 1)
        self.counts.segments += n
        self.counts.duplicates += int(found[DUPLICATE])
        for kind in (OTHER, MALFORMED, UNSUPPORTED):
            self._count(kind, int(found[kind]))
        common = _first_rows(out, n)
        if found[DNS]:
            self._read_datagrams(buf, packets, np.flatnonzero(kinds == DNS))
        if not found[ODD]:
            return buf, common
        odd_rows = np.flatnonzero(kinds == ODD)
        buf, odd, rows = self.read_one_by_one(buf, packets, odd_rows)
        order = np.argsort(np.concatenate([np.flatnonzero(kinds == SEGMENT), rows]), kind="stable")
        return buf, _merged(common, odd, order)

    def _read_datagrams(self, buf: NDArray[np.uint8], packets: Packets, rows: NDArray[np.int64]) -> None:
        """Keeps the datagrams in `rows`, as far as there is room."""
        for row in rows[: max(DATAGRAM_LIMIT - self.counts.dns, 0)].tolist():
            at = int(packets.offset[row])
            data = buf[at : at + int(packets.caplen[row])].tobytes()
            try:
                read = read_odd(data, int(packets.linktype[row]), int(packets.wirelen[row]))
            except NotASegment:
                continue
            if isinstance(read, Datagram):
                self._datagrams.append(_stamped(read, packets, row))
        self.counts.dns += len(rows)
        self._count(OTHER, len(rows))

    def read_one_by_one(
        self, buf: NDArray[np.uint8], packets: Packets, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], Segments, NDArray[np.int64]]:
        """Reads the packets in `rows` without the kernel: the bytes, their segments, and the row of each segment.

        Copies of packets without fragments are not looked for here.
        """
        found: list[tuple[int, int, Segment]] = []
        annex = bytearray()
        given_up, over_limit = self._fragments.n_given_up, self._fragments.n_over_limit
        for row in rows.tolist():
            at, caplen = int(packets.offset[row]), int(packets.caplen[row])
            self.counts.odd += 1
            try:
                data = buf[at : at + caplen].tobytes()
                read = read_odd(data, int(packets.linktype[row]), int(packets.wirelen[row]))
                while isinstance(read, Fragment):
                    whole = self._fragments.add(read, int(packets.ts_ns[row]))
                    if whole is None:
                        break
                    read, at = read_whole(*whole), len(buf) + len(annex)
                    annex += whole[0]
            except NotASegment as verdict:
                self._count(verdict.kind, 1)
                continue
            if isinstance(read, Fragment):
                self.counts.fragments += 1
                continue
            if isinstance(read, Datagram):
                self._keep(read, packets, row)
                continue
            found.append((row, at, read))
            self.counts.segments += 1
        self.counts.given_up += self._fragments.n_given_up - given_up
        self.counts.over_limit += self._fragments.n_over_limit - over_limit
        if annex:
            buf = np.concatenate([buf, np.frombuffer(annex, np.uint8)])
        return buf, _columns(packets, found), np.array([row for row, _, _ in found], np.int64)

    def _keep(self, read: Datagram, packets: Packets, row: int) -> None:
        """Keeps a datagram that came in fragments."""
        self._count(OTHER, 1)
        if self.counts.dns < DATAGRAM_LIMIT:
            self._datagrams.append(_stamped(read, packets, row))
        self.counts.dns += 1

    def _count(self, kind: int, n: int) -> None:
        if kind == OTHER:
            self.counts.other += n
        elif kind == MALFORMED:
            self.counts.malformed += n
        else:
            self.counts.unsupported += n


def _stamped(read: Datagram, packets: Packets, row: int) -> Datagram:
    return replace(read, ts_ns=int(packets.ts_ns[row]), packet_no=int(packets.packet_no[row]))


def _first_rows(columns: Any, n: int) -> Segments:
    return Segments(*(column[:n] for column in columns))


def _columns(packets: Packets, found: list[tuple[int, int, Segment]]) -> Segments:
    rows = [row for row, _, _ in found]
    read = [segment for _, _, segment in found]
    return Segments(
        packets.ts_ns[rows],
        packets.packet_no[rows],
        _addresses([s.source for s in read]),
        _addresses([s.destination for s in read]),
        np.array([s.source_port for s in read], np.uint16),
        np.array([s.destination_port for s in read], np.uint16),
        np.array([s.seq for s in read], np.uint32),
        np.array([s.ack for s in read], np.uint32),
        np.array([s.flags for s in read], np.uint8),
        np.array([s.window for s in read], np.uint16),
        np.array([at + s.offset for _, at, s in found], np.int64),
        np.array([s.captured for s in read], np.int32),
        np.array([s.length for s in read], np.int32),
    )


def _addresses(packed: list[bytes]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(packed), ">u8").reshape(-1, 2).astype(np.uint64)


def _merged(first: Segments, second: Segments, order: NDArray[np.int64]) -> Segments:
    names = Segments.__dataclass_fields__
    return Segments(*(np.concatenate([getattr(first, name), getattr(second, name)])[order] for name in names))
