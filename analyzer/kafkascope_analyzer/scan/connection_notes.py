"""Facts that a connection shows once, outside of its request rows: offered API versions, the user, TLS handshakes and
alerts.

They are rows of NOTES_SCHEMA, spilled as they come. The first of a kind per connection counts, except for the session's
lifetime, of which the last counts. State is a few words per SASL connection.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.connections import LIST_SEPARATOR
from kafkascope_analyzer.scan.logins import Logins
from kafkascope_analyzer.scan.partitions import CODED_TEXT
from kafkascope_analyzer.scan.request_facts import nodes_of
from kafkascope_analyzer.scan.tls_notes import certificate_notes, handshake_notes
from kafkascope_parsers.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kafkascope_parsers.exchanges import (
    Greeting,
    Messages,
    TlsAlert,
    TlsCertificates,
    TlsHandshake,
    ZooKeeperClose,
    ZooKeeperSession,
)
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import strings
from kafkascope_parsers.machine.gather import gather_bytes
from kafkascope_parsers.schema import Node, api_name
from kafkascope_parsers.versions import ApiVersionRange

NOTES_SCHEMA = pa.schema([("conn", pa.int64()), ("what", pa.string()), ("text", CODED_TEXT)])
"""what: the column of `connections` that the note is for, for an alert also the side that sent it; text: its value,
numbers and flags in decimal, lists joined by LIST_SEPARATOR."""

Note = tuple[int, str, str]


class ConnectionNotes:
    """Makes notes from decoded messages and greetings; `take` returns those since the last call."""

    def __init__(self) -> None:
        self._found: list[Note] = []
        self._offered_on: list[pa.Table] = []
        self._logins = Logins()
        self._offers: dict[bytes, str] = {}

    def take(self) -> pa.Table:
        """Returns the notes since the last call (NOTES_SCHEMA)."""
        found, self._found = self._found, []
        offered, self._offered_on = self._offered_on, []
        conns, what, texts = zip(*found, strict=True) if found else ((), (), ())
        coded = pa.array(texts, pa.string()).dictionary_encode()
        found = pa.table([pa.array(conns, pa.int64()), pa.array(what, pa.string()), coded], NOTES_SCHEMA)
        return pa.concat_tables([found, *offered])

    def requests(self, messages: Messages) -> None:
        """Takes decoded requests of an API."""
        columns = messages.columns
        if messages.message.api_key == SASL_HANDSHAKE:
            texts = strings(columns, _node(columns, "mechanism")).to_pylist()
            for conn, text in zip(messages.connections.tolist(), texts, strict=True):
                self._logins.handshake(conn, text or "")
        elif messages.message.api_key == SASL_AUTHENTICATE:
            field = _node(columns, "auth_bytes")
            offsets, lengths = columns.offsets(field), np.maximum(columns.lengths(field), 0)
            asked = zip(messages.connections.tolist(), messages.numbers.tolist(), strict=True)
            for row, (conn, number) in enumerate(asked):
                token = columns.buf[offsets[row] : offsets[row] + lengths[row]].tobytes()
                self._logins.token(conn, token, number)

    def responses(self, messages: Messages) -> None:
        """Takes decoded responses of an API."""
        columns = messages.columns
        if messages.message.api_key == API_VERSIONS:
            self._offered(messages)
        elif messages.message.api_key == SASL_AUTHENTICATE:
            lifetime, code = _node(columns, "session_lifetime_ms"), _node(columns, "error_code")
            has_error = (columns.values(code) != 0).tolist()
            n_bytes = columns.lengths(_node(columns, "auth_bytes")).tolist()
            answered = zip(messages.connections.tolist(), messages.numbers.tolist(), has_error, n_bytes, strict=True)
            for conn, number, refused, size in answered:
                self._note_user(conn, self._logins.answer(conn, number, has_error=refused, n_bytes=size))
            good = (columns.values(code) == 0) & (columns.values(lifetime).astype(np.int64) > 0)
            for row in np.flatnonzero(good).tolist():
                text = str(int(columns.values(lifetime)[row]))
                self._found.append((int(messages.connections[row]), "session_lifetime_ms", text))

    def greetings(self, greetings: Iterable[Greeting]) -> None:
        """Takes facts that connections show outside of requests and responses."""
        for greeting in greetings:
            conn = greeting.connection
            if isinstance(greeting, TlsHandshake):
                self._found += [(conn, what, text) for what, text in handshake_notes(greeting.facts).items()]
            elif isinstance(greeting, TlsCertificates):
                self._found += [(conn, what, text) for what, text in certificate_notes(greeting).items()]
            elif isinstance(greeting, TlsAlert):
                self._found.append((conn, f"tls_alert_{greeting.side}", greeting.name))
            elif isinstance(greeting, ZooKeeperSession):
                self._found.append((conn, "zookeeper_session", f"0x{greeting.session.session_id:x}"))
                self._found.append((conn, "zookeeper_timeout_ms", str(greeting.session.timeout_ms)))
            elif isinstance(greeting, ZooKeeperClose):
                self._found.append((conn, "zookeeper_closed", "1"))
            elif greeting.is_answer:
                self._note_user(conn, self._logins.answer_token(conn, greeting.token))
            else:
                self._logins.token(conn, greeting.token or b"")

    def _note_user(self, conn: int, user: str | None) -> None:
        """Notes the user whose login a broker accepted, if there is one."""
        if user is not None:
            self._found.append((conn, "principal", user))

    def _offered(self, messages: Messages) -> None:
        """Notes the versions in responses without an error: one text for equal responses, which all brokers of a
        release send."""
        columns = messages.columns
        good = np.flatnonzero(columns.values(_node(columns, "error_code")) == 0)
        if not len(good):
            return
        first, which = _equal_bodies(messages, good)
        offers = [self._offer(triples) for triples in _version_ranges(columns, good[first].tolist())]
        coded = pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32)), pa.array(offers, pa.string()))
        what = pa.repeat("api_versions_offered", len(good))
        self._offered_on.append(pa.table([pa.array(messages.connections[good]), what, coded], NOTES_SCHEMA))

    def _offer(self, triples: NDArray[np.generic]) -> str:
        raw = triples.tobytes()
        if raw not in self._offers:
            named = sorted((k, ApiVersionRange(low, high).text_of(api_name(k))) for k, low, high in triples.tolist())
            if len(self._offers) > _MOST_OFFERS:
                self._offers.clear()
            self._offers[raw] = LIST_SEPARATOR.join(text for _, text in named)
        return self._offers[raw]


def _version_ranges(columns: Columns, rows: list[int]) -> Iterator[NDArray[np.generic]]:
    """Yields the offered API keys of those responses with their lowest and highest versions: integers [n, 3]. An API
    whose lowest version is above the highest one does not count."""
    nodes = [_node(columns, f"api_keys[].{name}") for name in ("api_key", "min_version", "max_version")]
    key, low, high = (columns.values(node) for node in nodes)
    known = np.less_equal(low, high) & ~(columns.is_null(nodes[1]) | columns.is_null(nodes[2]))
    ends = np.concatenate([[0], np.cumsum(np.maximum(columns.counts(_node(columns, "api_keys")), 0))])
    for row in rows:
        part = slice(ends[row], ends[row + 1])
        yield np.stack([key[part], low[part], high[part]], 1)[known[part]]


def _equal_bodies(messages: Messages, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the places in `rows` of the first response of each body and version, and for each of these responses the
    index of that first one."""
    frames, columns = messages.frames, messages.columns
    start, end = (frames[name][rows] for name in ("start", "end"))
    bodies = gather_bytes(columns.buf, start + _BODY_AT, (end - start - _BODY_AT).astype(np.int32))
    code = bodies.dictionary_encode().indices.to_numpy().astype(np.int64)
    _, first, which = np.unique(code << 16 | columns.version_used[rows], return_index=True, return_inverse=True)
    return first, which


_BODY_AT = 8
"""Bytes before the body of a response in its frame: the size and the correlation id."""
_MOST_OFFERS = 64
"""Most distinct lists of offered versions that are remembered: a cluster has as many as releases and listeners."""


def _node(columns: Columns, path: str) -> Node:
    (node,) = nodes_of(columns.message, (path,))
    return node
