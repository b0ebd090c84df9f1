"""Follows one handshake through the records of both sides until keys are agreed on, or one side ends it.

The meaning of each record, by its type and the records before:

hello                       shows the client's side, and what is offered and chosen
certificate (TLS 1.2)       not encrypted, unlike that of TLS 1.3
ChangeCipherSpec (TLS 1.2)  the next record of that side is its Finished, encrypted
application data (TLS 1.3)  the server's certificate and Finished, then the client's: the end of the handshake
alert, or a short record of application data (TLS 1.3): that side ended the handshake

Sources: RFC 5246 (7.3), RFC 8446 (2), RFC 8446 D.4 (ChangeCipherSpec has no meaning in TLS 1.3).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls.certificates import certificate_list
from kafkascope_parsers.tls.handshake_messages import (
    CERTIFICATE,
    CERTIFICATE_REQUEST,
    CLIENT_HELLO,
    SERVER_HELLO,
    SERVER_KEY_EXCHANGE,
    HandshakeMessages,
    Message,
)
from kafkascope_parsers.tls.hello import TLS_13, Hello, hello_of
from kafkascope_parsers.tls.records import ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, RECORD_LIMIT

RECORDS_FOLLOWED = 64
"""Records of application data of a side after which its handshake is considered over."""
_AROUND = (1 + 16, 1 + 16 + 16)
"""Bytes of a record of TLS 1.3 besides its content: its type and a tag, and 16 bytes of padding, which the JVM adds."""
HIDDEN_ALERT_BYTES = frozenset(2 + more for more in _AROUND)
"""Sizes of records that hold an alert: no response, and no other message that is possible there, is so short."""
NO_CERTIFICATE_BYTES = frozenset(8 + more for more in _AROUND)
"""Sizes of records with a Certificate message without a certificate, which a client sends if it has none."""
_KEPT = frozenset({CLIENT_HELLO, SERVER_HELLO, CERTIFICATE, SERVER_KEY_EXCHANGE})
_HEADER_BYTES, _NAMED_CURVE = 5, 3


@dataclass(slots=True)
class HandshakeFacts:
    """The facts of a handshake. client, server: the hellos; certificates of each (DER, its own first; none: it sent
    none), None if none were seen unencrypted; group: of the key exchange; is_resumed: None if that is not known;
    is_retried: whether the server asked for another hello; asks_client: whether it asked for a certificate;
    hidden_alert: the side (0 is the client) that ended the handshake with an encrypted alert.

    Times in nanoseconds, None where they are not known: of the first and the last byte of the client's hello, of the
    first of the server's, of the last record of the server before the client continued, of that continuation, and of
    the end.
    """

    client: Hello | None = None
    server: Hello | None = None
    client_certificates: tuple[bytes, ...] | None = None
    server_certificates: tuple[bytes, ...] | None = None
    group: int | None = None
    is_resumed: bool | None = None
    is_retried: bool = False
    asks_client: bool = False
    hidden_alert: int | None = None
    begun_ns: int | None = None
    asked_ns: int | None = None
    answered_ns: int | None = None
    server_done_ns: int | None = None
    client_goes_on_ns: int | None = None
    ended_ns: int | None = None


class Record(NamedTuple):
    """A record; if it is application data, only its length. first_ns, last_ns: of its first and last byte; packet_no:
    of the last one."""

    side: int
    kind: int
    body: bytes
    length: int
    first_ns: int
    last_ns: int
    packet_no: int


class SideRecords:
    """Divides the bytes of one side into records. Keeps a record that is not whole."""

    def __init__(self, side: int) -> None:
        self._side = side
        self._next, self._first_ns, self._n_data = 0, 0, 0
        self.rest = bytearray()
        self.is_over = False
        """Whether no more records are expected: bytes are missing or are no records, or there were enough."""

    def read(self, streams: Streams, run: int) -> Iterator[Record]:
        """The records that end in a run, or begin there, of application data."""
        end, at = int(streams.end[run]), int(streams.start[run]) + self._next - int(streams.stream_offset[run])
        if at < int(streams.start[run]):
            self.is_over = True
        while at < end and not self.is_over:
            if len(self.rest) < _HEADER_BYTES:
                if not self.rest:
                    self._first_ns = _piece(streams, at)[0]
                at = self._take(streams, at, min(end, at + _HEADER_BYTES - len(self.rest)))
            kind, length = self.rest[0], int.from_bytes(self.rest[3:5], "big")
            if len(self.rest) < _HEADER_BYTES:
                break
            if not CHANGE_CIPHER_SPEC <= kind <= APPLICATION_DATA or self.rest[1] != 3 or length > RECORD_LIMIT:
                self.is_over = True
            elif kind == APPLICATION_DATA:
                yield Record(self._side, kind, b"", length, self._first_ns, *_piece(streams, at - 1))
                at += length
                self._n_data += 1
                self.is_over = self._n_data >= RECORDS_FOLLOWED
                self.rest.clear()
            else:
                at = self._take(streams, at, min(end, at + _HEADER_BYTES + length - len(self.rest)))
                if len(self.rest) == _HEADER_BYTES + length:
                    body = bytes(self.rest[_HEADER_BYTES:])
                    yield Record(self._side, kind, body, length, self._first_ns, *_piece(streams, at - 1))
                    self.rest.clear()
        self._next = int(streams.stream_offset[run]) + at - int(streams.start[run])

    def _take(self, streams: Streams, at: int, to: int) -> int:
        self.rest += streams.data[at:to].tobytes()
        return to


class Handshake:
    """Follows one handshake. `records` of both sides, in order of time, go to `take`."""

    def __init__(self) -> None:
        self.sides = (SideRecords(0), SideRecords(1))
        self.facts = HandshakeFacts()
        self.is_over = False
        self.n_counted = 0
        """For `Handshakes`: the number of bytes that it has counted as kept."""
        self._messages = tuple(HandshakeMessages(_KEPT) for _ in self.sides)
        self._client_side: int | None = None
        self._is_13 = False
        self._has_keys = [False, False]
        """TLS 1.2: whether a side has sent its ChangeCipherSpec."""
        self._finished_ns: list[int] = []

    @property
    def n_held(self) -> int:
        """Bytes that are kept until more come."""
        return sum(len(side.rest) for side in self.sides) + sum(messages.n_held for messages in self._messages)

    def take(self, record: Record) -> None:
        """Takes the next record of a side."""
        if self.is_over:
            return
        is_encrypted = self._has_keys[record.side] and not self._is_13
        if record.kind == CHANGE_CIPHER_SPEC:
            self._change_cipher(record.side)
        elif record.kind == ALERT and not is_encrypted:
            self.is_over = True
        elif record.kind == HANDSHAKE and not is_encrypted:
            for message in self._messages[record.side].ended_in(record.body):
                self._take_message(record, message)
        elif record.kind == HANDSHAKE:
            self._finish(record.last_ns, is_last=len(self._finished_ns) == 1)
        elif record.kind == APPLICATION_DATA:
            self._take_data(record)
        self._note_turn(record)

    def give_up(self) -> None:
        """Ends the handshake, as no more records will come. A hello that is not whole is read as far as it goes."""
        self.is_over = True
        for side, messages in enumerate(self._messages):
            rest = self.sides[side].rest
            if len(rest) > _HEADER_BYTES and rest[0] == HANDSHAKE:
                for message in messages.ended_in(bytes(rest[_HEADER_BYTES:])):
                    self._take_message(None, message, side)
            left = messages.unfinished
            if left is not None and left.kind in (CLIENT_HELLO, SERVER_HELLO):
                self._take_hello(side, left, is_whole=False)

    def _change_cipher(self, side: int) -> None:
        """Takes the message of a side of TLS 1.2 that it has keys. If the server sends it before the client, a session
        is resumed."""
        if not self._is_13 and self.facts.is_resumed is None and self.facts.server is not None:
            self.facts.is_resumed = side != self._client_side
        self._has_keys[side] = True

    def _take_message(self, record: Record | None, message: Message, side: int = 0) -> None:
        side = record.side if record is not None else side
        if message.kind in (CLIENT_HELLO, SERVER_HELLO) and message.body is not None:
            self._take_hello(side, message, is_whole=True)
            self._note_hello(record, message.kind)
        elif message.kind == CERTIFICATE and message.body is not None and self._client_side is not None:
            found = tuple(certificate_list(message.body, is_13=False))
            if side == self._client_side:
                self.facts.client_certificates = found
            else:
                self.facts.server_certificates = found
        elif message.kind == CERTIFICATE_REQUEST:
            self.facts.asks_client = True
        elif message.kind == SERVER_KEY_EXCHANGE and message.body and message.body[0] == _NAMED_CURVE:
            self.facts.group = int.from_bytes(message.body[1:3], "big")

    def _take_hello(self, side: int, message: Message, *, is_whole: bool) -> None:
        is_client = message.kind == CLIENT_HELLO
        hello = hello_of(message.body or b"", is_client=is_client, is_whole=is_whole)
        self._client_side = side if is_client else 1 - side
        if is_client:
            self.facts.client = self.facts.client or hello
            return
        self._is_13 = hello.version_number == TLS_13
        if hello.is_retry:
            self.facts.is_retried = True
        elif self.facts.server is None:
            self.facts.server, self.facts.group = hello, hello.group
            self.facts.is_resumed = hello.is_resumption if self._is_13 else None

    def _note_hello(self, record: Record | None, kind: int) -> None:
        """Notes the times of a hello."""
        if record is None:
            return
        facts = self.facts
        if kind == CLIENT_HELLO:
            facts.begun_ns = record.first_ns if facts.begun_ns is None else facts.begun_ns
            facts.asked_ns = record.last_ns
        elif facts.server is not None and facts.answered_ns is None:
            facts.answered_ns = record.first_ns

    def _note_turn(self, record: Record) -> None:
        """Notes when the server was done, and when the client continued."""
        facts = self.facts
        if facts.answered_ns is None or facts.client_goes_on_ns is not None:
            return
        if record.side != self._client_side:
            facts.server_done_ns = record.last_ns
        else:
            facts.client_goes_on_ns = record.first_ns

    def _take_data(self, record: Record) -> None:
        """Takes a record of application data, which in TLS 1.3 may be an encrypted part of the handshake, or an
        alert."""
        facts, is_alert = self.facts, record.length in HIDDEN_ALERT_BYTES
        if not self._is_13 or facts.server is None:
            self.is_over = facts.server is not None
        elif record.side != self._client_side:
            if facts.ended_ns is not None:
                facts.hidden_alert = 1 if is_alert else None
                self.is_over = True
        elif facts.ended_ns is not None:
            self.is_over = is_alert
        elif is_alert:
            facts.hidden_alert, self.is_over = 0, True
        elif not (facts.client is not None and facts.client.early_data):
            facts.ended_ns = record.last_ns
            if record.length in NO_CERTIFICATE_BYTES:
                facts.client_certificates, facts.asks_client = (), True

    def _finish(self, ns: int, *, is_last: bool) -> None:
        """Notes that a side of TLS 1.2 has sent its Finished."""
        self._finished_ns.append(ns)
        if is_last:
            self.facts.ended_ns, self.is_over = max(self._finished_ns), True


def _piece(streams: Streams, at: int) -> tuple[int, int]:
    """Time and number of the packet that brought a byte."""
    piece = int(np.searchsorted(streams.piece_start, at, side="right")) - 1
    return int(streams.piece_ts_ns[piece]), int(streams.piece_packet[piece])
