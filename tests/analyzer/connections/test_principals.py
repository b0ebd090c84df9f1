"""Who logged in, by tokens that brokers took, and by certificates."""

import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.lifecycle import _principals
from kafkascope_analyzer.scan.logins import Logins

JWT = b"eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."
"""Unsecured (RFC 7519, section 6), as OAuthBearerUnsecuredLoginCallbackHandler makes them: its subject is alice."""
ERROR = b'{"status":"invalid_token"}'


@pytest.mark.parametrize(
    ("answer", "user"),
    [
        ({"has_error": False, "n_bytes": 0}, "alice"),
        ({"has_error": True, "n_bytes": 0}, None),
        ({"has_error": False, "n_bytes": len(ERROR)}, None),
    ],
)
def test_the_subject_of_a_bearer_token_counts_once_the_broker_took_it(answer, user):
    logins = Logins()
    logins.handshake(1, "OAUTHBEARER")
    logins.token(1, b"n,,\x01auth=Bearer " + JWT + b"\x01\x01", 7)
    assert logins.answer(1, 7, **answer) == user


def test_certificates_name_those_who_use_no_sasl():
    rows = [
        {"is_decrypted": True, "n_responses": 3, "tls_client_subject": "CN=app"},
        {"is_decrypted": True, "n_responses": 0, "tls_client_subject": "CN=app"},  # nothing says that it was let in
        {"is_decrypted": False, "by_lengths": True, "first_response_bytes": 9, "tls_client_subject": "CN=app"},
        {"is_decrypted": False, "by_lengths": True, "tls_client_subject": "CN=app"},  # no answer
        {"is_decrypted": False, "first_response_bytes": 9, "tls_client_subject": "CN=app"},  # not known to be Kafka
        {"is_decrypted": True, "n_responses": 3, "tls_client_subject": "CN=app", "sasl_mechanism": "PLAIN"},
        {"is_decrypted": True, "n_responses": 3, "tls_client_subject": "CN=app", "tls_server_alert": "unknown_ca"},
        {"is_decrypted": True, "n_responses": 3, "tls_client_subject": "CN=app", "principal": "bob"},
        {"is_decrypted": True, "n_responses": 3},
    ]
    names = ("principal", "tls_client_subject", "tls_server_alert", "sasl_mechanism")
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
    columns |= {name: pa.array([row.get(name, 0) for row in rows]) for name in ("n_responses", "first_response_bytes")}
    columns["is_decrypted"] = pa.array([row["is_decrypted"] for row in rows])
    by_lengths = pa.array([row.get("by_lengths", False) for row in rows])
    found = ["CN=app", None, "CN=app", None, None, None, None, "bob", None]
    assert _principals(columns, len(rows), by_lengths).to_pylist() == found
