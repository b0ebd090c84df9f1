"""Sessions of TLS 1.2 that are resumed: their keys are made of the master secret of the session that they resume, which
many programs write to no key log a second time.

A session is resumed by its id, or by a ticket that the server gave. Both are sent in clear, by handshakes on other
connections, perhaps of other buckets. So the packets of all connections are looked at, one by one, before any of their
streams: those that begin with a handshake. A hello that a packet does not hold whole is passed over. TLS 1.3 writes all
secrets of each session.
"""

from collections.abc import Iterator
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.link.segments import Segments
from kafkascope_parsers.tls.hello import (
    CLIENT_HELLO,
    HANDSHAKE_HEADER_BYTES,
    HELLO_LIMIT,
    SERVER_HELLO,
    handshake_body,
    hello_of,
)
from kafkascope_parsers.tls.key_log import KeyLog

FLOW_LIMIT = 1 << 16
"""Handshakes that are followed at a time; the oldest is given up for the next."""
_NEW_SESSION_TICKET = 4
_TICKET_AT = 6
"""Bytes of a ticket's message before the ticket: its lifetime and its length."""
_SMALLEST_HANDSHAKE = 40

Flow = tuple[tuple[int, int, int], tuple[int, int, int]]
"""Address (two halves) and port of the sender, and of the receiver."""


class ResumedSessions:
    """Finds out which sessions are resumed, block after block."""

    def __init__(self, key_log: KeyLog) -> None:
        self._key_log = key_log
        self._randoms: dict[Flow, bytes] = {}
        """The client random of handshakes, by the flow from the client."""

    def note(self, buf: NDArray[np.uint8], segments: Segments) -> None:
        """Looks at the packets of a block, whose offsets count in buf."""
        if not self._key_log.has_masters:
            return
        whole = np.flatnonzero(segments.captured >= _SMALLEST_HANDSHAKE)
        at = segments.offset[whole]
        for row in whole[(buf[at] == 22) & (buf[at + 1] == 3)].tolist():
            start = int(segments.offset[row])
            data = buf[start : start + min(int(segments.captured[row]), HELLO_LIMIT)].tobytes()
            for kind, body in _whole_messages(handshake_body(data)):
                self._take(_flow(segments, row), kind, body)

    def _take(self, flow: Flow, kind: int, body: bytes) -> None:
        """Takes a message. A client names what it resumes; a server gives the session an id, or a ticket for it."""
        if kind == CLIENT_HELLO:
            hello = hello_of(body, is_client=True, is_whole=True)
            self._key_log.resume(hello.random, (hello.session_id, sha256(hello.ticket).digest()))
            if len(self._randoms) >= FLOW_LIMIT:
                del self._randoms[next(iter(self._randoms))]
            self._randoms[flow] = hello.random
            return
        random = self._randoms.get((flow[1], flow[0]))
        if random is not None and kind == SERVER_HELLO:
            self._key_log.name_session(random, hello_of(body, is_client=False, is_whole=True).session_id)
        elif random is not None and kind == _NEW_SESSION_TICKET and len(body) > _TICKET_AT:
            self._key_log.name_session(random, sha256(body[_TICKET_AT:]).digest())


def _flow(segments: Segments, row: int) -> Flow:
    source, destination = segments.source[row].tolist(), segments.destination[row].tolist()
    ports = int(segments.source_port[row]), int(segments.destination_port[row])
    return (source[0], source[1], ports[0]), (destination[0], destination[1], ports[1])


def _whole_messages(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The handshake messages (type, body) that are all there."""
    at = 0
    while at + HANDSHAKE_HEADER_BYTES <= len(body):
        end = at + HANDSHAKE_HEADER_BYTES + int.from_bytes(body[at + 1 : at + 4], "big")
        if end <= len(body):
            yield body[at], body[at + HANDSHAKE_HEADER_BYTES : end]
        at = end
