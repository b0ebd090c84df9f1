"""`Exchanges`: streams in, block after block; settled exchanges, undecoded bytes and greetings out.

For each block: cut the requests into frames, decode them (only their fields show which expect no response), cut the
responses and pair them, decode these, and settle the requests that are answered or never will be. Each frame is decoded
once. Between blocks only a small record per connection and direction is kept, and the open requests.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.exchanges.by_lengths import length_evidence, length_rows
from kafkascope_parsers.exchanges.greetings import (
    Greeting,
    TlsCertificates,
    TlsHandshake,
    raw_tokens,
    stream_greetings,
    tls_alerts,
)
from kafkascope_parsers.exchanges.hidden_values import HiddenValues
from kafkascope_parsers.exchanges.messages import FrameDecoder, Messages, Requests, Responses
from kafkascope_parsers.exchanges.open_requests import (
    REQUEST_COLUMNS,
    RESPONSE_COLUMNS,
    OpenRequests,
    orphan_rows,
    response_gaps,
)
from kafkascope_parsers.exchanges.undecoded import failure_rows, stretch_rows, undecrypted_rows
from kafkascope_parsers.framing.framer import Framer, Frames
from kafkascope_parsers.framing.layout import CLIENT_ID_AT, TLS, WAITING_LIMIT_IN_ALL
from kafkascope_parsers.machine.decode import BATCH_BYTES
from kafkascope_parsers.machine.gather import gather_strings
from kafkascope_parsers.schema import API_VERSION_RANGE
from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls import Handshakes, KeyLog, TlsStreams
from kafkascope_parsers.tls.handshake import HandshakeFacts
from kafkascope_parsers.tls.hello import Hello
from kafkascope_parsers.tls.lengths import LengthExchanges
from kafkascope_parsers.tls.streams import Opened


class MessageHandler(Protocol):
    """The caller's processing of decoded messages. Each method is called once a block, iterates `messages`, and returns
    columns of its own, with a row per frame and the same columns each time. They are kept with the request until it is
    settled.
    """

    def requests(self, requests: Requests) -> pa.Table:
        """Takes the requests of a block."""

    def responses(self, responses: Responses) -> pa.Table:
        """Takes the responses of a block."""


@dataclass(frozen=True, slots=True, eq=False)
class SettledBlock:
    """The results of a block.

    settled        exchanges whose fate is known now (open_requests.settled_schema), by connection and time
    orphans        responses whose request is not in the capture, in the same columns
    undecoded      bytes that are in no decoded message (undecoded.UNDECODED_SCHEMA)
    decoded_bytes  bytes that are; each byte that was consumed is counted in one of the two
    by_lengths     exchanges of TLS connections that are not decrypted, by their records' lengths, in the same columns
    greetings      facts from bytes outside of Kafka's frames
    consumed       int64 per run of the streams: how far it was read (TcpStreams.keep_rest)
    """

    settled: pa.Table
    orphans: pa.Table
    undecoded: pa.Table
    decoded_bytes: int
    by_lengths: pa.Table
    greetings: tuple[Greeting, ...]
    consumed: NDArray[np.int64]


class Exchanges:
    """All exchanges of some connections: `push` every block, then `finish`.

    waiting_limit: requests of all connections that wait for their responses; batch_bytes: size of the columns of one
    batch; key_log: secrets for the decryption of TLS connections. A saved state has no secrets, and `tls.unlock` adds
    them again.
    """

    def __init__(
        self,
        *,
        waiting_limit: int = WAITING_LIMIT_IN_ALL,
        batch_bytes: int = BATCH_BYTES,
        key_log: KeyLog | None = None,
    ) -> None:
        self.tls = TlsStreams(KeyLog() if key_log is None else key_log)
        self._handshakes = Handshakes()
        self._framer = Framer(API_VERSION_RANGE, waiting_limit)
        self._batch_bytes = batch_bytes
        self._open = OpenRequests()
        self._hidden_values = HiddenValues()
        self._lengths = LengthExchanges()

    @property
    def connections(self) -> NDArray[np.void]:
        """CONNECTION rows of framing: protocol, which side is the client, how many requests wait."""
        return self._framer.connections

    @property
    def n_handshakes_given_up(self) -> int:
        """TLS handshakes that were not followed to their end, because there were too many at the same time."""
        return self._handshakes.n_given_up

    @property
    def length_evidence(self) -> pa.Table:
        """By connection, the evidence from record lengths of TLS connections that are not decrypted
        (EVIDENCE_SCHEMA)."""
        return length_evidence(self._lengths, len(self.connections))

    def open_connections(self, by_syn: NDArray[np.bool_], server_side: NDArray[np.int8]) -> None:
        """Adds new connections, before the block with their first bytes. by_syn: per connection from the first one not
        known yet, whether its first SYN was seen; server_side: by its ports, in case it was not.
        """
        self._lengths.open_connections(np.where(by_syn, 0, 1 - server_side).astype(np.int8))
        self.tls.open_connections(by_syn)
        self._handshakes.open_connections(len(by_syn))
        self._framer.open_connections(by_syn)

    def push(self, streams: Streams, handler: MessageHandler) -> SettledBlock:
        """Takes the streams of a block."""
        return self._push(streams, handler, None)

    def finish(self, streams: Streams, handler: MessageHandler, is_closed: NDArray[np.bool_]) -> SettledBlock:
        """Takes the last streams of the capture, and settles all waiting requests. is_closed: by connection, whether it
        was closed before the capture ended.
        """
        return self._push(streams, handler, is_closed)

    def _push(self, streams: Streams, handler: MessageHandler, is_closed: NDArray[np.bool_] | None) -> SettledBlock:
        final = is_closed is not None
        handshakes = [TlsHandshake(*found) for found in self._handshakes.push(streams, final=final)]
        opened = self.tls.push(streams, is_closed=is_closed)
        undecrypted = undecrypted_rows(streams, opened.undecrypted)
        streams = opened.streams
        requests, of_requests = self._read_requests(streams, handler, final)
        cut, abandoned = self._framer.responses(
            streams, requests.cut, requests.decoder.is_silent, self._open.rows.num_rows, final=final
        )
        tokens = list(raw_tokens(streams.data, requests.cut.stretches, is_answer=False))
        self._hidden_values.note_tokens(tokens)
        self._open.add(_beside(_request_columns(streams, requests), of_requests))
        self._open.note_gaps(*response_gaps(streams, self.connections))
        responses, of_responses = self._read_responses(streams, handler, cut)
        columns = _beside(_response_columns(responses, self._open.rows), of_responses)
        settled, new_row = self._open.settle(columns, cut.frames["row"], abandoned, final=final)
        self._framer.keep_rows(new_row)
        orphans = np.flatnonzero(cut.frames["row"] < 0)
        answers = raw_tokens(streams.data, cut.stretches, is_answer=True)
        undecoded = _undecoded(streams, (requests, responses), self.connections, is_closed)
        return SettledBlock(
            settled,
            orphan_rows(cut.frames[orphans], columns.take(pa.array(orphans)), settled.schema),
            pa.concat_tables([undecrypted, self.tls.with_places(undecoded)]),
            requests.decoded_bytes() + responses.decoded_bytes(),
            self._read_lengths(streams._replace(end=cut.consumed), settled.schema, final=final),
            (
                *handshakes,
                *_of_opened(opened),
                *stream_greetings(streams, self.connections),
                *tokens,
                *answers,
            ),
            self.tls.consumed(cut.consumed),
        )

    def _read_lengths(self, streams: Streams, schema: pa.Schema, *, final: bool) -> pa.Table:
        """The exchanges of TLS connections that are not decrypted, in the columns of settled ones. streams: only the
        part that was read."""
        for number, facts in self._handshakes.seen:
            self._lengths.handshake(number, facts)
        encrypted = self.connections["protocol"][streams.direction >> 1] == TLS
        found = [self._lengths.push(streams, np.flatnonzero(encrypted))]
        if final:
            found.append(self._lengths.finish())
        return length_rows(np.concatenate(found), schema)

    def _read_requests(self, streams: Streams, handler: MessageHandler, final: bool) -> tuple["_Direction", pa.Table]:
        """Cuts the requests of a block and decodes them with the handler; returns the handler's columns too."""
        cut = self._framer.requests(streams, final=final)
        numbers = np.ascontiguousarray(cut.frames["number"])
        decoder = FrameDecoder(streams.data, cut.frames, numbers, "request", self._hidden_values)
        messages = decoder.messages(self._batch_bytes)
        columns = handler.requests(Requests(cut.frames, messages))
        _decode_rest(messages)
        return _Direction(cut, decoder), columns

    def _read_responses(self, streams: Streams, handler: MessageHandler, cut: Frames) -> tuple["_Direction", pa.Table]:
        """Decodes the responses of a block with the handler; returns the handler's columns too."""
        numbers = _request_numbers(self._open.rows, cut.frames["row"])
        decoder = FrameDecoder(streams.data, cut.frames, numbers, "response", self._hidden_values)
        messages = decoder.messages(self._batch_bytes)
        columns = handler.responses(Responses(cut.frames, self._open.rows, messages))
        _decode_rest(messages)
        return _Direction(cut, decoder), columns


@dataclass(frozen=True, slots=True, eq=False)
class _Direction:
    """The requests or the responses of a block: the frames, and the results of decoding them."""

    cut: Frames
    decoder: FrameDecoder

    def decoded_bytes(self) -> int:
        """Bytes in decoded messages."""
        sizes = self.cut.frames["end"] - self.cut.frames["start"] - self.decoder.zeros_after
        return int(sizes[self.decoder.decoded].sum())


def _undecoded(
    streams: Streams,
    parts: tuple[_Direction, _Direction],
    connections: NDArray[np.void],
    is_closed: NDArray[np.bool_] | None,
) -> pa.Table:
    """The bytes that are in no decoded message (UNDECODED_SCHEMA). parts: requests and responses; connections:
    CONNECTION rows."""
    tables = []
    for part in parts:
        tables.append(stretch_rows(streams.data, part.cut.stretches, connections, is_closed))
        tables.append(failure_rows(streams, part.cut.frames, part.decoder))
    return pa.concat_tables(tables)


def _of_opened(opened: Opened) -> Iterator[Greeting]:
    """The facts from decrypted TLS records outside of Kafka's frames."""
    for number, version in opened.versions:
        yield TlsHandshake(number, HandshakeFacts(server=Hello(False, version)))
    for found in opened.certificates:
        yield TlsCertificates(*found)
    yield from tls_alerts(opened.alerts)


def _decode_rest(messages: Iterator[Messages]) -> None:
    """Decodes the messages that a handler did not read, because the decoder's columns are needed for all frames."""
    for _ in messages:
        pass


def _request_columns(streams: Streams, requests: _Direction) -> pa.Table:
    """The requests of a block as REQUEST_COLUMNS, after pairing has filled `in_flight`."""
    frames, decoder = requests.cut.frames, requests.decoder
    columns = {name: _array(frames[name]) for name in REQUEST_COLUMNS.names if name in (frames.dtype.names or ())}
    columns |= {
        "conn": pa.array(frames["direction"] >> 1),
        "request_last_ns": _array(frames["last_ns"]),
        "request_packet_no": _array(frames["packet_no"]),
        "request_bytes": _array(frames["size"]),
        "client_id": gather_strings(
            streams.data, frames["start"] + CLIENT_ID_AT, frames["client_id_length"].astype(np.int32)
        ),
        "decoded": pa.array(decoder.decoded),
        "silent": pa.array(decoder.is_silent),
        "response_lost": pa.array(np.zeros(len(frames), np.bool_)),
    }
    return pa.table([columns[f.name] for f in REQUEST_COLUMNS], REQUEST_COLUMNS)


def _response_columns(responses: _Direction, open_requests: pa.Table) -> pa.Table:
    """The responses of a block as RESPONSE_COLUMNS. open_requests: those that `row` of the frames points into."""
    frames = responses.cut.frames
    columns = [
        _array(frames["ts_ns"]),
        _array(frames["last_ns"]),
        _array(frames["packet_no"]),
        _array(frames["size"]),
        pa.array(responses.decoder.decoded),
        pa.array(_queued_ns(frames, open_requests)),
        pa.array(frames["out_of_order"] > 0),
    ]
    return pa.table(columns, RESPONSE_COLUMNS)


def _queued_ns(frames: NDArray[np.void], open_requests: pa.Table) -> NDArray[np.int64]:
    """How long the request of each response waited for the last byte of the response before it; 0 for an orphan."""
    queued = np.zeros(len(frames), np.int64)
    known = np.flatnonzero(frames["row"] >= 0)
    sent_ns = open_requests["request_last_ns"].to_numpy()[frames["row"][known]]
    free_ns = np.minimum(frames["before_ns"][known], frames["ts_ns"][known])
    queued[known] = np.maximum(free_ns - sent_ns, 0)
    return queued


def _beside(one: pa.Table, other: pa.Table) -> pa.Table:
    """Two tables of as many rows, side by side."""
    return pa.table([*one.columns, *other.columns], pa.schema([*one.schema, *other.schema]))


def _request_numbers(open_requests: pa.Table, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the request in each of those open rows; -1 for an orphan."""
    numbers = np.full(len(rows), -1, np.int64)
    known = rows >= 0
    numbers[known] = open_requests["number"].to_numpy()[rows[known]]
    return numbers


def _array(values: NDArray[np.generic]) -> pa.Array:
    """A field of a structured array as an Arrow array."""
    return pa.array(np.ascontiguousarray(values))
