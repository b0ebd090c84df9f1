"""Finds the handshake messages in the records of one side; a message may span several records."""

from collections.abc import Iterator
from typing import NamedTuple

CLIENT_HELLO, SERVER_HELLO, END_OF_EARLY_DATA = 1, 2, 5
CERTIFICATE, SERVER_KEY_EXCHANGE, CERTIFICATE_REQUEST = 11, 12, 13
FINISHED, KEY_UPDATE = 20, 24
"""Types of messages. After END_OF_EARLY_DATA, FINISHED and KEY_UPDATE a side of TLS 1.3 has new keys."""
MESSAGE_LIMIT = 102_400
"""Longest body that is kept: the longest chain of certificates that OpenSSL accepts, three times the JVM's limit."""
_HEADER_BYTES = 4


class Message(NamedTuple):
    """A message. body: without its header; None where its type is not of interest, or where it is too long."""

    kind: int
    body: bytes | None


class HandshakeMessages:
    """Finds the ends of messages. kept: the types whose bodies are of interest; of others it keeps a header at most."""

    def __init__(self, kept: frozenset[int] = frozenset()) -> None:
        self._kept = kept
        self._header = b""
        self._body: bytearray | None = None
        self._left = 0

    @property
    def n_held(self) -> int:
        """Bytes of a message that are kept until the rest comes."""
        return len(self._body or b"")

    @property
    def unfinished(self) -> Message | None:
        """The message that is not whole yet, if its type is of interest, with the part of its body that is there."""
        return Message(self._header[0], bytes(self._body)) if self._body is not None else None

    def ended_in(self, content: bytes | memoryview) -> Iterator[Message]:
        """The messages that end in the content of the next record. All of them have to be taken."""
        at = 0
        while at < len(content):
            if len(self._header) < _HEADER_BYTES:
                wanted = _HEADER_BYTES - len(self._header)
                self._header += bytes(content[at : at + wanted])
                at += wanted
                if len(self._header) < _HEADER_BYTES:
                    break
                self._left = int.from_bytes(self._header[1:], "big")
                is_kept = self._header[0] in self._kept and self._left <= MESSAGE_LIMIT
                self._body = bytearray() if is_kept else None
            used = min(self._left, len(content) - at)
            if self._body is not None:
                self._body += content[at : at + used]
            at += used
            self._left -= used
            if not self._left:
                yield Message(self._header[0], bytes(self._body) if self._body is not None else None)
                self._header, self._body = b"", None
