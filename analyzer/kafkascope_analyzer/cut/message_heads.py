"""The heads of a piece's messages: size, API key and version, correlation id. They are made from the piece's tables,
and written where the packets have the same bytes.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.cut.flows import direction_keys
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import scan
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers.link import Segments

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_MESSAGE_HEAD = np.dtype([("size", ">i4"), ("api_key", ">i2"), ("api_version", ">i2"), ("correlation_id", ">i4")])
_ANSWER_HEAD = np.dtype([("size", ">i4"), ("correlation_id", ">i4")])


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of a piece's messages, by the packet with their first byte. length: length of the whole message."""

    packet_no: Ints
    length: Ints
    head: list[bytes]


def heads_of(dataset: Dataset) -> Heads:
    """Returns the heads of the messages from the dataset of a piece."""
    columns = ("request_bytes", "api_key", "api_version", "correlation_id")
    asked = _heads(dataset, ("request_packet_no", *columns), _MESSAGE_HEAD)
    answered = _heads(dataset, ("response_packet_no", "response_bytes", "correlation_id"), _ANSWER_HEAD)
    packet_no = np.concatenate([asked[0], answered[0]])
    length, head = np.concatenate([asked[1], answered[1]]), [*asked[2], *answered[2]]
    order = np.argsort(packet_no, kind="stable")
    return Heads(packet_no[order], length[order], [head[i] for i in order.tolist()])


def _heads(dataset: Dataset, names: tuple[str, ...], layout: np.dtype[np.void]) -> tuple[Ints, Ints, list[bytes]]:
    """Returns packet, length and head of the requests, or the responses, of which all fields are known. names: columns
    for packet, bytes, and the fields that follow the size."""
    is_known = pc.is_valid(pc.field(names[0]))
    for name in names[1:]:
        is_known &= pc.is_valid(pc.field(name))
    packets, lengths, heads = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], list[bytes]()
    for batch in scan(dataset, REQUESTS, list(names), is_known & (pc.field("decoded_by") == "plain")):
        packet_no, length, *others = (batch.column(name).cast(pa.int64()).to_numpy() for name in names)
        rows = np.zeros(len(length), layout)
        for name, values in zip(layout.names or (), (length - 4, *others), strict=True):
            rows[name] = values
        packets.append(packet_no)
        lengths.append(length)
        heads += [row.tobytes() for row in rows]
    return np.concatenate(packets), np.concatenate(lengths), heads


class MessageHeads:
    """Writes the heads of messages at their places: at the beginning of a segment, or directly after the previous
    message."""

    def __init__(self, heads: Heads) -> None:
        self._heads = heads
        self._next: dict[int, int] = {}
        """By direction of a flow: the sequence number after the last message."""

    def put(self, buf: Bytes, segments: Segments, new: Bytes, payload: Ints) -> None:
        """Copies the heads in a block's segments. payload: where the payload of each begins in `new`."""
        heads, directions = self._heads, direction_keys(segments).tolist()
        first = np.searchsorted(heads.packet_no, segments.packet_no).tolist()
        behind = np.searchsorted(heads.packet_no, segments.packet_no, side="right").tolist()
        for row in np.flatnonzero(np.array(first) < np.array(behind)).tolist():
            waiting = list(range(first[row], behind[row]))
            seq, captured, offset = (int(column[row]) for column in (segments.seq, segments.captured, segments.offset))
            due = (self._next.get(directions[row], seq) - seq) & 0xFFFFFFFF
            at = due if due < captured else 0
            while (found := self._found(buf, offset + at, captured - at, waiting)) is not None:
                waiting.remove(found)
                head, start = heads.head[found], int(payload[row]) + at
                new[start : start + len(head)] = np.frombuffer(head, np.uint8)
                at += int(heads.length[found])
            self._next[directions[row]] = (seq + at) & 0xFFFFFFFF

    def _found(self, buf: Bytes, at: int, n_bytes: int, waiting: list[int]) -> int | None:
        """Returns the message of the packet whose head is at that offset."""
        data = buf[at : at + min(n_bytes, _MESSAGE_HEAD.itemsize)].tobytes() if n_bytes > 0 else b""
        return next((i for i in waiting if data.startswith(self._heads.head[i])), None)
