"""Facts from bytes outside of Kafka's frames: TLS handshakes and alerts, ZooKeeper sessions, SASL tokens without a
header.

There are only a few for each connection, so they are Python objects.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.layout import REASON_SASL, TLS, ZOOKEEPER
from kafkascope_parsers.framing.zookeeper import (
    CLOSE_BYTES,
    HANDSHAKE_LIMIT,
    Session,
    ends_session,
    read_connect_response,
)
from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls.alerts import NOT_FATAL, alert_name, plain_alerts
from kafkascope_parsers.tls.handshake import HandshakeFacts
from kafkascope_parsers.tls.plain_text import Alert

_SIZE_BYTES = 4
_MOST_TOKENS = 16
"""Most tokens that are read from one stretch: a login with GSSAPI has some four."""


@dataclass(frozen=True, slots=True)
class TlsHandshake:
    """The facts from the handshake of a TLS connection."""

    connection: int
    facts: HandshakeFacts


@dataclass(frozen=True, slots=True)
class TlsCertificates:
    """The certificates (DER) that a side sent in a handshake that was decrypted, its own first."""

    connection: int
    is_client: bool
    chain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class TlsAlert:
    """An alert by which a side (0 or 1) ends a TLS connection; name: the name in the TLS standard."""

    connection: int
    side: int
    name: str


@dataclass(frozen=True, slots=True)
class ZooKeeperSession:
    """The session that a ZooKeeper server grants."""

    connection: int
    session: Session


@dataclass(frozen=True, slots=True)
class ZooKeeperClose:
    """A client closes its ZooKeeper session."""

    connection: int


@dataclass(frozen=True, slots=True)
class RawToken:
    """A SASL token after SaslHandshake v0, with only its length before it; is_answer: whether the server sent it.
    token: None if the capture does not have all of it. It is a secret and must not get into a table, log or report.
    """

    connection: int
    token: bytes | None = field(repr=False)
    is_answer: bool


Greeting = TlsHandshake | TlsCertificates | TlsAlert | ZooKeeperSession | ZooKeeperClose | RawToken


def stream_greetings(streams: Streams, connections: NDArray[np.void]) -> Iterator[Greeting]:
    """The greetings in a block's streams of other protocols. connections: framing's CONNECTION rows."""
    protocol = connections["protocol"][streams.direction >> 1]
    yield from _sessions(streams, np.flatnonzero(protocol == ZOOKEEPER), connections)
    if (protocol == TLS).any():
        yield from tls_alerts(plain_alerts(streams, np.flatnonzero(protocol == TLS)))


def tls_alerts(alerts: Iterable[Alert]) -> Iterator[TlsAlert]:
    """The alerts that mean an error."""
    for alert in alerts:
        if alert.description not in NOT_FATAL:
            yield TlsAlert(alert.direction >> 1, alert.direction & 1, alert_name(alert.description))


def _sessions(streams: Streams, runs: NDArray[np.int64], connections: NDArray[np.void]) -> Iterator[Greeting]:
    """The beginnings of ZooKeeper sessions, from the server's responses, and their closing by clients."""
    for run in runs.tolist():
        start, end, connection = int(streams.start[run]), int(streams.end[run]), int(streams.direction[run]) >> 1
        if int(connections["client_side"][connection]) == int(streams.direction[run]) & 1:
            if ends_session(streams.data[max(start, end - CLOSE_BYTES) : end].tobytes()):
                yield ZooKeeperClose(connection)
        elif streams.stream_offset[run] == 0:
            session = read_connect_response(streams.data[start : min(end, start + HANDSHAKE_LIMIT)].tobytes())
            if session is not None:
                yield ZooKeeperSession(connection, session)


def raw_tokens(data: NDArray[np.uint8], stretches: NDArray[np.void], *, is_answer: bool) -> Iterator[RawToken]:
    """The SASL tokens among the stretches (STRETCH rows over data) between the requests of a block, or between the
    responses (is_answer). After _MOST_TOKENS of a stretch one more is given, which is not whole.
    """
    for row in stretches[stretches["reason"] == REASON_SASL]:
        raw, at, n = data[row["start"] : row["start"] + row["length"]], 0, 0
        while at < len(raw) and n <= _MOST_TOKENS:  # tokens that adjoin are one stretch
            n += 1
            begin = at + _SIZE_BYTES
            at = begin + int.from_bytes(raw[at:begin].tobytes(), "big")
            token = raw[begin:at].tobytes() if at <= len(raw) and n <= _MOST_TOKENS else None
            yield RawToken(int(row["direction"]) >> 1, token, is_answer)
