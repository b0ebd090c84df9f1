"""Reads the hellos of a TLS connection, which are not encrypted.

Plain Python, once per connection and direction, over at most HELLO_LIMIT bytes. Sources: RFC 8446 (records, hellos,
supported_versions), RFC 5246, RFC 6066 (server_name), RFC 7301 (ALPN), RFC 7366 (encrypt-then-MAC), RFC 7627 (extended
master secret). A hello that is cut is read up to the cut.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kafkascope_parsers.tls.handshake_messages import CLIENT_HELLO, SERVER_HELLO

HELLO_LIMIT = 1 << 14
"""Bytes that are read: one TLS record. Client hellos with post-quantum key shares have about 2 kB."""

HANDSHAKE_RECORD = 22
TLS_12, TLS_13 = 0x0303, 0x0304
HANDSHAKE_HEADER_BYTES = 4
_RECORD_HEADER, _RANDOM = 5, 34
_SERVER_NAME, _ALPN, _ENCRYPT_THEN_MAC, _EXTENDED_MASTER, _TICKET = 0, 16, 22, 23, 35
_SIGNATURE_ALGORITHMS, _PRE_SHARED_KEY, _EARLY_DATA, _SUPPORTED_VERSIONS, _KEY_SHARE = 13, 41, 42, 43, 51
_VERSIONS = {0x0300: "SSLv3", 0x0301: "TLSv1", 0x0302: "TLSv1.1", TLS_12: "TLSv1.2", TLS_13: "TLSv1.3"}
_RETRY_RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random bytes of a ServerHello that is a HelloRetryRequest (RFC 8446, section 4.1.3)."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A hello. version, alpn, suite, group: what the server chose (None in a client's); sni: the name that the client
    requested; random: 32 bytes, fewer if it is cut; session_id, ticket: of a session that is resumed, or that can be;
    suites, versions, alpns, signature_algorithms: the client's offers, in its order; extensions: numbers of those of
    either side, in its order; is_whole: whether all of it is there.
    """

    is_client: bool
    version: str | None = None
    sni: str | None = None
    alpn: str | None = None
    random: bytes = b""
    session_id: bytes = b""
    ticket: bytes = b""
    suite: int | None = None
    version_number: int | None = None
    is_retry: bool = False
    encrypt_then_mac: bool = False
    extended_master_secret: bool = False
    early_data: bool = False
    is_whole: bool = False
    legacy_version: int = 0
    suites: tuple[int, ...] = ()
    versions: tuple[int, ...] = ()
    alpns: tuple[bytes, ...] = ()
    signature_algorithms: tuple[int, ...] = ()
    extensions: tuple[int, ...] = ()
    group: int | None = None

    @property
    def is_resumption(self) -> bool:
        """Whether a server of TLS 1.3 resumes an earlier session."""
        return _PRE_SHARED_KEY in self.extensions


def read_hello(data: bytes) -> Hello | None:
    """The hello in a direction's first bytes; None if there is none."""
    body = handshake_body(data[:HELLO_LIMIT])
    if len(body) < HANDSHAKE_HEADER_BYTES + 2 or body[0] not in (CLIENT_HELLO, SERVER_HELLO):
        return None
    end = HANDSHAKE_HEADER_BYTES + int.from_bytes(body[1:4], "big")
    is_client, is_whole = body[0] == CLIENT_HELLO, end <= len(body)
    return hello_of(body[HANDSHAKE_HEADER_BYTES:end], is_client=is_client, is_whole=is_whole)


def hello_of(body: bytes, *, is_client: bool, is_whole: bool) -> Hello:
    """The hello with that body of its handshake message."""
    extensions = list(_extensions(body, _after_ciphers(body, is_client=is_client)))
    hello = Hello(
        is_client,
        random=body[2:_RANDOM],
        session_id=body[_RANDOM + 1 : _RANDOM + 1 + (body[_RANDOM] if len(body) > _RANDOM else 0)],
        legacy_version=int.from_bytes(body[:2], "big"),
        extensions=tuple(kind for kind, _ in extensions),
        is_whole=is_whole,
    )
    return (_of_client if is_client else _of_server)(hello, body, dict(extensions))


def _of_client(hello: Hello, body: bytes, found: dict[int, bytes]) -> Hello:
    """The hello with the client's offers. found: its extensions."""
    suites_at = _RANDOM + 1 + len(hello.session_id)
    suites = body[suites_at + 2 : suites_at + 2 + int.from_bytes(body[suites_at : suites_at + 2], "big")]
    versions = found.get(_SUPPORTED_VERSIONS, b"")
    return replace(
        hello,
        sni=_server_name(found.get(_SERVER_NAME, b"")),
        ticket=found.get(_TICKET, b""),
        early_data=_EARLY_DATA in found,
        suites=_numbers(suites),
        versions=_numbers(versions[1 : 1 + versions[0]]) if versions else (),
        alpns=tuple(_protocols(found.get(_ALPN, b""))),
        signature_algorithms=_numbers(found.get(_SIGNATURE_ALGORITHMS, b"")[2:]),
    )


def _of_server(hello: Hello, body: bytes, found: dict[int, bytes]) -> Hello:
    """The hello with the server's choices. found: its extensions."""
    version = int.from_bytes(found.get(_SUPPORTED_VERSIONS, b"")[:2] or body[:2], "big")
    suite_at = _RANDOM + 1 + len(hello.session_id)
    share = found.get(_KEY_SHARE, b"")
    return replace(
        hello,
        version=version_name(version),
        alpn=next((text(name) for name in _protocols(found.get(_ALPN, b""))), None),
        suite=int.from_bytes(body[suite_at : suite_at + 2], "big") if len(body) >= suite_at + 2 else None,
        version_number=version,
        is_retry=hello.random == _RETRY_RANDOM,
        encrypt_then_mac=_ENCRYPT_THEN_MAC in found,
        extended_master_secret=_EXTENDED_MASTER in found,
        group=int.from_bytes(share[:2], "big") if len(share) >= 2 else None,
    )


def version_name(version: int) -> str | None:
    """The name of a version of TLS; None for another number."""
    return _VERSIONS.get(version)


def handshake_body(data: bytes) -> bytes:
    """The handshake bytes of the records at the start: a hello may span several."""
    out, at = b"", 0
    while len(data) - at >= _RECORD_HEADER and data[at] == HANDSHAKE_RECORD and data[at + 1] == 3:
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        out += data[at + _RECORD_HEADER : at + _RECORD_HEADER + size]
        at += _RECORD_HEADER + size
    return out


def _after_ciphers(body: bytes, *, is_client: bool) -> int:
    """The place of the extensions: after version, random, session id, cipher suites and compression methods."""
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
    return text(content[5 : 5 + int.from_bytes(content[3:5], "big")])


def _protocols(content: bytes) -> Iterator[bytes]:
    """The names of a list of protocols: length of the list, and of each name its length and itself."""
    at = 2
    while at < len(content):
        yield content[at + 1 : at + 1 + content[at]]
        at += 1 + content[at]


def _numbers(raw: bytes) -> tuple[int, ...]:
    """Numbers of two bytes each."""
    return tuple(int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw) - 1, 2))


def text(raw: bytes) -> str | None:
    """The text, if it is ASCII without control characters, else None."""
    name = raw.decode("ascii", "replace")
    return name if name and name.isprintable() and name.isascii() else None
