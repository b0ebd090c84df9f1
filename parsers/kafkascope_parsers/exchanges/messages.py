"""The frames of one direction of a block, decoded once, API by API and batch by batch."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.exchanges.hidden_values import SECRET_API_KEYS, HiddenValues, has_reports, has_secrets
from kafkascope_parsers.framing.layout import WHOLE
from kafkascope_parsers.machine import Columns, DecodeOptions, decode_leading, decode_messages
from kafkascope_parsers.schema import Direction, MessageType, message_type

_SIZE_BYTES = 4
_NO_ACKS = 0


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Decoded messages of one API and direction: a batch. Valid until the next block is pushed.

    columns   their fields
    rows      int64, per message its frame among those of the block and direction, ascending
    frames    FRAME, per message
    numbers   int64, per message the number of its request on its connection
    """

    columns: Columns
    rows: NDArray[np.int64]
    frames: NDArray[np.void]
    numbers: NDArray[np.int64]

    @property
    def message(self) -> MessageType:
        """The type of the messages."""
        return self.columns.message

    @property
    def connections(self) -> NDArray[np.int64]:
        """Number of the connection of each message."""
        return np.ascontiguousarray(self.frames["direction"] >> 1)


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """The requests of a block. messages: decodes them while it is iterated, which can be done once."""

    frames: NDArray[np.void]
    messages: Iterator[Messages]


@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """The responses of a block. open_requests: the requests that `row` of the frames points into, with the columns that
    the handler gave for them (row -1: the request is not in the capture).
    """

    frames: NDArray[np.void]
    open_requests: pa.Table
    messages: Iterator[Messages]


class Failure(NamedTuple):
    """The reason why a whole frame, or its last bytes, are in no decoded message."""

    reason: str
    detail: str


class FrameDecoder:
    """Decodes the whole frames of one direction by their api_key and api_version. numbers: of each frame's request;
    hidden_values: the secrets of their connections. `messages` does the work, and fills these columns:

    decoded       bool per frame
    zeros_after   int64 per frame: zero bytes behind the body of a decoded one
    is_silent     bool per frame: a request that is not answered (Produce with acks=0), cut ones among them
    failures      by frame
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        frames: NDArray[np.void],
        numbers: NDArray[np.int64],
        direction: Direction,
        hidden_values: HiddenValues,
    ) -> None:
        self._data, self._frames, self._numbers, self._direction = data, frames, numbers, direction
        self._hidden_values = hidden_values
        self.decoded = np.zeros(len(frames), np.bool_)
        self.zeros_after = np.zeros(len(frames), np.int64)
        self.is_silent = np.zeros(len(frames), np.bool_)
        self.failures: dict[int, Failure] = {}
        if direction == "request":
            self._note_cut_acks()
            self._note_cut_secrets()

    def messages(self, batch_bytes: int) -> Iterator[Messages]:
        """The decoded messages. batch_bytes: size of the columns of one batch."""
        frames = self._frames
        whole = frames["wholeness"] == WHOLE
        if self._direction == "response":
            for orphan in np.flatnonzero(whole & (frames["row"] < 0)).tolist():
                self.failures[orphan] = Failure("orphan_response", "its request is not in the capture")
            whole &= frames["row"] >= 0
        for key, members in _by_api(frames["api_key"], np.flatnonzero(whole)):
            message = message_type(key, self._direction)
            if message is None:
                self.failures |= {frame: Failure("unknown_api", f"API key {key}") for frame in members.tolist()}
                continue
            starts, ends = frames["start"][members] + _SIZE_BYTES, frames["end"][members]
            versions = frames["api_version"][members]
            options = DecodeOptions(batch_bytes, allow_zeros=True)
            for columns in decode_messages(message, self._data, starts, ends, versions, options):
                rows = members[columns.frame]
                self._note(columns, rows, members)
                if len(rows):
                    columns = self._with_reports(columns, frames["direction"][rows] >> 1)
                    yield Messages(columns, rows, frames.take(rows), self._numbers[rows])

    def _with_reports(self, columns: Columns, connections: NDArray[np.int64]) -> Columns:
        """The columns, with marks at texts that may repeat a secret. connections: number of each row's."""
        if has_secrets(columns.message):
            self._hidden_values.note(columns, connections)
        if not has_reports(columns.message):
            return columns
        return replace(columns, report_may_repeat=self._hidden_values.may_repeat(columns, connections))

    def _note(self, columns: Columns, rows: NDArray[np.int64], members: NDArray[np.int64]) -> None:
        """Takes the results of a batch: rows of the frames that are decoded; members: rows of all that were tried."""
        self.decoded[rows] = True
        self.zeros_after[rows] = columns.zeros_after
        name = columns.message.name
        if columns.message.api_key == PRODUCE and self._direction == "request":
            self.is_silent[rows] = columns.values(columns.message.node("acks")) == _NO_ACKS
        for row in np.flatnonzero(columns.zeros_after).tolist():
            found = f"{name} v{columns.version_used[row]}: {columns.zeros_after[row]} zero bytes after its end"
            self.failures[int(rows[row])] = Failure("trailing_zeros", found)
        for failure in columns.failures:
            frame = int(members[failure.frame])
            if has_secrets(columns.message):
                self._hidden_values.note_unknown([int(self._frames["direction"][frame]) >> 1])
            tried = f"{name} v{self._frames['api_version'][frame]}"
            if failure.kind == "unknown_version":
                self.failures[frame] = Failure("unknown_version", tried)
            else:
                where = f"{failure.kind} at byte {failure.offset}, {failure.path or 'end'}"
                self.failures[frame] = Failure("malformed_body", f"{tried}: {where}")

    def _note_cut_secrets(self) -> None:
        """Takes the connections whose requests with secrets are not whole."""
        cut = self._frames.compress(self._frames["wholeness"] != WHOLE)
        cut = cut[np.isin(cut["api_key"], SECRET_API_KEYS)]
        self._hidden_values.note_unknown((cut["direction"] >> 1).tolist())

    def _note_cut_acks(self) -> None:
        """Takes the acks of Produce requests that are not whole: they come before the records."""
        rows = np.flatnonzero((self._frames["api_key"] == PRODUCE) & (self._frames["wholeness"] != WHOLE))
        message = message_type(PRODUCE, "request")
        if not len(rows) or message is None:
            return
        cut = self._frames[rows]
        acks, known = decode_leading(
            message, message.node("acks"), self._data, cut["start"] + _SIZE_BYTES, cut["end"], cut["api_version"]
        )
        self.is_silent[rows] = known & (acks == _NO_ACKS)


def _by_api(api_keys: NDArray[np.int16], members: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Members by API key, each group in order."""
    order = members[np.argsort(api_keys[members], kind="stable")]
    keys, first = np.unique(api_keys[order], return_index=True)
    yield from zip(keys.tolist(), np.split(order, first[1:]), strict=False)  # without members there is one empty group
