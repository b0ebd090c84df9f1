"""What a connection shows once, outside of its request rows: versions offered, who logged in, TLS hellos.

Rows of NOTES_SCHEMA, spilled as they come; the first of a kind per connection counts, but for the session's lifetime,
whose last does. State is a few words per SASL connection.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.partitions import CODED_TEXT
from kafkascope_analyzer.scan.request_facts import nodes_of
from kafkascope_parsers.framing.layout import REASON_SASL, TLS, ZOOKEEPER
from kafkascope_parsers.framing.principals import principal_of
from kafkascope_parsers.framing.tls_hello import HELLO_LIMIT, read_hello
from kafkascope_parsers.framing.zookeeper import CLOSE_BYTES, HANDSHAKE_LIMIT, ends_session, read_connect_response
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import strings
from kafkascope_parsers.schema import Node, api_name
from kafkascope_parsers.tcp import Streams

NOTES_SCHEMA = pa.schema([("conn", pa.int64()), ("what", pa.string()), ("text", CODED_TEXT)])
"""what: the column of `connections` it is for; text: its value, lists joined by commas, numbers in decimal."""

Note = tuple[int, str, str]


class ConnectionNotes:
    """Reads notes off decoded messages and stream beginnings; `take` gives those since the last time."""

    def __init__(self) -> None:
        self._found: list[Note] = []
        self._offered_on: list[pa.Table] = []
        self._mechanisms: dict[int, str] = {}
        self._offers: dict[bytes, str] = {}

    def take(self) -> pa.Table:
        """Notes since the last call (NOTES_SCHEMA)."""
        found, self._found = self._found, []
        offered, self._offered_on = self._offered_on, []
        conns, what, texts = zip(*found, strict=True) if found else ((), (), ())
        coded = pa.array(texts, pa.string()).dictionary_encode()
        told = pa.table([pa.array(conns, pa.int64()), pa.array(what, pa.string()), coded], NOTES_SCHEMA)
        return pa.concat_tables([told, *offered])

    def requests(self, name: str, columns: Columns, frames: NDArray[np.void]) -> None:
        """Takes the decoded requests of an API; frames: FRAME of each row."""
        if name == "SaslHandshake":
            (mechanism,) = nodes_of(columns.message, ("mechanism",))
            for conn, text in zip(_conns(frames), strings(columns, mechanism).to_pylist(), strict=True):
                self._mechanisms.setdefault(conn, text or "")
        elif name == "SaslAuthenticate":
            self._principals(columns, frames)

    def responses(self, name: str, columns: Columns, frames: NDArray[np.void]) -> None:
        """Takes the decoded responses of an API."""
        if name == "ApiVersions":
            self._offered(columns, frames)
        elif name == "SaslAuthenticate":
            lifetime, code = _node(columns, "session_lifetime_ms"), _node(columns, "error_code")
            good = (columns.values(code) == 0) & (columns.values(lifetime).astype(np.int64) > 0)
            for row in np.flatnonzero(good).tolist():
                text = str(int(columns.values(lifetime)[row]))
                self._found.append((int(frames["direction"][row]) >> 1, "session_lifetime_ms", text))

    def streams(self, streams: Streams, connections: NDArray[np.void]) -> None:
        """Takes a block's streams: the first bytes of TLS connections and of ZooKeeper sessions. connections: framing's
        CONNECTION rows.
        """
        protocol = connections["protocol"][streams.direction >> 1]
        self._sessions(streams, np.flatnonzero(protocol == ZOOKEEPER), connections)
        first = np.flatnonzero((streams.stream_offset == 0) & (protocol == TLS))
        for run in first.tolist():
            start = int(streams.start[run])
            hello = read_hello(streams.data[start : min(int(streams.end[run]), start + HELLO_LIMIT)].tobytes())
            if hello is not None:
                told = {"tls_version": hello.version, "tls_sni": hello.sni, "tls_alpn": hello.alpn}
                conn = int(streams.direction[run]) >> 1
                self._found += [(conn, what, text) for what, text in told.items() if text is not None]

    def _sessions(self, streams: Streams, runs: NDArray[np.int64], connections: NDArray[np.void]) -> None:
        """Notes how ZooKeeper sessions begin, by the server's answer, and that their clients close them."""
        for run in runs.tolist():
            start, end, conn = int(streams.start[run]), int(streams.end[run]), int(streams.direction[run]) >> 1
            if int(connections["client_side"][conn]) == int(streams.direction[run]) & 1:
                if ends_session(streams.data[max(start, end - CLOSE_BYTES) : end].tobytes()):
                    self._found.append((conn, "zookeeper_closed", "1"))
            elif streams.stream_offset[run] == 0:
                session = read_connect_response(streams.data[start : min(end, start + HANDSHAKE_LIMIT)].tobytes())
                if session is not None:
                    self._found.append((conn, "zookeeper_session", f"0x{session.session_id:x}"))
                    self._found.append((conn, "zookeeper_timeout_ms", str(session.timeout_ms)))

    def tokens(self, data: NDArray[np.uint8], stretches: NDArray[np.void]) -> None:
        """Takes what clients sent outside of requests: after SaslHandshake v0, tokens with their length before them.

        stretches: framing's STRETCH rows over data, of requests.
        """
        for row in stretches[stretches["reason"] == REASON_SASL]:
            raw = data[row["start"] : row["start"] + row["length"]]
            size = int.from_bytes(raw[:4].tobytes(), "big")
            self._first_token(int(row["direction"]) >> 1, raw[4 : 4 + size].tobytes() if len(raw) >= 4 + size else b"")

    def _principals(self, columns: Columns, frames: NDArray[np.void]) -> None:
        token = _node(columns, "auth_bytes")
        offsets, lengths = columns.offsets(token), columns.lengths(token)
        for row, conn in enumerate(_conns(frames)):
            self._first_token(conn, columns.buf[offsets[row] : offsets[row] + max(lengths[row], 0)].tobytes())

    def _first_token(self, conn: int, token: bytes) -> None:
        """Notes the user that a connection's first token names; later ones name nobody."""
        mechanism = self._mechanisms.pop(conn, None)
        user = principal_of(mechanism, token) if mechanism else None
        if user is not None:
            self._found.append((conn, "principal", user))

    def _offered(self, columns: Columns, frames: NDArray[np.void]) -> None:
        """The versions of answers without an error: one text, which brokers of one release share."""
        key, low, high = (_node(columns, f"api_keys[].{name}") for name in ("api_key", "min_version", "max_version"))
        triples = np.stack([columns.values(node).astype(np.int16) for node in (key, low, high)], 1)
        ends = np.searchsorted(columns.row(key), np.arange(len(columns) + 1))
        good = np.flatnonzero(columns.values(_node(columns, "error_code")) == 0)
        conns = frames["direction"] >> 1
        for rows, lists in _by_length(triples, ends, good):
            offers, which = _distinct_rows(lists)
            texts = pa.array([self._offer(offer) for offer in offers], pa.string())
            what = pa.repeat("api_versions_offered", len(rows))
            coded = pa.DictionaryArray.from_arrays(pa.array(which), texts)
            self._offered_on.append(pa.table([pa.array(conns[rows]), what, coded], NOTES_SCHEMA))

    def _offer(self, triples: NDArray[np.int16]) -> str:
        raw = triples.tobytes()
        if raw not in self._offers:
            named = sorted((k, f"{api_name(k)}:{low}-{high}") for k, low, high in triples.tolist())
            if len(self._offers) > _MOST_OFFERS:
                self._offers.clear()
            self._offers[raw] = ",".join(text for _, text in named)
        return self._offers[raw]


def _by_length(
    values: NDArray[np.int16], ends: NDArray[np.int64], rows: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int16]]]:
    """The lists of those rows, those of one length together: their rows, and values[n_rows, length, ...]. The list of
    row i is values[ends[i] : ends[i + 1]].
    """
    lengths = ends[rows + 1] - ends[rows]
    for length in np.unique(lengths).tolist():
        alike = rows[lengths == length]
        yield alike, values[ends[alike][:, np.newaxis] + np.arange(length)]


def _distinct_rows(lists: NDArray[np.int16]) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
    """Each list once, and which of them each row has."""
    if not lists[0].size:
        return lists[:1], np.zeros(len(lists), np.int32)
    whole = lists.reshape(len(lists), -1)
    keys = whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).reshape(-1)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return lists[first], which.astype(np.int32)


_MOST_OFFERS = 64
"""Different offers that are remembered: a cluster has as many as releases and listeners."""


def _conns(frames: NDArray[np.void]) -> list[int]:
    return np.asarray(frames["direction"] >> 1).tolist()  # type: ignore[no-any-return]


def _node(columns: Columns, path: str) -> Node:
    (node,) = nodes_of(columns.message, (path,))
    return node
