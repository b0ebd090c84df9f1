"""The reason of a failed TLS handshake: the alert, made more specific by the certificates and hellos of the handshake.

An alert does not count for a server that seems to speak another protocol than Kafka, because its port is usual for
that, or the client has ALPN in its hello, as web clients do, and nothing shows that the server is a broker.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.encrypted_kafka import OTHER_PORTS

_OF_CERTIFICATE = frozenset(
    {
        "unknown_ca",
        "bad_certificate",
        "certificate_unknown",
        "certificate_expired",
        "unsupported_certificate",
        "encrypted",
    }
)
"""Alerts that may refer to the other side's certificate."""
_OF_HANDSHAKE = (
    "first_ns", "server_port", "tls_client_alert", "tls_server_alert", "tls_client_certificate", "tls_version",
    "tls_sni", "tls_alpns_offered", "tls_versions_offered", "tls_suites_offered", "tls_server_names",
    "tls_server_not_before_ns",
    "tls_server_not_after_ns", "tls_client_not_before_ns", "tls_client_not_after_ns",
)  # fmt: skip
Row = Mapping[str, Any]


def tls_failures(columns: Mapping[str, pa.ChunkedArray | pa.Array], has_node: pa.Array) -> pa.Array:
    """Returns why TLS failed on connections, null where it did not. columns: the known columns of `connections`;
    has_node: whether the server is known to be a broker."""
    has_alert = pc.or_(pc.is_valid(columns["tls_client_alert"]), pc.is_valid(columns["tls_server_alert"]))
    rows = np.flatnonzero(np.asarray(has_alert))
    taken = {name: columns[name].take(pa.array(rows)).to_pylist() for name in _OF_HANDSHAKE if name in columns}
    brokers = has_node.take(pa.array(rows)).to_pylist()
    found: list[str | None] = [None] * len(has_alert)
    for i, row in enumerate(rows.tolist()):
        handshake = dict.fromkeys(_OF_HANDSHAKE) | {name: values[i] for name, values in taken.items()}
        found[row] = reason_of(handshake) if brokers[i] or not _is_other(handshake) else None
    return pa.array(found, pa.string())


def reason_of(row: Row) -> str:
    """Returns why TLS failed, from the certificate and the hellos; else from the alert."""
    judged = "server" if row["tls_client_alert"] is not None else "client"
    alert = str(row["tls_client_alert"] or row["tls_server_alert"])
    if judged == "client" and row["tls_client_certificate"] == "missing":
        return "no_client_certificate"
    if alert == "protocol_version" and row["tls_versions_offered"]:
        return "no_common_version"
    if alert == "handshake_failure" and judged == "client" and row["tls_version"] is None and row["tls_suites_offered"]:
        return "no_common_suite"
    if alert not in _OF_CERTIFICATE:
        return alert
    before, after = (row[f"tls_{judged}_not_{name}_ns"] for name in ("before", "after"))
    if after is not None and after < row["first_ns"]:
        return "expired"
    if before is not None and before > row["first_ns"]:
        return "not_yet_valid"
    sni, names = row["tls_sni"], row["tls_server_names"]
    is_other = judged == "server" and sni and names and not any(covers(name, sni) for name in names)
    return "wrong_name" if is_other and alert != "unknown_ca" else alert


def covers(name: str, host: str) -> bool:
    """Whether a name of a certificate matches the host: `*` stands for the first label (RFC 6125, section 6.4.3)."""
    name, host = name.lower().rstrip("."), host.lower().rstrip(".")
    if name.startswith("*."):
        return host.partition(".")[2] == name[2:]
    return name == host


def _is_other(row: Row) -> bool:
    """Whether the handshake indicates a protocol other than Kafka."""
    return row["server_port"] in OTHER_PORTS or bool(row["tls_alpns_offered"])
