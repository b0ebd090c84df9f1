"""Rows of `connections`: how each TCP connection came, went, and what it spoke."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.dictionary import (
    DictionaryColumn,
    DistinctCodes,
    ServerEndpoints,
    firsts,
    put_texts,
)
from kafkascope_analyzer.connections.network_columns import network_columns
from kafkascope_analyzer.connections.nodes import Endpoint
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.dataset.tables.requests import PLAIN, TLS_KEYS
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_parsers.framing.layout import (
    BY_FIRST_REQUEST,
    BY_PORT,
    BY_SYN,
    HTTP,
    KAFKA,
    OTHER,
    TLS,
    UNKNOWN,
    ZOOKEEPER,
)
from kafkascope_parsers.schema import api_name

_PROTOCOL_WHY = {
    KAFKA: "its frames are Kafka requests",
    TLS: "its first bytes are a TLS handshake",
    HTTP: "its first bytes are an HTTP request",
    OTHER: "its first bytes are no Kafka request",
    ZOOKEEPER: "it opens a ZooKeeper session, or keeps one open by pings",
    UNKNOWN: "no frame was recognised",
}
_PROTOCOLS = {KAFKA: "kafka", TLS: "tls", HTTP: "http", OTHER: "other", UNKNOWN: "other"}
_PROTOCOLS |= {ZOOKEEPER: "zookeeper"}
_NO_NODE = {
    KAFKA: "nothing in the capture shows which broker this is",
    TLS: "encrypted: what would show which broker this is cannot be read",
    UNKNOWN: "nothing in the capture shows which broker this is, if it is one",
}
"""Why a connection has no node id where nothing shows one. HTTP and other protocols have none."""
_OPENED_BY = {BY_SYN: "syn", BY_FIRST_REQUEST: "first_request", BY_PORT: "port"}


_TEXTS: tuple[str, ...] = (
    "software_name",
    "software_version",
    "sasl_mechanism",
    "principal",
    "tls_version",
    "tls_sni",
    "tls_alpn",
    "tls_alert_0",
    "tls_alert_1",
)
_TEXTS += ("api_versions_offered", "zookeeper_session")
_NUMBERS = ("session_lifetime_ms", "zookeeper_timeout_ms", "zookeeper_closed")
"""What connections note once as a number; of several the last counts."""
_VERSION_BITS = 16
_LEAST_VERSION = -(1 << 15)
"""An API key and version as one number."""
_NO_NUMBER = -1

SLICE_ROWS = 8192
"""Rows made at a time: each names every version that its broker offers, a kilobyte or more."""


class ConnectionFacts:
    """What is known of the connections of one bucket, by connection number; requests are noted batch by batch. Some
    100 bytes each beside `raw`, as long as few of their texts are distinct.

    raw: the spilled connections (see scan.connection_state); network_times: network_times.NETWORK_TIMES of all
    connections, where there are several capture points.
    """

    def __init__(self, raw: pa.Table, cluster: Cluster, network_times: pa.Table | None = None) -> None:
        self.raw = raw.combine_chunks()
        n = raw.num_rows
        ends = ServerEndpoints(raw)
        nodes = [cluster.nodes.get(end) for end in ends.distinct]
        advertised = [
            _nearest(cluster.advertised.get(node.node_id, []), end) if node and node.node_id is not None else None
            for node, end in zip(nodes, ends.distinct, strict=True)
        ]
        which = pa.array(ends.which)
        self.node_ids = pa.array([node and node.node_id for node in nodes], pa.int32()).take(which)
        self._has_node = pa.array([node is not None for node in nodes], pa.bool_()).take(which)
        self._node_why = pa.array([node and node.why for node in nodes], pa.string()).dictionary_encode().take(which)
        self._known = ends.which
        self._advertised_host = pa.array([end and end[0] for end in advertised], pa.string())
        self._advertised_port = pa.array([end and end[1] for end in advertised], pa.int32())
        self.n_requests, self.n_responses, self.n_errors = (np.zeros(n, np.int64) for _ in range(3))
        self.client_ids, self._client_id_codes = DistinctCodes(), DictionaryColumn[str](0, "")
        self.used = DistinctCodes()
        self.texts = {name: DictionaryColumn[str | None](n, None) for name in _TEXTS}
        self._texts: dict[str, pa.Array] = {}
        self.numbers = {name: np.full(n, _NO_NUMBER, np.int64) for name in _NUMBERS}
        self._network = network_columns(self.raw, network_times) if network_times is not None else {}

    def names(self) -> pa.Table:
        """conn_id, endpoints, node_id, client_side and decoded_by by connection number."""
        columns = ["conn_id", "client_ip", "client_port", "server_ip", "server_port", "client_side"]
        decoded_by = pc.if_else(self.raw["is_decrypted"], TLS_KEYS, PLAIN)
        return self.raw.select(columns).append_column("node_id", self.node_ids).append_column("decoded_by", decoded_by)

    def note_requests(self, rows: pa.Table) -> None:
        """Takes a batch of settled requests."""
        conn = rows["conn"].to_numpy()
        asked = np.asarray(pc.is_valid(rows["api_key"]))
        np.add.at(self.n_requests, conn[asked], 1)
        np.add.at(self.n_responses, conn[np.asarray(pc.is_valid(rows["response_ns"]))], 1)
        np.add.at(self.n_errors, conn, rows["n_errors"].fill_null(0).to_numpy())
        self._note_client_ids(rows.select(["conn", "client_id", "ts_ns"]).filter(pc.is_valid(rows["client_id"])))
        versions = rows["api_version"].to_numpy()[asked].astype(np.int64) - _LEAST_VERSION
        self.used.add(conn[asked], rows["api_key"].to_numpy()[asked].astype(np.int64) << _VERSION_BITS | versions)
        for name in ("software_name", "software_version", "sasl_mechanism"):
            given = rows.select(["conn", "ts_ns", name]).filter(pc.is_valid(rows[name]))
            self._note_texts(name, given, given["ts_ns"].to_numpy())

    def note(self, notes: pa.Table) -> None:
        """Takes a batch of what connections showed once (scan.connection_notes.NOTES_SCHEMA)."""
        for name in pc.unique(notes["what"]).to_pylist():
            given = notes.filter(pc.equal(notes["what"], name)).select(["conn", "text"])
            if name in self.numbers:
                values = given["text"].cast(pa.string()).cast(pa.int64()).to_numpy()
                self.numbers[name][given["conn"].to_numpy()] = values
            else:
                self._note_texts(name, given.rename_columns(["conn", name]), None)

    def _note_client_ids(self, given: pa.Table) -> None:
        """Takes the client ids of requests."""
        texts = given["client_id"].combine_chunks().dictionary_encode()
        codes = np.array([self._client_id_codes.code(text) for text in texts.dictionary.to_pylist()], np.int64)
        self.client_ids.add(given["conn"].to_numpy(), codes[texts.indices.to_numpy()], given["ts_ns"].to_numpy())

    def _note_texts(self, name: str, given: pa.Table, ts_ns: NDArray[np.int64] | None) -> None:
        """The first text counts: by time where that is known, else in the order given."""
        conn = given["conn"].to_numpy()
        first = firsts(conn, ts_ns)
        put_texts(self.texts[name], conn[first], given[name].take(pa.array(first)))

    def text_columns(self, rows: slice) -> dict[str, pa.Array]:
        """What some connections said of themselves."""
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
        """The distinct texts of a column, those of versions taken apart; made when they are first asked for."""
        if name not in self._texts:
            coded = self._client_id_codes if name == "client_ids" else self.texts[name]
            values = pa.array(coded.values, pa.string())
            self._texts[name] = pc.split_pattern(values, ",") if name == "api_versions_offered" else values
        return self._texts[name]

    def view_columns(self, rows: slice) -> dict[str, pa.Array]:
        """What the views of several capture points show of some connections; nothing where there are no points."""
        return {name: column[rows] for name, column in self._network.items()}

    def node_columns(self, rows: slice) -> dict[str, pa.Array]:
        """What is known of the nodes behind some connections."""
        given = pa.array(self._known[rows])
        protocol = _named(self.raw["protocol"][rows], _NO_NODE)
        return {
            "node_id": self.node_ids[rows],
            "node_id_why": pc.if_else(self._has_node[rows], self._node_why[rows].dictionary_decode(), protocol),
            "advertised_host": self._advertised_host.take(given),
            "advertised_port": self._advertised_port.take(given),
        }


def _nearest(advertised: list[Endpoint], end: Endpoint) -> Endpoint | None:
    """The advertised endpoint that a connection to `end` most likely went by: itself, else one of the same port."""
    if end in advertised:
        return end
    return next((known for known in advertised if known[1] == end[1]), None)


def connection_rows(facts: ConnectionFacts, roles: pa.Table, cluster: str) -> Iterator[pa.Table]:
    """Rows of `connections`, SLICE_ROWS at a time. roles: added-up role counts (roles.PARTIAL_SCHEMA); cluster: of all
    these connections."""
    conn = roles["conn"].to_numpy()
    for first in range(0, facts.raw.num_rows, SLICE_ROWS):
        chosen = np.flatnonzero((conn >= first) & (conn < first + SLICE_ROWS))
        yield _rows_from(facts, first, roles.take(pa.array(chosen)), cluster)


def _rows_from(facts: ConnectionFacts, first: int, roles: pa.Table, cluster: str) -> pa.Table:
    """The rows of SLICE_ROWS connections; roles: theirs."""
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
    columns |= facts.view_columns(part) | _alert_columns(columns)
    for name in ("syn", "synack", "first", "last", "close"):
        columns[f"{name}_ts"] = microseconds(flat(columns[f"{name}_ns"]))
    return pa.table([_typed(columns, field, n) for field in CONNECTIONS.schema], CONNECTIONS.schema)


def _alert_columns(columns: dict[str, pa.ChunkedArray | pa.Array]) -> dict[str, pa.Array]:
    """The TLS alerts of the two ends of some connections: those of the sides, which columns has, by which is the
    client."""
    is_second = pc.equal(columns["client_side"], 1)
    first, second = columns["tls_alert_0"], columns["tls_alert_1"]
    return {
        "tls_client_alert": pc.if_else(is_second, second, first),
        "tls_server_alert": pc.if_else(is_second, first, second),
    }


def _typed(columns: dict[str, pa.ChunkedArray | pa.Array], field: pa.Field, n: int) -> pa.Array:
    return flat(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(n, field.type)


def _role_columns(roles: pa.Table, rows: slice) -> dict[str, pa.Array]:
    """The roles of some connections that were not refused, and the one that most requests served."""
    kept = roles.filter(pc.or_(pc.greater(roles["n_confirmed"], 0), pc.equal(roles["n_refused"], 0)))
    counted = kept.group_by(["conn", "role"], use_threads=False).aggregate([("n_requests", "sum")])
    counted = counted.sort_by([("conn", "ascending"), ("role", "ascending")])
    conn, n = counted["conn"].to_numpy(), counted["n_requests_sum"].to_numpy()
    names = flat(counted["role"])
    ends = np.searchsorted(conn, np.arange(rows.start, rows.stop + 1)).astype(np.int32)
    first = firsts(conn, -n)  # of several that served as many, the first by name
    primary = np.full(rows.stop - rows.start, -1, np.int64)
    primary[conn[first] - rows.start] = first
    return {
        "roles": pa.ListArray.from_arrays(pa.array(ends), names),
        "primary_role": names.take(pa.array(primary, mask=primary < 0)),
    }


def _version_text(code: int) -> str:
    """An API and version by their number."""
    version = (code & ((1 << _VERSION_BITS) - 1)) + _LEAST_VERSION
    return f"{api_name(code >> _VERSION_BITS)}:{version}"


def _named(codes: pa.ChunkedArray, names: dict[int, str]) -> pa.Array:
    """The name of each code; null for a code that has none."""
    coded = flat(codes).dictionary_encode()
    return pa.array([names.get(code) for code in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)


def _protocol(raw: pa.Table) -> pa.Array:
    """The protocol, `empty` for a connection without a byte."""
    carried: NDArray[np.int64] = raw["client_bytes"].to_numpy() + raw["server_bytes"].to_numpy()
    named = _named(raw["protocol"], _PROTOCOLS)
    return pc.if_else(pa.array(carried == 0), "empty", named)
