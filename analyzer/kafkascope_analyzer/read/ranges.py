"""Ranges of captures, which can be read apart from each other, and how what was read of them joins.

Packets are not numbered in a file and their places are not listed, so a range begins at the first record that can be
proved to be one (parsers.capture.resume). What comes before it is read too, as far as the link layer's memory goes back
(copies of packets, IP fragments), and then dropped. Only pcap files without compression are divided; any other file is
one range.

A plan is right where each range begins at the byte behind the last record of the range before it, and where each file
follows the file whose end was read before it. Both are known when all is read (`join`). By induction from the file's
first byte the ranges are then what one reading of the whole file gives. A plan that was wrong is made again with what
is known by then.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.read.place import CapturePlace, ReadableFile
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_analyzer.read.series import SeriesFinder, first_packet, looks_alike
from kafkascope_analyzer.read.source import BLOCK_BYTES, Block, CaptureFile, CaptureInfo
from kafkascope_analyzer.read.window import OneBuffer, Window
from kafkascope_parsers.capture import HEAD_BYTES, CaptureReader, Packets, PcapReader, compression_of, open_reader
from kafkascope_parsers.capture.pcap import FILE_HEADER_BYTES
from kafkascope_parsers.errors import CaptureError
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.link.duplicates import COPY_NS, RECENT

RANGE_BYTES = 128 << 20
"""Bytes of a range: some seconds of work, and many times what has to be read before it."""
_LEAD_BYTES = 4 << 20
"""Bytes that are read before a range, unless they turn out to be too few."""
_MOST_LEAD_BYTES = 64 << 20
"""Bytes that are read before a range at the most: those of COPY_NS at 10 Gbit/s."""
_LEAD_PACKETS = 4 * RECENT
"""Packets before a range that are enough: half of them may be copies, and some carry no TCP."""
_LEAD_NS = 4 * COPY_NS
"""Time before a range that is enough: a copy comes within COPY_NS."""
_LEAST_LEAD_PACKETS = 256
"""Packets before a range at the least, whatever the time between them: what proves a copy may be older."""
_BETWEEN_FILES_NS = 1_000_000_000
"""Of a compressed file, the packets of this time before the next file begins are read as what comes before it."""
_UNKNOWN_NS = 1 << 62
_PEEK_BYTES = 1 << 16
_MOST_OPENED = 16
"""Files that are looked into at the same time: a store takes tens of milliseconds for each."""
_RECORD_BYTES = 1 << 20
"""Bytes behind a range that are read for its last record. A longer record makes the plan wrong: the range is read again
as one with the next."""


@dataclass(frozen=True, slots=True)
class CaptureRange:
    """Bytes [first, last) of the capture `capture_id` at `place`, by where records begin; last: None is the end of the
    file. number: of the range in its file. previous: the capture that it continues, by number and place; None where it
    begins a series, or for all but the first range of a file.
    """

    capture_id: int
    number: int
    place: CapturePlace
    first: int = 0
    last: int | None = None
    previous: tuple[int, CapturePlace] | None = None
    may_be_empty: bool = False


@dataclass(slots=True)
class RangeSummary:
    """What was found in a range. first: the first byte that was asked for; first_byte: where its first record begins;
    end_byte: where the record begins that
    follows its last one. previous: number of the capture whose end was read before it, -1 where none was. begin_ns: the
    time of its first packet, None where there is none; info.kinds are what its packets were.
    """

    capture_id: int
    number: int
    first: int
    first_byte: int
    end_byte: int
    previous: int
    begin_ns: int | None
    info: CaptureInfo


@dataclass(frozen=True, slots=True)
class Joined:
    """What the ranges give together. captures: in order; series: of each capture, -1 where it has no packets;
    packets_before: by capture and range, the packets of the capture before the range.

    wrong_ends: times of the last packets of the captures, where the plan took a file for the wrong one's continuation;
    wrong_joints: (capture, `first`) of the ranges that do not begin where the one before them ends. Where there is
    either, nothing else is of use.
    """

    captures: list[CaptureInfo] = field(default_factory=list)
    series: list[int] = field(default_factory=list)
    packets_before: dict[tuple[int, int], int] = field(default_factory=dict)
    wrong_joints: frozenset[tuple[int, int]] = frozenset()
    wrong_ends: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """Whether the plan was right."""
        return not self.wrong_joints and not self.wrong_ends


def plan_ranges(
    inputs: Sequence[CapturePlace],
    range_bytes: int = RANGE_BYTES,
    *,
    ends_ns: Mapping[int, int] | None = None,
    joints: frozenset[tuple[int, int]] = frozenset(),
) -> tuple[CaptureRange, ...]:
    """Divides captures, which are in time order, into ranges of some range_bytes. ends_ns: the times of last packets
    that are known; joints: (capture, `first`) of ranges that have to be one with the range before them.

    Raises CaptureError where a capture cannot be read.
    """
    if len(inputs) == 1:  # several have been looked into when they were put in order
        next(CaptureFile(inputs[0], _PEEK_BYTES).blocks(), None)
    previous = _previous_captures(inputs, ends_ns or {})
    ranges: list[CaptureRange] = []
    for capture_id, place in enumerate(inputs):
        starts = _starts(place, range_bytes)
        pairs = list(zip(starts, [*starts[1:], None], strict=True))
        for number, (first, last) in enumerate(_merged(pairs, capture_id, joints)):
            before = previous.get(capture_id) if number == 0 else None
            ranges.append(CaptureRange(capture_id, number, place, first, last, before, len(inputs) > 1))
    return tuple(ranges)


def _merged(
    pairs: list[tuple[int, int | None]], capture_id: int, joints: frozenset[tuple[int, int]]
) -> list[tuple[int, int | None]]:
    """The ranges of a capture, those at joints one with what is before them."""
    merged: list[tuple[int, int | None]] = []
    for first, last in pairs:
        if merged and (capture_id, first) in joints:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged


def _starts(place: CapturePlace, range_bytes: int) -> list[int]:
    """Where the ranges of a capture begin."""
    return [0] if _pcap_reader(place) is None else list(range(0, max(place.size_bytes(), 1), range_bytes))


def _pcap_reader(place: CapturePlace) -> PcapReader | None:
    """The reader of a file that can be divided; None for any other."""
    try:
        with place.open() as file:
            head = _read_fully(file, HEAD_BYTES)
            if not file.seekable() or compression_of(head) != "none":
                return None
        reader = open_reader(head, str(place))
    except OSError as error:
        raise CaptureError(error.strerror or str(error), name=str(place)) from error
    except CaptureError:  # a file without packets may stand in a series; whoever reads it says what it is
        return None
    return reader if isinstance(reader, PcapReader) else None


def _previous_captures(
    inputs: Sequence[CapturePlace], ends_ns: Mapping[int, int]
) -> dict[int, tuple[int, CapturePlace]]:
    """The capture that each one continues, as far as it does. Where the end of a file is not known without reading it,
    it is taken to be where the next file of a like name begins."""
    if len(inputs) == 1:
        return {}
    with ThreadPoolExecutor(_MOST_OPENED) as pool:
        begins = [first_ns for first_ns, _ in pool.map(first_packet, inputs)]
        ends = list(pool.map(lambda i: ends_ns.get(i) or _end_ns(inputs[i]), range(len(inputs))))
    finder, last_of, previous = SeriesFinder(), dict[int, int](), dict[int, tuple[int, CapturePlace]]()
    for i, place in enumerate(inputs):
        if begins[i]:
            series = finder.series_of(place, begins[i])
            if series in last_of:
                previous[i] = (last_of[series], inputs[last_of[series]])
            last_of[series] = i
            finder.ended_at(series, ends[i] or _next_alike(inputs, begins, i))
    return previous


def _next_alike(inputs: Sequence[CapturePlace], begins: Sequence[int], i: int) -> int:
    """When the next file of a like name begins."""
    alike = (j for j in range(i + 1, len(inputs)) if looks_alike(str(inputs[i]), str(inputs[j])))
    return next((begins[j] for j in alike), _UNKNOWN_NS)


def _end_ns(place: CapturePlace) -> int | None:
    """The time of the last packet of a file, where it can be known without reading all of it."""
    lead = _lead_in(place, None)
    return int(lead.packets.ts_ns[-1]) if lead is not None and len(lead.packets) else None


class _Lead(NamedTuple):
    """Packets before a place in a pcap file, the bytes their offsets count in, and where the first record begins that
    is not before it."""

    buf: NDArray[np.uint8]
    packets: Packets
    end_byte: int


def _lead_in(place: CapturePlace, byte: int | None) -> _Lead | None:
    """What comes before a byte of a pcap file (None: before its end), enough of it; None for other files. Raises
    CaptureError."""
    reader = _pcap_reader(place)
    if reader is None:
        return None
    size = place.size_bytes()
    end, n_bytes = size if byte is None else min(byte, size), _LEAD_BYTES
    try:
        while True:
            first = end - n_bytes if end - n_bytes > FILE_HEADER_BYTES else 0
            found = _read_lead(place, first, end)
            if first == 0 or _is_enough(found.packets) or n_bytes >= _MOST_LEAD_BYTES:
                return found
            n_bytes *= 2
    except OSError as error:
        raise CaptureError(error.strerror or str(error), name=str(place)) from error


def _is_enough(packets: Packets) -> bool:
    n = len(packets)
    if n < _LEAST_LEAD_PACKETS:
        return False
    return n >= _LEAD_PACKETS or int(packets.ts_ns[-1]) - int(packets.ts_ns[0]) >= _LEAD_NS


def _read_lead(place: CapturePlace, first: int, end: int) -> _Lead:
    """The packets whose records begin in the bytes [first, end)."""
    with place.open() as file:
        reader = open_reader(_read_fully(file, HEAD_BYTES), str(place))
        assert isinstance(reader, PcapReader)
        file.seek(first)
        data = _read_fully(file, end - first + _RECORD_BYTES)
    buf, is_all = np.frombuffer(data, np.uint8), len(data) < end - first + _RECORD_BYTES
    if first:
        reader.begin_at(first)
    packets = _joined_packets(list(_proved_packets(reader, buf, end - first, is_all=is_all)))
    starts = reader.record_starts(packets)
    n_before = int(np.searchsorted(starts, end - first))
    end_byte = first + int(starts[n_before]) if n_before < len(packets) else reader.position
    return _Lead(buf, _part(packets, slice(0, n_before)), end_byte)


def _proved_packets(reader: PcapReader, buf: NDArray[np.uint8], end: int, *, is_all: bool) -> Iterator[Packets]:
    """The packets in buf, as far as the place `end` or further. Where the reader is not at the beginning of the file,
    from the first one on that can be proved. is_all: nothing follows buf in the file."""
    at, is_proved = 0, reader.position == 0
    while True:
        if not is_proved:
            n, is_proved = reader.pass_over(buf, at, len(buf), is_all)
            at += n
            if not is_proved:
                return
        try:
            packets, n = reader.read_packets(buf, at, len(buf), True)
        except CaptureError:  # a corrupt place: whoever reads the range before this one reports it
            is_proved = False
            continue
        at += n
        yield packets
        if not n or at >= end:
            return


def _joined_packets(parts: Sequence[Packets]) -> Packets:
    if not parts:
        empty = np.empty(0, np.int64)
        return Packets(empty, empty, empty, empty.astype(np.int32), empty.astype(np.int32), empty.astype(np.uint16))
    return Packets(*(np.concatenate([getattr(part, name) for part in parts]) for name in Packets.__slots__))


def _part(packets: Packets, rows: slice, n_before: int = 0) -> Packets:
    """Some of the packets, with numbers that are less by n_before."""
    columns = {name: getattr(packets, name)[rows] for name in Packets.__slots__}
    columns["packet_no"] = columns["packet_no"] - n_before
    return Packets(**columns)


def _read_fully(file: ReadableFile, size: int) -> bytes:
    """The next bytes; fewer only at the end of the file."""
    data = bytearray()
    while len(data) < size:
        more = file.read(size - len(data))
        if not more:
            break
        data += more
    return bytes(data)


class _UpTo:
    """A file up to a byte, at which it seems to end. See `Unpacked`."""

    problem: str | None = None

    def __init__(self, file: ReadableFile, n_bytes: int | None) -> None:
        self._file, self._left = file, n_bytes

    def readinto(self, target: memoryview) -> int:
        """As `Unpacked.readinto`."""
        if self._left is not None:
            target = target[: self._left]
        n = self._file.readinto(target) or 0
        if self._left is not None:
            self._left -= n
        return n


class _RangeFile(CaptureFile):
    """A part of a pcap file, from where a record begins. `end_byte` is known when the blocks are through."""

    def __init__(self, part: CaptureRange, first_byte: int, block_bytes: int) -> None:
        super().__init__(part.place, block_bytes, may_be_empty=part.may_be_empty)
        self._part, self._first, self._block = part, first_byte, block_bytes
        self.end_byte = first_byte

    def _blocks_of(self, file: ReadableFile) -> Iterator[Block]:
        """As of a whole file; the packets of the records that begin in the range."""
        last = self._part.last
        reader = open_reader(_read_fully(file, HEAD_BYTES), self.info.path)
        assert isinstance(reader, PcapReader)
        self.info.format = reader.format
        self.info.linktypes, self.info.snaplen = list(reader.linktypes), reader.snaplen
        file.seek(self._first)
        if self._first:
            reader.begin_at(self._first)
        self.end_byte = self._first
        if last is not None and self._first >= last:
            return
        limit = None if last is None else last - self._first + _RECORD_BYTES
        n_bytes = self._block if limit is None else min(self._block, limit + 1)  # one more: to see the end
        window = Window(_UpTo(file, limit), OneBuffer(max(n_bytes, HEAD_BYTES)))
        while True:
            packets, consumed = self._read(reader, window)
            base = reader.position - consumed - window.start
            if last is not None:
                starts = reader.record_starts(packets) + base
                n = int(np.searchsorted(starts, last))
                self.end_byte = int(starts[n]) if n < len(packets) else reader.position
                packets = _part(packets, slice(0, n))
            self.info.take(packets, reader)
            if len(packets):
                yield Block(window.buf[: window.filled], packets)
            window.start += consumed
            if last is not None and self.end_byte >= last:
                break
            if not consumed:
                if not window.final:
                    window.more()
                elif not self._goes_on(reader, window):
                    break
        if last is None:
            self.end_byte = reader.position + window.filled - window.start
        self.info.size_bytes = self.end_byte - self._first

    def _digest(self, file: ReadableFile) -> str | None:
        """The first range digests the file."""
        return super()._digest(file) if self._part.first == 0 else None

    def _may_pass_over(self, reader: CaptureReader) -> bool:
        """Whether there was a packet before a corrupt place."""
        return self._first > 0 or super()._may_pass_over(reader)


class RangeReading:
    """One range of a capture as blocks of TCP segments. `summary` is complete when the blocks are through."""

    def __init__(self, part: CaptureRange, block_bytes: int = BLOCK_BYTES) -> None:
        self._part, self._block_bytes = part, block_bytes
        self._link = LinkReader()
        self.summary: RangeSummary | None = None

    def blocks(self) -> Iterator[ReadBlock]:
        """Blocks whose packets are numbered from the range's first packet on, without a series. Raises CaptureError."""
        part, first_byte = self._part, 0
        if part.first:
            lead = _lead_in(part.place, part.first)
            assert lead is not None  # the plan divides only what can be divided
            self._link.read_segments(lead.buf, lead.packets)
            first_byte = lead.end_byte
        elif part.previous is not None:
            self._read_previous(part.previous[1])
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

    def _read_previous(self, place: CapturePlace) -> None:
        """Reads the end of the file that this one continues."""
        lead = _lead_in(place, None)
        if lead is not None:
            self._link.read_segments(lead.buf, lead.packets)
            return
        begin_ns = first_packet(self._part.place)[0]
        for block in CaptureFile(place, self._block_bytes, may_be_empty=True).blocks():
            if int(block.packets.ts_ns[-1]) >= begin_ns - _BETWEEN_FILES_NS:
                self._link.read_segments(block.buf, block.packets)


def join(summaries: Sequence[RangeSummary]) -> Joined:
    """Joins what was read of all ranges of a plan, and says where the plan was wrong."""
    ordered = sorted(summaries, key=lambda each: (each.capture_id, each.number))
    joined, wrong, before = Joined(), set(), dict[int, int]()
    begins: list[int | None] = []
    ends: list[RangeSummary] = []
    for each in ordered:
        key = (each.capture_id, each.number)
        if each.number == 0:
            joined.captures.append(replace(each.info))
            joined.packets_before[key] = 0
            begins.append(each.begin_ns)
            ends.append(each)
            before[each.capture_id] = each.previous
            continue
        if each.first_byte != ends[-1].end_byte:
            wrong.add((each.capture_id, each.first))
        capture = joined.captures[-1]
        joined.packets_before[key] = capture.n_packets
        capture.add(each.info)
        begins[-1] = each.begin_ns if begins[-1] is None else begins[-1]
        ends[-1] = each
    is_wrong, series = _series_of(joined.captures, begins, before)
    ends_ns = {i: info.end_ts_ns or 0 for i, info in enumerate(joined.captures)} if is_wrong else {}
    return Joined(joined.captures, series, joined.packets_before, frozenset(wrong), ends_ns)


def _series_of(
    captures: Sequence[CaptureInfo], begins: Sequence[int | None], previous: Mapping[int, int]
) -> tuple[bool, list[int]]:
    """Whether the plan took a file for the continuation of the wrong one, and the series of each."""
    finder, series, last_of, is_wrong = SeriesFinder(), list[int](), dict[int, int](), False
    for i, (info, begin_ns) in enumerate(zip(captures, begins, strict=True)):
        if begin_ns is None:
            series.append(-1)
            continue
        number = finder.series_of(info.path, begin_ns)
        is_wrong |= last_of.get(number, -1) != previous[i]
        last_of[number] = i
        series.append(number)
        finder.ended(number, info)
    return is_wrong, series
