"""Rows of `connections`: how each TCP connection came, went, and what it spoke."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.coded import Coded, Ends
from kafkascope_analyzer.connections.learn import Cluster
from kafkascope_analyzer.connections.nodes import Endpoint
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.ingest.messages import microseconds
from kafkascope_parsers.framing.layout import BY_FIRST_REQUEST, BY_PORT, BY_SYN, HTTP, KAFKA, OTHER, TLS, UNKNOWN
from kafkascope_parsers.schema import api_name

_PROTOCOL_WHY = {
    KAFKA: "its frames are Kafka requests",
    TLS: "its first bytes are a TLS handshake",
    HTTP: "its first bytes are an HTTP request",
    OTHER: "its first bytes are no Kafka request",
    UNKNOWN: "no frame was recognised",
}
_PROTOCOLS = {KAFKA: "kafka", TLS: "tls", HTTP: "http", OTHER: "other", UNKNOWN: "other"}
_NO_NODE = {
    KAFKA: "nothing in the capture tells which broker this is",
    TLS: "encrypted: what would tell which broker this is cannot be read",
    UNKNOWN: "nothing in the capture tells which broker this is, if it is one",
}
"""Why a connection has no node id where nothing told one. HTTP and other protocols have none."""
_OPENED_BY = {BY_SYN: "syn", BY_FIRST_REQUEST: "first_request", BY_PORT: "port"}


_TEXTS: tuple[str, ...] = (
    "software_name",
    "software_version",
    "sasl_mechanism",
    "principal",
    "tls_version",
    "tls_sni",
    "tls_alpn",
)
_TEXTS += ("api_versions_offered",)
Used = tuple[int, int]
"""An API key and version."""

SLICE_ROWS = 8192
"""Rows made at a time: each names every version that its broker offers, a kilobyte or more."""


class ConnectionFacts:
    """What is known of the connections of one bucket, by connection number; requests are noted batch by batch. Some
    100 bytes each beside `raw`, as long as few of their texts are distinct.

    raw: the spilled connections (see ingest.connection_state).
    """

    def __init__(self, raw: pa.Table, cluster: Cluster) -> None:
        self.raw = raw.combine_chunks()
        n = raw.num_rows
        ends = Ends(raw)
        nodes = [cluster.nodes.get(end) for end in ends.distinct]
        told = [
            _nearest(cluster.advertised.get(node.node_id, []), end) if node and node.node_id is not None else None
            for node, end in zip(nodes, ends.distinct, strict=True)
        ]
        which = pa.array(ends.which)
        self.node_ids = pa.array([node and node.node_id for node in nodes], pa.int32()).take(which)
        self._has_node = pa.array([node is not None for node in nodes], pa.bool_()).take(which)
        self._node_why = pa.array([node and node.why for node in nodes], pa.string()).dictionary_encode().take(which)
        self._told = ends.which
        self._advertised_host = pa.array([end and end[0] for end in told], pa.string())
        self._advertised_port = pa.array([end and end[1] for end in told], pa.int32())
        self.n_requests, self.n_responses, self.n_errors = (np.zeros(n, np.int64) for _ in range(3))
        self.client_ids = Coded[tuple[str, ...]](n, ())
        self.used = Coded[frozenset[Used]](n, frozenset())
        self.texts = {name: Coded[str | None](n, None) for name in _TEXTS}
        self.lifetimes_ms = Coded[int | None](n, None)

    def names(self) -> pa.Table:
        """conn_id, endpoints, node_id and client_side by connection number."""
        columns = ["conn_id", "client_ip", "client_port", "server_ip", "server_port", "client_side"]
        return self.raw.select(columns).append_column("node_id", self.node_ids)

    def note_requests(self, rows: pa.Table) -> None:
        """Takes a batch of settled requests."""
        conn = rows["conn"].to_numpy()
        asked = np.asarray(pc.is_valid(rows["api_key"]))
        np.add.at(self.n_requests, conn[asked], 1)
        np.add.at(self.n_responses, conn[np.asarray(pc.is_valid(rows["response_ns"]))], 1)
        np.add.at(self.n_errors, conn, rows["n_errors"].fill_null(0).to_numpy())
        for row in _groups(rows.filter(pc.is_valid(rows["client_id"])), ["conn", "client_id"]):
            known = self.client_ids[row["conn"]]
            if row["client_id"] not in known:
                self.client_ids[row["conn"]] = (*known, row["client_id"])
        used: dict[int, set[Used]] = {}
        for row in _groups(rows.filter(pc.is_valid(rows["api_key"])), ["conn", "api_key", "api_version"]):
            used.setdefault(row["conn"], set()).add((row["api_key"], row["api_version"]))
        for number, versions in used.items():
            self.used[number] |= versions
        for name in ("software_name", "software_version", "sasl_mechanism"):
            for row in _groups(rows.filter(pc.is_valid(rows[name])), ["conn", name]):
                self._note_text(row["conn"], name, row[name])

    def note(self, notes: pa.Table) -> None:
        """Takes a batch of what connections showed once (ingest.connection_notes.NOTES_SCHEMA)."""
        for conn, what, text in zip(*(notes[name].to_pylist() for name in ("conn", "what", "text")), strict=True):
            if what == "session_lifetime_ms":
                self.lifetimes_ms[conn] = int(text)
            else:
                self._note_text(conn, what, text)

    def _note_text(self, conn: int, name: str, text: str) -> None:
        """The first text counts."""
        if self.texts[name][conn] is None:
            self.texts[name][conn] = text

    def node_columns(self, rows: slice) -> dict[str, pa.Array]:
        """What is known of the nodes behind some connections."""
        told = pa.array(self._told[rows])
        protocol = _named(self.raw["protocol"][rows], _NO_NODE)
        return {
            "node_id": self.node_ids[rows],
            "node_id_why": pc.if_else(self._has_node[rows], self._node_why[rows].dictionary_decode(), protocol),
            "advertised_host": self._advertised_host.take(told),
            "advertised_port": self._advertised_port.take(told),
        }


def _nearest(advertised: list[Endpoint], end: Endpoint) -> Endpoint | None:
    """The advertised endpoint that a connection to `end` most likely went by: itself, else one of the same port."""
    if end in advertised:
        return end
    return next((told for told in advertised if told[1] == end[1]), None)


def _groups(rows: pa.Table, keys: list[str]) -> list[dict[str, Any]]:
    """Distinct keys of a batch, by their first time."""
    grouped = rows.select([*keys, "ts_ns"]).group_by(keys, use_threads=False).aggregate([("ts_ns", "min")])
    return list(grouped.sort_by("ts_ns_min").to_pylist())


def connection_rows(facts: ConnectionFacts, roles: pa.Table) -> Iterator[pa.Table]:
    """Rows of `connections`, SLICE_ROWS at a time. roles: added-up role counts (roles.PARTIAL_SCHEMA)."""
    conn = roles["conn"].to_numpy()
    for first in range(0, facts.raw.num_rows, SLICE_ROWS):
        chosen = np.flatnonzero((conn >= first) & (conn < first + SLICE_ROWS))
        yield _rows_from(facts, first, roles.take(pa.array(chosen)))


def _rows_from(facts: ConnectionFacts, first: int, roles: pa.Table) -> pa.Table:
    """The rows of SLICE_ROWS connections; roles: theirs."""
    raw = facts.raw.slice(first, SLICE_ROWS)
    n = raw.num_rows
    here, part = range(first, first + n), slice(first, first + n)
    texts = {name: found.part(part) for name, found in facts.texts.items()}
    offered = [text if text is None else text.split(",") for text in texts.pop("api_versions_offered")]
    of_conn, primary = _roles_by_connection(roles)
    columns = {name: raw[name] for name in raw.column_names}
    columns |= {
        "opened_by": _named(raw["told_by"], _OPENED_BY),
        "protocol": _protocol(raw),
        "why": _named(raw["protocol"], _PROTOCOL_WHY),
        "handshake_us": pc.divide(pc.subtract(raw["synack_ns"], raw["syn_ns"]), 1000),
        "client_ids": pa.array(facts.client_ids.part(part), pa.list_(pa.string())),
        "api_versions_used": pa.array([_versions(used) for used in facts.used.part(part)], pa.list_(pa.string())),
        "api_versions_offered": pa.array(offered, pa.list_(pa.string())),
        "session_lifetime_ms": pa.array(facts.lifetimes_ms.part(part), pa.int64()),
        "tls_decrypted": pc.if_else(pc.equal(raw["protocol"], TLS), pa.scalar(False), None),
        "roles": pa.array([sorted(of_conn.get(i, ())) for i in here], pa.list_(pa.string())),
        "primary_role": pa.array([primary.get(i) for i in here], pa.string()),
        "n_requests": pa.array(facts.n_requests[part]),
        "n_responses": pa.array(facts.n_responses[part]),
        "n_errors": pa.array(facts.n_errors[part]),
    }
    columns |= {name: pa.array(found, pa.string()) for name, found in texts.items()}
    columns |= facts.node_columns(part)
    for name in ("syn", "synack", "first", "last", "close"):
        columns[f"{name}_ts"] = microseconds(_flat(columns[f"{name}_ns"]))
    return pa.table([_typed(columns, field, n) for field in CONNECTIONS.schema], CONNECTIONS.schema)


def _typed(columns: dict[str, pa.ChunkedArray | pa.Array], field: pa.Field, n: int) -> pa.Array:
    return _flat(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(n, field.type)


def _flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which copies
    return column


def _roles_by_connection(roles: pa.Table) -> tuple[dict[int, set[str]], dict[int, str]]:
    """Roles of each connection that were not refused, and the one that most requests served."""
    of_conn: dict[int, set[str]] = {}
    counts: dict[int, dict[str, int]] = {}
    for row in roles.select(["conn", "role", "n_requests", "n_confirmed", "n_refused"]).to_pylist():
        if row["n_confirmed"] or not row["n_refused"]:
            of_conn.setdefault(row["conn"], set()).add(row["role"])
            by_role = counts.setdefault(row["conn"], {})
            by_role[row["role"]] = by_role.get(row["role"], 0) + row["n_requests"]
    return of_conn, {conn: min(by_role, key=lambda role: (-by_role[role], role)) for conn, by_role in counts.items()}


def _versions(used: frozenset[Used]) -> list[str]:
    return [f"{api_name(key)}:{version}" for key, version in sorted(used)]


def _named(codes: pa.ChunkedArray, names: dict[int, str]) -> pa.Array:
    return pa.array([names.get(code) for code in codes.to_pylist()], pa.string())


def _protocol(raw: pa.Table) -> pa.Array:
    """The protocol, `empty` for a connection without a byte."""
    carried: NDArray[np.int64] = raw["client_bytes"].to_numpy() + raw["server_bytes"].to_numpy()
    named = _named(raw["protocol"], _PROTOCOLS)
    return pc.if_else(pa.array(carried == 0), "empty", named)
