"""Rows of `connections`: how each TCP connection was opened and closed, and its protocol."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.claimed_jobs import CLAIMED
from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.dictionary import (
    DictionaryColumn,
    DistinctCodes,
    ServerEndpoints,
    firsts,
    put_texts,
)
from kafkascope_analyzer.connections.network_columns import network_columns
from kafkascope_analyzer.connections.nodes import Endpoint, Node
from kafkascope_analyzer.connections.tls_failures import tls_failures
from kafkascope_analyzer.dataset.contract import STRINGS
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.dataset.tables.connections import ENCRYPTED_ALERT, LIST_SEPARATOR
from kafkascope_analyzer.dataset.tables.requests import PLAIN, TLS_KEYS, TLS_LENGTHS
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_parsers.framing.layout import (
    BY_FIRST_REQUEST,
    BY_PORT,
    BY_SYN,
    HTTP,
    KAFKA,
    OTHER,
    PROXY,
    TLS,
    UNKNOWN,
    ZOOKEEPER,
)
from kafkascope_parsers.schema import api_name

_PROTOCOL_WHY = {
    KAFKA: "its frames are Kafka requests",
    TLS: "its first bytes are a TLS handshake",
    HTTP: "its first bytes are an HTTP request",
    PROXY: "its first bytes are a header of the PROXY protocol",
    OTHER: "its first bytes are no Kafka request",
    ZOOKEEPER: "it opens a ZooKeeper session, or keeps one open by pings",
    UNKNOWN: "no frame was recognised",
}
_PROTOCOLS = {KAFKA: "kafka", TLS: "tls", HTTP: "http", OTHER: "other", UNKNOWN: "other"}
_PROTOCOLS |= {ZOOKEEPER: "zookeeper", PROXY: "proxy"}
_NO_NODE = {
    KAFKA: "nothing in the capture shows which broker this is",
    TLS: "encrypted: what would show which broker this is cannot be read",
    UNKNOWN: "nothing in the capture shows which broker this is, if it is one",
}
"""Why a connection has no node id where nothing shows one. HTTP and other protocols have none."""
_OPENED_BY = {BY_SYN: "syn", BY_FIRST_REQUEST: "first_request", BY_PORT: "port"}


_COUNTED = ("client_ids", "api_versions_used", "roles", "capture_points")
"""List columns of `connections` that do not come from single notes."""
_REQUESTED = ("software_name", "software_version", "sasl_mechanism")
"""Text columns of `connections` that come from requests."""
_LISTS = frozenset(
    column.name for column in CONNECTIONS.columns if column.type == STRINGS and column.name not in _COUNTED
)
"""Lists that a connection notes once, joined by LIST_SEPARATOR."""
_NUMBERS = frozenset(
    column.name
    for column in CONNECTIONS.columns
    if column.type in (pa.bool_(), pa.int32(), pa.int64())
    and column.name.startswith(("tls_", "zookeeper_", "session_"))
    and column.name not in ("tls_decrypted", "tls_bytes")
)
"""Numbers and flags that a connection notes once; of several the last counts."""
_VERSION_BITS = 16
_LEAST_VERSION = -(1 << 15)
"""Offset that makes an API key and version one number."""
_NO_NUMBER = -1

_TIMES = tuple(
    name for name in CONNECTIONS.schema.names if f"{name.removesuffix('_ns')}_ts" in CONNECTIONS.schema.names
)
"""Times in nanoseconds since the epoch that have a second column, in microseconds."""

SLICE_ROWS = 8192
"""Rows made at a time: each names every version that its broker offers, a kilobyte or more."""


class ConnectionFacts:
    """Facts about the connections of one bucket, by connection number; requests are added batch by batch. Some 100
    bytes each besides `raw`, as long as few of their texts are distinct.

    raw: the spilled connections (see scan.connection_state); claims: for all connections whose requests are known by
    the lengths of TLS records, conn_id and columns of `connections`; network_times: network_times.NETWORK_TIMES of all
    connections, where there are several capture points.
    """

    def __init__(
        self, raw: pa.Table, cluster: Cluster, claims: pa.Table, network_times: pa.Table | None = None
    ) -> None:
        self.raw = raw.combine_chunks()
        n = raw.num_rows
        places, known = _places(self.raw, cluster)
        nodes = [node for _, node in places]
        advertised = [
            _nearest(cluster.advertised.get(node.node_id, []), end) if node and node.node_id is not None else None
            for end, node in places
        ]
        which = pa.array(known)
        self._claims = claims.take(pc.index_in(flat(self.raw["conn_id"]), flat(claims["conn_id"])))
        self.by_lengths = flat(self._claims["conn_id"].is_valid())
        """Whether the requests of each connection are known by the lengths of TLS records."""
        self.node_ids = pa.array([node and node.node_id for node in nodes], pa.int32()).take(which)
        self.has_node = pa.array([node is not None for node in nodes], pa.bool_()).take(which)
        self._node_why = pa.array([node and node.why for node in nodes], pa.string()).dictionary_encode().take(which)
        self._known = known
        self._advertised_host = pa.array([end and end[0] for end in advertised], pa.string())
        self._advertised_port = pa.array([end and end[1] for end in advertised], pa.int32())
        self.n_requests, self.n_responses, self.n_errors = (np.zeros(n, np.int64) for _ in range(3))
        self.client_ids, self._client_id_codes = DistinctCodes(), DictionaryColumn[str](0, "")
        self.used = DistinctCodes()
        self.texts: dict[str, DictionaryColumn[str | None]] = {}
        self._texts: dict[str, pa.Array] = {}
        self.numbers: dict[str, NDArray[np.int64]] = {}
        self._network = network_columns(self.raw, network_times) if network_times is not None else {}

    def names(self) -> pa.Table:
        """Returns conn_id, endpoints, node_id, client_side and decoded_by by connection number."""
        columns = ["conn_id", "client_ip", "client_port", "server_ip", "server_port", "client_side"]
        decoded_by = pc.if_else(self.raw["is_decrypted"], TLS_KEYS, pc.if_else(self.by_lengths, TLS_LENGTHS, PLAIN))
        return self.raw.select(columns).append_column("node_id", self.node_ids).append_column("decoded_by", decoded_by)

    def note_requests(self, rows: pa.Table) -> None:
        """Adds a batch of completed requests."""
        conn = rows["conn"].to_numpy()
        asked = np.asarray(pc.is_valid(rows["api_key"]))
        np.add.at(self.n_requests, conn[asked], 1)
        np.add.at(self.n_responses, conn[np.asarray(pc.is_valid(rows["response_ns"]))], 1)
        np.add.at(self.n_errors, conn, rows["n_errors"].fill_null(0).to_numpy())
        self._note_client_ids(rows.select(["conn", "client_id", "ts_ns"]).filter(pc.is_valid(rows["client_id"])))
        versions = rows["api_version"].to_numpy()[asked].astype(np.int64) - _LEAST_VERSION
        self.used.add(conn[asked], rows["api_key"].to_numpy()[asked].astype(np.int64) << _VERSION_BITS | versions)
        for name in _REQUESTED:
            given = rows.select(["conn", "ts_ns", name]).filter(pc.is_valid(rows[name]))
            self._note_texts(name, given, given["ts_ns"].to_numpy())

    def added_up(self) -> dict[str, Any]:
        """Returns the counts, client ids and texts from requests, to be saved."""
        texts = {name: self.texts[name] for name in _REQUESTED if name in self.texts}
        return {
            "numbers": [self.n_requests, self.n_responses, self.n_errors],
            "client_ids": [self.client_ids.pairs(), self._client_id_codes.values],
            "used": self.used.pairs(),
            "texts": {name: [coded.codes, coded.values] for name, coded in texts.items()},
        }

    def resume(self, added_up: dict[str, Any]) -> None:
        """Continues from the saved facts of an earlier run; called after all notes, before the first request."""
        for mine, saved in zip((self.n_requests, self.n_responses, self.n_errors), added_up["numbers"], strict=True):
            mine[: len(saved)] = saved
        pairs, client_ids = added_up["client_ids"]
        for client_id in client_ids:
            self._client_id_codes.code(client_id)
        self.client_ids.resume(pairs)
        self.used.resume(added_up["used"])
        for name, (codes, values) in added_up["texts"].items():
            conn = np.flatnonzero(codes)
            texts = pa.chunked_array([pa.array(values, pa.string()).take(pa.array(codes[conn]))])
            if len(conn) and name not in self.texts:
                self.texts[name] = DictionaryColumn(self.raw.num_rows, None)
            if len(conn):
                put_texts(self.texts[name], conn, texts)

    def note(self, notes: pa.Table) -> None:
        """Adds a batch of facts that connections showed once (scan.connection_notes.NOTES_SCHEMA)."""
        for name in pc.unique(notes["what"]).to_pylist():
            given = notes.filter(pc.equal(notes["what"], name)).select(["conn", "text"])
            if name in _NUMBERS:
                values = given["text"].cast(pa.string()).cast(pa.int64()).to_numpy()
                if name not in self.numbers:
                    self.numbers[name] = np.full(self.raw.num_rows, _NO_NUMBER, np.int64)
                self.numbers[name][given["conn"].to_numpy()] = values
            else:
                self._note_texts(name, given.rename_columns(["conn", name]), None)

    def _note_client_ids(self, given: pa.Table) -> None:
        """Adds the client ids of requests."""
        texts = given["client_id"].combine_chunks().dictionary_encode()
        codes = np.array([self._client_id_codes.code(text) for text in texts.dictionary.to_pylist()], np.int64)
        self.client_ids.add(given["conn"].to_numpy(), codes[texts.indices.to_numpy()], given["ts_ns"].to_numpy())

    def _note_texts(self, name: str, given: pa.Table, ts_ns: NDArray[np.int64] | None) -> None:
        """Sets texts of connections. The first text counts: by time where that is known, else in the order given."""
        conn = given["conn"].to_numpy()
        first = firsts(conn, ts_ns)
        if len(first) and name not in self.texts:
            self.texts[name] = DictionaryColumn(self.raw.num_rows, None)
        if len(first):
            put_texts(self.texts[name], conn[first], given[name].take(pa.array(first)))

    def text_columns(self, rows: slice) -> dict[str, pa.Array]:
        """Returns the texts of some connections."""
        found = {name: self._values(name).take(pa.array(coded.codes[rows])) for name, coded in self.texts.items()}
        ends, codes = self.client_ids.part(rows)
        found["client_ids"] = pa.ListArray.from_arrays(pa.array(ends), self._values("client_ids").take(pa.array(codes)))
        ends, codes = self.used.part(rows)
        distinct, which = np.unique(codes, return_inverse=True)
        versions = pa.array([_version_text(code) for code in distinct.tolist()], pa.string()).take(pa.array(which))
        found["api_versions_used"] = pa.ListArray.from_arrays(pa.array(ends), versions)
        for name, numbers in self.numbers.items():
            found[name] = pa.array(numbers[rows], mask=numbers[rows] == _NO_NUMBER)
        return found

    def _values(self, name: str) -> pa.Array:
        """Returns the distinct texts of a column, with those of versions split; made on first use."""
        if name not in self._texts:
            coded = self._client_id_codes if name == "client_ids" else self.texts[name]
            values = pa.array(coded.values, pa.string())
            self._texts[name] = pc.split_pattern(values, LIST_SEPARATOR) if name in _LISTS else values
        return self._texts[name]

    def claim_columns(self, rows: slice) -> dict[str, pa.Array]:
        """Returns the columns of CLAIMED of some connections; null where the lengths of TLS records do not
        show them."""
        return {name: self._claims[name][rows] for name in CLAIMED.names}

    def view_columns(self, rows: slice) -> dict[str, pa.Array]:
        """Returns the columns about the views of several capture points for some connections; none where there are no
        points."""
        return {name: column[rows] for name, column in self._network.items()}

    def node_columns(self, rows: slice) -> dict[str, pa.Array]:
        """Returns the columns about the nodes behind some connections."""
        given = pa.array(self._known[rows])
        protocol = _named(self.raw["protocol"][rows], _NO_NODE)
        return {
            "node_id": self.node_ids[rows],
            "node_id_why": pc.if_else(self.has_node[rows], self._node_why[rows].dictionary_decode(), protocol),
            "advertised_host": self._advertised_host.take(given),
            "advertised_port": self._advertised_port.take(given),
        }


def _places(raw: pa.Table, cluster: Cluster) -> tuple[list[tuple[Endpoint, Node | None]], NDArray[np.int64]]:
    """Returns the endpoints of servers with their nodes, and the index of the endpoint of each connection. For an
    address that several nodes had one after the other, a connection has the node at its end: a connection does not
    outlive the change."""
    ends = ServerEndpoints(raw)
    places, which = [(end, cluster.nodes.get(end)) for end in ends.distinct], ends.which.copy()
    ended_ns = pc.coalesce(raw["close_ns"], raw["last_ns"]).to_numpy()
    for number, end in enumerate(ends.distinct):
        node = places[number][1]
        owners = () if node is None else node.owners
        for i, (since_ns, owner) in enumerate(owners):
            which[(ends.which == number) & ((ended_ns >= since_ns) | (i == 0))] = len(places)
            places.append((end, owner))
    return places, which


def _nearest(advertised: list[Endpoint], end: Endpoint) -> Endpoint | None:
    """Returns the advertised endpoint that a connection to `end` most likely used: `end` itself, else one with the same
    port."""
    if end in advertised:
        return end
    return next((known for known in advertised if known[1] == end[1]), None)


def connection_rows(facts: ConnectionFacts, roles: pa.Table, cluster: str) -> Iterator[pa.Table]:
    """Yields rows of `connections`, SLICE_ROWS at a time. roles: aggregated role counts (roles.PARTIAL_SCHEMA);
    cluster: the cluster of all these connections."""
    conn = roles["conn"].to_numpy()
    for first in range(0, facts.raw.num_rows, SLICE_ROWS):
        chosen = np.flatnonzero((conn >= first) & (conn < first + SLICE_ROWS))
        yield _rows_from(facts, first, roles.take(pa.array(chosen)), cluster)


def _rows_from(facts: ConnectionFacts, first: int, roles: pa.Table, cluster: str) -> pa.Table:
    """Returns the rows of SLICE_ROWS connections; roles: role counts of these connections."""
    raw = facts.raw.slice(first, SLICE_ROWS)
    n = raw.num_rows
    part = slice(first, first + n)
    columns = {name: raw[name] for name in raw.column_names}
    columns |= {
        "cluster": pa.repeat(cluster, n),
        "opened_by": _named(raw["client_side_by"], _OPENED_BY),
        "protocol": _protocol(raw),
        "why": _named(raw["protocol"], _PROTOCOL_WHY),
        "handshake_us": pc.divide(pc.subtract(raw["synack_ns"], raw["syn_ns"]), 1000),
        "tls_decrypted": pc.if_else(
            raw["is_decrypted"], pa.scalar(True), pc.if_else(pc.equal(raw["protocol"], TLS), pa.scalar(False), None)
        ),
        "tls_bytes": pc.if_else(raw["is_decrypted"], raw["tls_bytes"], None),
        "n_requests": pa.array(facts.n_requests[part]),
        "n_responses": pa.array(facts.n_responses[part]),
        "n_errors": pa.array(facts.n_errors[part]),
    }
    columns |= facts.text_columns(part) | facts.node_columns(part) | _role_columns(roles, part)
    columns |= facts.claim_columns(part) | facts.view_columns(part) | _alert_columns(columns, n)
    columns["tls_failure"] = tls_failures(columns, facts.has_node[part])
    columns["principal"] = _principals(columns, n, facts.by_lengths[part])
    for name in _TIMES:
        if name in columns:
            columns[f"{name.removesuffix('_ns')}_ts"] = microseconds(flat(columns[name]))
    return pa.table([_typed(columns, field, n) for field in CONNECTIONS.schema], CONNECTIONS.schema)


def _alert_columns(columns: dict[str, pa.ChunkedArray | pa.Array], n: int) -> dict[str, pa.Array]:
    """Returns the TLS alerts of client and server of n connections, from those of the two sides in columns; where there
    are none, whether there was an encrypted alert."""
    is_second = pc.equal(columns["client_side"], 1)
    nothing = pa.nulls(n, pa.string())
    first, second = columns.get("tls_alert_0", nothing), columns.get("tls_alert_1", nothing)
    hidden = columns.get("tls_hidden_alert", nothing)
    of_client, of_server = (
        pc.if_else(pc.equal(hidden, side).fill_null(False), ENCRYPTED_ALERT, None) for side in ("client", "server")
    )
    return {
        "tls_client_alert": pc.coalesce(pc.if_else(is_second, second, first), of_client),
        "tls_server_alert": pc.coalesce(pc.if_else(is_second, first, second), of_server),
    }


def _principals(columns: dict[str, pa.ChunkedArray | pa.Array], n: int, by_lengths: pa.Array) -> pa.Array:
    """Returns the users of n connections: the one of SASL; else the subject of the client's certificate, if the server
    accepted it and answered. For a decrypted connection it is known that there was no SASL, for others it is not.
    by_lengths: whether requests are known by the lengths of TLS records."""
    nothing = pa.nulls(n, pa.string())
    principal, subject = columns.get("principal", nothing), columns.get("tls_client_subject", nothing)
    is_answered = pc.or_(
        pc.and_(columns["is_decrypted"], pc.greater(columns["n_responses"], 0)),
        pc.and_(by_lengths, pc.not_equal(columns["first_response_bytes"], 0)),
    )
    without_sasl = pc.is_null(columns.get("sasl_mechanism", nothing))
    is_taken = pc.and_(pc.and_(is_answered, without_sasl), pc.is_null(columns["tls_server_alert"]))
    return pc.coalesce(principal, pc.if_else(is_taken, subject, None))


def _typed(columns: dict[str, pa.ChunkedArray | pa.Array], field: pa.Field, n: int) -> pa.Array:
    return flat(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(n, field.type)


def _role_columns(roles: pa.Table, rows: slice) -> dict[str, pa.Array]:
    """Returns the roles of some connections that were not refused, and the one with the most requests."""
    kept = roles.filter(pc.or_(pc.greater(roles["n_confirmed"], 0), pc.equal(roles["n_refused"], 0)))
    counted = kept.group_by(["conn", "role"], use_threads=False).aggregate([("n_requests", "sum")])
    counted = counted.sort_by([("conn", "ascending"), ("role", "ascending")])
    conn, n = counted["conn"].to_numpy(), counted["n_requests_sum"].to_numpy()
    names = flat(counted["role"])
    ends = np.searchsorted(conn, np.arange(rows.start, rows.stop + 1)).astype(np.int32)
    first = firsts(conn, -n)  # of several roles with equally many requests, the first by name
    primary = np.full(rows.stop - rows.start, -1, np.int64)
    primary[conn[first] - rows.start] = first
    return {
        "roles": pa.ListArray.from_arrays(pa.array(ends), names),
        "primary_role": names.take(pa.array(primary, mask=primary < 0)),
    }


def _version_text(code: int) -> str:
    """Returns an API and version from their number, as text."""
    version = (code & ((1 << _VERSION_BITS) - 1)) + _LEAST_VERSION
    return f"{api_name(code >> _VERSION_BITS)}:{version}"


def _named(codes: pa.ChunkedArray, names: dict[int, str]) -> pa.Array:
    """Returns the name of each code; null for a code that has none."""
    coded = flat(codes).dictionary_encode()
    return pa.array([names.get(code) for code in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)


def _protocol(raw: pa.Table) -> pa.Array:
    """Returns the protocol, `empty` for a connection without a byte."""
    carried: NDArray[np.int64] = raw["client_bytes"].to_numpy() + raw["server_bytes"].to_numpy()
    named = _named(raw["protocol"], _PROTOCOLS)
    return pc.if_else(pa.array(carried == 0), "empty", named)
