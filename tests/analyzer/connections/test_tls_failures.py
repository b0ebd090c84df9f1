"""Why TLS was given up, by what RFC 8446 (section 6.2) and RFC 6125 (section 6.4.3) say of alerts and names."""

import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.tls_failures import covers, reason_of, tls_failures

DAY = 86_400_000_000_000
NOW = 1000 * DAY
NAMES = (
    "first_ns", "server_port", "tls_client_alert", "tls_server_alert", "tls_client_certificate", "tls_version",
    "tls_sni", "tls_alpns_offered", "tls_versions_offered", "tls_suites_offered", "tls_server_names",
    "tls_server_not_before_ns",
    "tls_server_not_after_ns", "tls_client_not_before_ns", "tls_client_not_after_ns",
)  # fmt: skip


def row(**known):
    return dict.fromkeys(NAMES) | {"first_ns": NOW, "server_port": 9093} | known


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"tls_client_alert": "certificate_unknown", "tls_server_not_after_ns": NOW - DAY}, "expired"),
        ({"tls_client_alert": "bad_certificate", "tls_server_not_before_ns": NOW + DAY}, "not_yet_valid"),
        ({"tls_client_alert": "unknown_ca", "tls_server_not_after_ns": NOW + DAY}, "unknown_ca"),
        ({"tls_client_alert": "certificate_unknown", "tls_sni": "b.x", "tls_server_names": ["a.x"]}, "wrong_name"),
        ({"tls_client_alert": "bad_certificate", "tls_sni": "b.x", "tls_server_names": ["*.x"]}, "bad_certificate"),
        ({"tls_client_alert": "unknown_ca", "tls_sni": "b.x", "tls_server_names": ["a.x"]}, "unknown_ca"),
        ({"tls_server_alert": "bad_certificate", "tls_client_certificate": "missing"}, "no_client_certificate"),
        ({"tls_server_alert": "certificate_unknown", "tls_client_not_after_ns": NOW - DAY}, "expired"),
        ({"tls_server_alert": "certificate_unknown", "tls_server_not_after_ns": NOW - DAY}, "certificate_unknown"),
        ({"tls_server_alert": "protocol_version", "tls_versions_offered": ["TLSv1"]}, "no_common_version"),
        ({"tls_server_alert": "protocol_version"}, "protocol_version"),
        ({"tls_server_alert": "handshake_failure", "tls_suites_offered": ["x"]}, "no_common_suite"),
        (
            {"tls_server_alert": "handshake_failure", "tls_suites_offered": ["x"], "tls_version": "TLSv1.2"},
            "handshake_failure",
        ),
    ],
)
def test_certificates_and_hellos_make_an_alert_plainer(known, reason):
    assert reason_of(row(**known)) == reason


def test_a_server_of_another_protocol_has_no_failure():
    """By its port, or as the client offers ALPN; but not where it is known to be a broker, as behind port 443."""
    alert = {"tls_client_alert": "unknown_ca"}
    rows = [
        row(**alert),
        row(**alert, server_port=443),
        row(**alert, tls_alpns_offered=["h2", "http/1.1"]),
        row(**alert, server_port=443),
        row(server_port=9093),
    ]
    columns = pa.Table.from_pylist(rows)
    typed = {name: columns[name].combine_chunks() for name in columns.column_names}
    typed["tls_server_alert"] = pa.nulls(len(rows), pa.string())
    brokers = pa.array([False, False, False, True, False])
    assert tls_failures(typed, brokers).to_pylist() == ["unknown_ca", None, None, "unknown_ca", None]


@pytest.mark.parametrize(
    ("name", "host", "is_for"),
    [
        ("kafka-1.example", "KAFKA-1.example.", True),
        ("*.example", "kafka-1.example", True),
        ("*.example", "a.kafka-1.example", False),
        ("*.example", "example", False),
    ],
)
def test_a_wildcard_stands_for_the_first_label(name, host, is_for):
    assert covers(name, host) is is_for
