"""Finds sessions of TLS 1.2 that are resumed: their keys are derived from the master secret of the session that they
resume, which many programs do not write to the key log a second time.

A session is resumed by its id, or by a ticket that the server gave. Both are sent unencrypted, in handshakes on other
connections, perhaps of other buckets. So packets that begin with a handshake are read, for all connections, before any
of their streams. A hello that is not whole in one packet is ignored. With TLS 1.3 programs write all secrets of each
session.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.link.segments import Segments
from kafkascope_parsers.tls.handshake_messages import CLIENT_HELLO, SERVER_HELLO
from kafkascope_parsers.tls.hello import (
    HANDSHAKE_HEADER_BYTES,
    HELLO_LIMIT,
    TLS_13,
    handshake_body,
    hello_of,
    read_hello,
)
from kafkascope_parsers.tls.key_log import RANDOM_BYTES, RESUMABLE_LIMIT

FLOW_LIMIT = 1 << 16
"""Handshakes that are followed at the same time; beyond it a new one replaces the oldest."""
_NEW_SESSION_TICKET = 4
_TICKET_AT = 6
"""Bytes of a ticket's message before the ticket: its lifetime and its length."""
_SMALLEST_HANDSHAKE = 40

Flow = tuple[tuple[int, int, int], tuple[int, int, int]]
"""Address (two halves) and port of the sender, and of the receiver."""


class SessionNames(Protocol):
    """Takes the ids and tickets by which sessions may be resumed, and the sessions that resume others."""

    def name_session(self, client_random: bytes, name: bytes) -> None:
        """Takes a name (an id, or the hash of a ticket) by which the session with this client random may be resumed."""

    def resume(self, client_random: bytes, names: tuple[bytes, ...]) -> None:
        """Takes a session that resumes the one with one of these names, if there is one."""


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """The part of a handshake message that identifies a session; it holds no secret. flow: of its sender. random: of a
    client's hello, 32 bytes; else empty. names: those of the session that a client resumes, or those by which, says the
    server, this one may be resumed."""

    flow: Flow
    random: bytes
    names: tuple[bytes, ...]


def session_messages(buf: NDArray[np.uint8], segments: Segments) -> Iterator[tuple[int, SessionMessage]]:
    """The session messages in the packets of a block, whose offsets refer to buf, each with its row."""
    whole = np.flatnonzero(segments.captured >= _SMALLEST_HANDSHAKE)
    at = segments.offset[whole]
    for row in whole[(buf[at] == 22) & (buf[at + 1] == 3)].tolist():
        start = int(segments.offset[row])
        data = buf[start : start + min(int(segments.captured[row]), HELLO_LIMIT)].tobytes()
        for random, names in _said(data):
            if len(random) == RANDOM_BYTES or names:
                yield row, SessionMessage(_flow(segments, row), random, names)


class ResumedSessions:
    """Finds the sessions that are resumed, message after message. known: takes the results."""

    def __init__(self, known: SessionNames) -> None:
        self._known = known
        self._randoms: dict[Flow, bytes] = {}
        """The client random of handshakes, by the flow from the client."""

    def take(self, message: SessionMessage) -> None:
        """Takes a message. A client names the session that it resumes; a server gives the session an id, or a ticket
        for it."""
        if message.random:
            self._known.resume(message.random, message.names)
            if len(self._randoms) >= FLOW_LIMIT:
                del self._randoms[next(iter(self._randoms))]
            self._randoms[message.flow] = message.random
            return
        random = self._randoms.get((message.flow[1], message.flow[0]))
        if random is not None:
            for name in message.names:
                self._known.name_session(random, name)


class OriginalSessions:
    """Sessions that are resumed, by client randoms alone: the same as a key log learns, but without secrets."""

    def __init__(self) -> None:
        self._named: dict[bytes, bytes] = {}
        self.of: dict[bytes, bytes] = {}
        """By the client random of a session that resumes another one: that of the one whose master secret it has."""

    def name_session(self, client_random: bytes, name: bytes) -> None:
        """As of `SessionNames`."""
        if len(self._named) >= RESUMABLE_LIMIT:
            del self._named[next(iter(self._named))]
        self._named[name] = self.of.get(client_random, client_random)

    def resume(self, client_random: bytes, names: tuple[bytes, ...]) -> None:
        """As of `SessionNames`."""
        original = next((self._named[name] for name in names if name in self._named), None)
        if original is not None:
            self.of[client_random] = original


def _said(data: bytes) -> Iterator[tuple[bytes, tuple[bytes, ...]]]:
    """The client random and the names of each message of a packet that has any."""
    hello = read_hello(data)
    if hello is not None and hello.is_client and not hello.is_whole:
        yield hello.random, ()
        return
    for kind, body in _whole_messages(handshake_body(data)):
        if kind == CLIENT_HELLO:
            hello = hello_of(body, is_client=True, is_whole=True)
            yield hello.random, tuple(name for name in (hello.session_id, _name_of(hello.ticket)) if name)
        elif kind == SERVER_HELLO:
            hello = hello_of(body, is_client=False, is_whole=True)
            yield b"", (hello.session_id,) if hello.session_id and hello.version_number != TLS_13 else ()
        elif kind == _NEW_SESSION_TICKET and len(body) > _TICKET_AT:
            yield b"", (_name_of(body[_TICKET_AT:]),)


def _name_of(ticket: bytes) -> bytes:
    """The name for a ticket; empty for an empty one."""
    return sha256(ticket).digest() if ticket else b""


def _flow(segments: Segments, row: int) -> Flow:
    source, destination = segments.source[row].tolist(), segments.destination[row].tolist()
    ports = int(segments.source_port[row]), int(segments.destination_port[row])
    return (source[0], source[1], ports[0]), (destination[0], destination[1], ports[1])


def _whole_messages(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The handshake messages (type, body) that are whole."""
    at = 0
    while at + HANDSHAKE_HEADER_BYTES <= len(body):
        end = at + HANDSHAKE_HEADER_BYTES + int.from_bytes(body[at + 1 : at + 4], "big")
        if end <= len(body):
            yield body[at], body[at + HANDSHAKE_HEADER_BYTES : end]
        at = end
