"""Reads one range of a capture: blocks of TCP segments, and a summary.

The packets before the range are read too, as far as the link layer's memory goes back (copies of packets, IP
fragments), and then dropped.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from kafkascope_analyzer.read.place import CapturePlace, ReadableFile
from kafkascope_analyzer.read.range_lead import RECORD_BYTES, lead_in, read_fully, some_packets
from kafkascope_analyzer.read.range_plan import CaptureRange
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_analyzer.read.series import first_packet
from kafkascope_analyzer.read.source import BLOCK_BYTES, Block, CaptureFile, CaptureInfo
from kafkascope_analyzer.read.window import OneBuffer, Window
from kafkascope_parsers.capture import HEAD_BYTES, CaptureReader, PcapReader, open_reader
from kafkascope_parsers.link import LinkReader

_BETWEEN_FILES_NS = 1_000_000_000
"""Span at the end of a compressed file that is read as the lead of the next file."""


@dataclass(slots=True)
class RangeSummary:
    """The summary of a range. first: the first requested byte; first_byte: the byte of its first record; end_byte: the
    byte of the record after its last one. previous: number of the capture whose end was read before it, -1 for none.
    begin_ns: the time of its first packet, None where there is none; info.kinds: its packets by kind.
    """

    capture_id: int
    number: int
    first: int
    first_byte: int
    end_byte: int
    previous: int
    begin_ns: int | None
    info: CaptureInfo


class RangeReading:
    """One range of a capture as blocks of TCP segments. `summary` is complete after the last block."""

    def __init__(self, part: CaptureRange, block_bytes: int = BLOCK_BYTES) -> None:
        self._part, self._block_bytes = part, block_bytes
        self._link = LinkReader()
        self.summary: RangeSummary | None = None

    def blocks(self) -> Iterator[ReadBlock]:
        """Yields blocks whose packets are numbered from the range's first packet on, without a series. Raises
        CaptureError."""
        part, first_byte = self._part, 0
        if part.first:
            lead = lead_in(part.place, part.first)
            assert lead is not None  # the plan divides only files that have a lead
            self._link.read_segments(lead.buf, lead.packets)
            first_byte = lead.end_byte
        elif part.previous is not None:
            self._link = self._link_behind(part.previous[1])
        self._link.take_counts()
        self._link.take_datagrams()
        is_whole = part.first == 0 and part.last is None
        file = (
            CaptureFile(part.place, self._block_bytes, may_be_empty=part.may_be_empty)
            if is_whole
            else _RangeFile(part, first_byte, self._block_bytes)
        )
        begin_ns = None
        for block in file.blocks():
            if begin_ns is None:
                begin_ns = int(block.packets.ts_ns[0])
            buf, segments = self._link.read_segments(block.buf, block.packets)
            yield ReadBlock(0, part.capture_id, buf, segments, self._link.take_datagrams())
        file.info.kinds = self._link.take_counts()
        end_byte = file.end_byte if isinstance(file, _RangeFile) else 0
        previous = part.previous[0] if part.previous is not None else -1
        self.summary = RangeSummary(
            part.capture_id, part.number, part.first, first_byte, end_byte, previous, begin_ns, file.info
        )

    def _link_behind(self, previous: CapturePlace | LinkReader) -> LinkReader:
        """Returns the state of the link layer at the end of the file that this one continues."""
        if isinstance(previous, LinkReader):
            return deepcopy(previous)  # a copy, because the plan may be read again
        return link_at_end(previous, first_packet(self._part.place)[0], self._block_bytes)


def link_at_end(place: CapturePlace, from_ns: int, block_bytes: int = BLOCK_BYTES) -> LinkReader:
    """Returns the state of the link layer at the end of a capture, for a file that begins at from_ns. Raises
    CaptureError."""
    link, lead = LinkReader(), lead_in(place, None)
    if lead is not None:
        link.read_segments(lead.buf, lead.packets)
    else:
        for block in CaptureFile(place, block_bytes, may_be_empty=True).blocks():
            if int(block.packets.ts_ns[-1]) >= from_ns - _BETWEEN_FILES_NS:
                link.read_segments(block.buf, block.packets)
    link.take_counts()
    link.take_datagrams()
    return link


class _RangeFile(CaptureFile):
    """A part of a pcap file that begins with a record. `end_byte` is known after the last block."""

    def __init__(self, part: CaptureRange, first_byte: int, block_bytes: int) -> None:
        super().__init__(part.place, block_bytes, may_be_empty=part.may_be_empty)
        self._part, self._first, self._block = part, first_byte, block_bytes
        self.end_byte = first_byte

    def _blocks_of(self, file: ReadableFile) -> Iterator[Block]:
        """Yields blocks as of a whole file, with the packets of the records that begin in the range."""
        last = self._part.last
        reader = open_reader(read_fully(file, HEAD_BYTES), self.info.path)
        assert isinstance(reader, PcapReader)
        self.info.format = reader.format
        self.info.linktypes, self.info.snaplen = list(reader.linktypes), reader.snaplen
        file.seek(self._first)
        if self._first:
            reader.begin_at(self._first)
        self.end_byte = self._first
        if last is not None and self._first >= last:
            return
        limit = None if last is None else last - self._first + RECORD_BYTES
        n_bytes = self._block if limit is None else min(self._block, limit + 1)  # one byte more, to see the end
        window = Window(_UpTo(file, limit), OneBuffer(max(n_bytes, HEAD_BYTES)))
        while True:
            packets, consumed = self._read(reader, window)
            base = reader.position - consumed - window.start
            if last is not None:
                starts = reader.record_starts(packets) + base
                n = int(np.searchsorted(starts, last))
                self.end_byte = int(starts[n]) if n < len(packets) else reader.position
                packets = some_packets(packets, slice(0, n))
            self.info.take(packets, reader)
            if len(packets):
                yield Block(window.buf[: window.filled], packets)
            window.start += consumed
            if last is not None and self.end_byte >= last:
                break
            if not consumed:
                if not window.final:
                    window.more()
                elif last is not None or not self._goes_on(reader, window):
                    break  # the next range begins with the record that is not whole here
        if last is None:
            self.end_byte = reader.position + window.filled - window.start
        self.info.size_bytes = self.end_byte - self._first

    def _digest(self, file: ReadableFile) -> str | None:
        """Returns the digest, which only the first range of a file computes."""
        return super()._digest(file) if self._part.first == 0 else None

    def _may_pass_over(self, reader: CaptureReader) -> bool:
        """Whether there was a packet before a corrupt place."""
        return self._first > 0 or super()._may_pass_over(reader)


class _UpTo:
    """A file that seems to end at a given byte. See `Unpacked`."""

    problem: str | None = None

    def __init__(self, file: ReadableFile, n_bytes: int | None) -> None:
        self._file, self._left = file, n_bytes

    def readinto(self, target: memoryview) -> int:
        """Reads like `Unpacked.readinto`."""
        if self._left is not None:
            target = target[: self._left]
        n = self._file.readinto(target) or 0
        if self._left is not None:
            self._left -= n
        return n
