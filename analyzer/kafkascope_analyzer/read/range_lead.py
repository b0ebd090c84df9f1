"""The lead of a range in a pcap file: the packets before it that the link layer has to remember, and the first record
that begins at or after it.

A pcap file has no index of its packets, so the first one is found by proof (parsers.capture.resume).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.read.place import CapturePlace, ReadableFile
from kafkascope_parsers.capture import HEAD_BYTES, Packets, PcapReader, open_reader
from kafkascope_parsers.capture.pcap import FILE_HEADER_BYTES
from kafkascope_parsers.compression import compression_of
from kafkascope_parsers.errors import CaptureError
from kafkascope_parsers.link.duplicates import COPY_NS, RECENT

_LEAD_BYTES = 4 << 20
"""Bytes that are read before a range at first."""
_MOST_LEAD_BYTES = 64 << 20
"""Most bytes that are read before a range: those of COPY_NS at 10 Gbit/s."""
_LEAD_PACKETS = 4 * RECENT
"""Number of packets before a range that suffices: half of them may be copies, and some carry no TCP."""
_LEAD_NS = 4 * COPY_NS
"""Time before a range that suffices: a copy comes within COPY_NS."""
_LEAST_LEAD_PACKETS = 256
"""Fewest packets before a range, whatever the time between them: the packet that proves a copy may be older."""
RECORD_BYTES = 1 << 20
"""Bytes after a range that are read for its last record. A longer record is left to the next range."""


class Lead(NamedTuple):
    """Packets before a byte of a pcap file, the bytes in which their offsets count, and the byte of the first record
    that begins there or later."""

    buf: NDArray[np.uint8]
    packets: Packets
    end_byte: int


def lead_in(place: CapturePlace, byte: int | None) -> Lead | None:
    """Returns the lead before a byte of a pcap file (None: before its end); None for other files. Raises
    CaptureError."""
    reader = pcap_reader(place)
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


def _read_lead(place: CapturePlace, first: int, end: int) -> Lead:
    """Returns the packets whose records begin in the bytes [first, end)."""
    with place.open() as file:
        reader = open_reader(read_fully(file, HEAD_BYTES), str(place))
        assert isinstance(reader, PcapReader)
        file.seek(first)
        data = read_fully(file, end - first + RECORD_BYTES)
    buf, is_all = np.frombuffer(data, np.uint8), len(data) < end - first + RECORD_BYTES
    if first:
        reader.begin_at(first)
    packets = _joined_packets(list(_proved_packets(reader, buf, end - first, is_all=is_all)))
    starts = reader.record_starts(packets)
    n_before = int(np.searchsorted(starts, end - first))
    end_byte = first + int(starts[n_before]) if n_before < len(packets) else reader.position
    return Lead(buf, some_packets(packets, slice(0, n_before)), end_byte)


def _proved_packets(reader: PcapReader, buf: NDArray[np.uint8], end: int, *, is_all: bool) -> Iterator[Packets]:
    """Yields the packets in buf up to `end` or further. Where the reader is not at the beginning of the file, they
    begin with the first one that can be proved. is_all: whether buf reaches the end of the file."""
    at, is_proved = 0, reader.position == 0
    while True:
        if not is_proved:
            n, is_proved = reader.pass_over(buf, at, len(buf), is_all)
            at += n
            if not is_proved:
                return
        try:
            packets, n = reader.read_packets(buf, at, len(buf), True)
        except CaptureError:  # a corrupt place, which the reading of the previous range reports
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


def pcap_reader(place: CapturePlace) -> PcapReader | None:
    """Returns the reader of a file that can be divided; None for any other."""
    try:
        with place.open() as file:
            head = read_fully(file, HEAD_BYTES)
            if not file.seekable() or compression_of(head) != "none":
                return None
        reader = open_reader(head, str(place))
    except OSError as error:
        raise CaptureError(error.strerror or str(error), name=str(place)) from error
    except CaptureError:  # a series may have a file without packets; its reading reports it
        return None
    return reader if isinstance(reader, PcapReader) else None


def some_packets(packets: Packets, rows: slice) -> Packets:
    """Returns the chosen packets."""
    return Packets(*(getattr(packets, name)[rows] for name in Packets.__slots__))


def read_fully(file: ReadableFile, size: int) -> bytes:
    """Reads the next bytes; fewer only at the end of the file."""
    data = bytearray()
    while len(data) < size:
        more = file.read(size - len(data))
        if not more:
            break
        data += more
    return bytes(data)
