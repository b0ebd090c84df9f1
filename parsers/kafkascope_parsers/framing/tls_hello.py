"""What the first bytes of a TLS connection show in clear: the version, server name and protocol of the two hellos.

Plain Python, once per connection and direction, over at most HELLO_LIMIT bytes. Sources: RFC 8446 (records, hellos,
supported_versions), RFC 6066 (server_name), RFC 7301 (ALPN). A hello that is cut short gives what stands before the
cut.
"""

from collections.abc import Iterator
from dataclasses import dataclass

HELLO_LIMIT = 1 << 14
"""Bytes looked at: one TLS record. Client hellos with post-quantum key shares have about 2 kB."""

_HANDSHAKE, _CLIENT_HELLO, _SERVER_HELLO = 22, 1, 2
_RECORD_HEADER, _HANDSHAKE_HEADER, _RANDOM = 5, 4, 34
_SERVER_NAME, _ALPN, _SUPPORTED_VERSIONS = 0, 16, 43
_VERSIONS = {0x0300: "SSLv3", 0x0301: "TLSv1", 0x0302: "TLSv1.1", 0x0303: "TLSv1.2", 0x0304: "TLSv1.3"}


@dataclass(frozen=True, slots=True)
class Hello:
    """A hello. version, alpn: what the server chose (None in a client's); sni: the name the client asked for."""

    is_client: bool
    version: str | None = None
    sni: str | None = None
    alpn: str | None = None


def read_hello(data: bytes) -> Hello | None:
    """The hello that a direction's first bytes are; None where they are none."""
    body = _handshake_body(data[:HELLO_LIMIT])
    if len(body) < _HANDSHAKE_HEADER + 2 or body[0] not in (_CLIENT_HELLO, _SERVER_HELLO):
        return None
    is_client = body[0] == _CLIENT_HELLO
    body = body[_HANDSHAKE_HEADER : _HANDSHAKE_HEADER + int.from_bytes(body[1:4], "big")]
    found = dict(_extensions(body, _after_ciphers(body, is_client=is_client)))
    if is_client:
        return Hello(True, sni=_server_name(found.get(_SERVER_NAME, b"")))
    chosen = found.get(_SUPPORTED_VERSIONS, b"")[:2] or body[:2]
    return Hello(False, _VERSIONS.get(int.from_bytes(chosen, "big")), alpn=_protocol(found.get(_ALPN, b"")))


def _handshake_body(data: bytes) -> bytes:
    """The handshake bytes of the records at the start: a hello may be cut into several."""
    out, at = b"", 0
    while len(data) - at >= _RECORD_HEADER and data[at] == _HANDSHAKE and data[at + 1] == 3:
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        out += data[at + _RECORD_HEADER : at + _RECORD_HEADER + size]
        at += _RECORD_HEADER + size
    return out


def _after_ciphers(body: bytes, *, is_client: bool) -> int:
    """Where the extensions begin: after version, random, session id, and cipher suites and compression methods."""
    at = _RANDOM
    at += 1 + (body[at] if at < len(body) else 0)
    if not is_client:
        return at + 3
    at += 2 + int.from_bytes(body[at : at + 2], "big")
    return at + 1 + (body[at] if at < len(body) else 0)


def _extensions(body: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Whole extensions (type, content)."""
    end = at + 2 + int.from_bytes(body[at : at + 2], "big")
    at += 2
    while at + 4 <= min(end, len(body)):
        size = int.from_bytes(body[at + 2 : at + 4], "big")
        if at + 4 + size <= len(body):
            yield int.from_bytes(body[at : at + 2], "big"), body[at + 4 : at + 4 + size]
        at += 4 + size


def _server_name(content: bytes) -> str | None:
    """The host name of a list of names: length, type 0, length, name."""
    if len(content) < 5 or content[2] != 0:
        return None
    return _text(content[5 : 5 + int.from_bytes(content[3:5], "big")])


def _protocol(content: bytes) -> str | None:
    """The one protocol of a server's list: length, length, name."""
    return _text(content[3 : 3 + content[2]]) if len(content) > 3 else None


def _text(raw: bytes) -> str | None:
    """ASCII without control characters, or nothing."""
    text = raw.decode("ascii", "replace")
    return text if text and text.isprintable() and text.isascii() else None
