"""Blanks in a piece the content that must not be passed on: messages that may hold secrets, and bytes that did not
decode.

The piece is ingested to find where such messages and bytes begin and how long they are; then their bytes become zeros
in the file, in each segment that carries them, including retransmissions. A message keeps its size and the fields by
which requests and responses are paired, so that Wireshark stays in step. Lengths, times and headers of packets stay as
they are; checksums of TCP no longer fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from kafkascope_analyzer.cut.flows import direction_keys
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import REQUESTS, UNDECODED
from kafkascope_parsers.capture import HEAD_BYTES, Packets, open_reader
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.link import LinkReader, Segments
from kafkascope_parsers.schema.secrets import APIS_ABOUT_SECRETS

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

BLOCK_BYTES = 48 << 20
"""Bytes of the piece that are read at a time. No packet is longer."""
REQUEST_HEAD, RESPONSE_HEAD, NO_HEAD = 12, 8, 0
"""Bytes at the beginning of a message that stay: its size, API key and version, and correlation id."""
_SIZE_BYTES = 4
_HIDDEN_REASONS = (
    "gap",
    "mid_stream_start",
    "not_kafka",
    "unknown_api",
    "unknown_version",
    "oversize",
    "sasl_token",
    "orphan_response",
    "capture_end",
    "connection_end",
)
"""Reasons of undecoded bytes whose content is not known. A body that is malformed, or cut by the snap length, belongs
to a request whose API is known."""
_IN_FRAGMENTS = (
    "the packets hold secrets in IP fragments, which cannot be blanked; --with-secrets copies packets as they are"
)


@dataclass(frozen=True, slots=True)
class _Marked:
    """Messages and ranges to blank: the packet with the first byte, the number of bytes, and how many of them stay."""

    packet_no: Ints
    length: Ints
    head: Ints

    def __len__(self) -> int:
        return len(self.packet_no)


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Ranges of streams to blank, by direction of a flow: sequence numbers [start, start + length), modulo 2^32."""

    direction: NDArray[np.uint64]
    start: Ints
    length: Ints


def blank_secrets(piece: Path, dataset: Dataset) -> int:
    """Blanks the secrets of a pcapng file in place. dataset: the piece's own. Returns the number of messages and ranges
    that were blanked. Raises UsageError where one cannot be."""
    marked = _marked(dataset)
    if not len(marked):
        return 0
    mapped = np.memmap(piece, np.uint8, "r+")
    whole = np.asarray(mapped)  # kernels are compiled for plain arrays
    ranges = _located(whole, marked)
    for view, segments in _blocks(whole):
        _blank(view, segments, ranges)
    mapped.flush()
    return len(marked)


def _marked(dataset: Dataset) -> _Marked:
    """Returns the messages and ranges in the tables of the piece that have to be blanked."""
    secret = one_of("api_name", sorted(APIS_ABOUT_SECRETS))
    asked = _rows(dataset, REQUESTS, ("request_packet_no", "request_bytes"), secret, REQUEST_HEAD)
    answered = _rows(dataset, REQUESTS, ("response_packet_no", "response_bytes"), secret, RESPONSE_HEAD)
    unknown = _rows(dataset, UNDECODED, ("packet_no", "bytes"), one_of("reason", list(_HIDDEN_REASONS)), NO_HEAD)
    packet_no, length, head = np.concatenate([asked, answered, unknown], axis=1)
    order = np.argsort(packet_no, kind="stable")
    return _Marked(packet_no[order], length[order], head[order])


def _rows(dataset: Dataset, table: Table, names: tuple[str, str], only: ds.Expression, head: int) -> Ints:
    """Returns packet, length and head of some rows, int64[3, n]."""
    is_known = pc.field(names[0]).is_valid() & pc.field(names[1]).is_valid()
    parts = [np.zeros((3, 0), np.int64)]
    for batch in scan(dataset, table, list(names), only & is_known):
        packet_no, length = (batch.column(name).cast(pa.int64()).to_numpy() for name in names)
        parts.append(np.stack([packet_no, length, np.full(len(length), head)]))
    return np.concatenate(parts, axis=1)


def _blocks(whole: Bytes) -> Iterator[tuple[Bytes, Segments]]:
    """Yields the segments of the piece, block by block, with the bytes of the file to which their offsets refer."""
    reader, link, start = open_reader(whole[:HEAD_BYTES].tobytes(), "the piece"), LinkReader(), 0
    while start < len(whole):
        view = whole[start : start + BLOCK_BYTES]
        packets, consumed = reader.read_packets(view, 0, len(view), start + len(view) == len(whole))
        if not consumed:
            return
        yield view, _segments(link, view, packets)
        start += consumed


def _segments(link: LinkReader, view: Bytes, packets: Packets) -> Segments:
    return link.read_segments(view, packets)[1]


def _located(whole: Bytes, marked: _Marked) -> _Ranges:
    """Returns the sequence numbers of the marked messages and ranges. A message that does not begin at the start of its
    segment is blanked from the start of that segment on, over its maximum length."""
    directions, starts, lengths = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for view, segments in _blocks(whole):
        row = np.searchsorted(segments.packet_no, marked.packet_no)
        here = np.flatnonzero(row < len(segments))
        here = here[segments.packet_no[row[here]] == marked.packet_no[here]]
        row = row[here]
        length, head = marked.length[here], marked.head[here]
        is_begin = _begins(view, segments, row, length) & (head > 0)
        directions.append(direction_keys(segments)[row])
        starts.append(segments.seq[row].astype(np.int64) + np.where(is_begin, head, 0))
        lengths.append(np.where(is_begin, length - head, length + segments.length[row]))
    return _Ranges(np.concatenate(directions), np.concatenate(starts), np.concatenate(lengths))


def _begins(view: Bytes, segments: Segments, row: Ints, length: Ints) -> NDArray[np.bool_]:
    """Whether each segment begins with the size field of a message of that length."""
    at = segments.offset[row]
    is_whole = (segments.captured[row] >= REQUEST_HEAD) & (at + _SIZE_BYTES <= len(view))
    at = np.where(is_whole, at, 0)
    size = sum(view[at + i].astype(np.int64) << (24 - 8 * i) for i in range(_SIZE_BYTES))
    begins: NDArray[np.bool_] = is_whole & (size == length - _SIZE_BYTES)
    return begins


def _blank(view: Bytes, segments: Segments, ranges: _Ranges) -> None:
    """Writes zeros over the bytes of a block that lie in the ranges. Raises UsageError where IP fragments hold them."""
    keys = direction_keys(segments)
    for direction in np.intersect1d(keys, ranges.direction):
        of_ranges = np.flatnonzero(ranges.direction == direction)
        base = ranges.start[of_ranges[0]]
        start = _relative(ranges.start[of_ranges], base)
        order = np.argsort(start, kind="stable")
        start, length = start[order], ranges.length[of_ranges][order]
        rows = np.flatnonzero((keys == direction) & (segments.captured > 0))
        seq = _relative(segments.seq[rows].astype(np.int64), base)
        end = seq + segments.captured[rows]
        first = np.searchsorted(np.maximum.accumulate(start + length), seq, side="right")
        behind = np.searchsorted(start, end)
        for at in np.flatnonzero(first < behind).tolist():
            offset = int(segments.offset[rows[at]]) - int(seq[at])
            for i in range(int(first[at]), int(behind[at])):
                _zero(
                    view,
                    offset + max(int(seq[at]), int(start[i])),
                    offset + min(int(end[at]), int(start[i] + length[i])),
                )


def _zero(view: Bytes, first: int, end: int) -> None:
    if first < end and end > len(view):
        raise UsageError(_IN_FRAGMENTS)
    view[first:end] = 0


def _relative(seq: Ints, base: np.int64) -> Ints:
    """Returns sequence numbers as distances from a base, -2^31 to 2^31 - 1 (RFC 9293)."""
    distance: Ints = ((seq - base + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
    return distance
