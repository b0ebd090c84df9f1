"""TLS that was given up, in handshakes of OpenSSL; tshark 4.0 reads the alerts of frames 8, 21, 32 (48, unknown CA),
43, 53 (70, protocol version) and 66 (40, handshake failure)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark


def test_each_alert_is_told_with_who_sent_it_and_what_to_change(dataset_of: Callable[..., Path]) -> None:
    dataset = dataset_of("refused_handshakes", {"tls_failed"})
    rows = pq.read_table(dataset / "stories" / "findings").to_pylist()
    found = {row["subject"]: row for row in rows if row["rule"] == "tls_failed"}
    assert {subject: (row["n"], row["severity"]) for subject, row in found.items()} == {
        "127.0.0.1:9093": (3, "warning"),
        "127.0.0.1:9094": (2, "error"),
        "127.0.0.1:9095": (1, "error"),
    }
    assert found["127.0.0.1:9093"]["sentence"].startswith(
        "127.0.0.1 does not trust the certificate of 127.0.0.1:9093 (CN=kafka-1.lab): its issuer is not in the "
        "truststore (TLS alert unknown_ca), 3 times, first at 00:00.000"
    )
    assert "other connections of the two worked" in found["127.0.0.1:9093"]["sentence"]
    assert "does not speak the versions of TLS that 127.0.0.1 offers" in found["127.0.0.1:9094"]["sentence"]
    assert "ssl.enabled.protocols" in found["127.0.0.1:9094"]["advice"]
    assert "requires a certificate of 127.0.0.1" in found["127.0.0.1:9095"]["sentence"]


def findings(dataset: Path, rule: str) -> list[dict[str, Any]]:
    return [row for row in pq.read_table(dataset / "stories" / "findings").to_pylist() if row["rule"] == rule]


RULES = {"tls_failed", "tls_expiring", "tls_outdated"}
ENCRYPTED = "the reason is in an encrypted alert"


@pytest.mark.parametrize(
    ("port", "sentences", "advice"),
    [
        ("9101", {"does not trust the certificate of 127.0.0.1:9101 (CN=broker-1,O=Example)"}, "ssl.ca.location"),
        (
            "9102",
            {"(CN=broker-2,O=Example): it expired on 2026-10-28", "the reason is in an encrypted alert"},
            "ssl.keystore.location",
        ),
        (
            "9103",
            {"it is for broker-9.test, and not for broker-1.test", "the reason is in an encrypted alert"},
            "broker-1.test",
        ),
        ("9105", {"requires a certificate of 127.0.0.1, which sent none"}, "ssl.keystore.location"),
        ("9106", {"does not speak the versions of TLS that 127.0.0.1 offers: TLSv1.2"}, "ssl.enabled.protocols"),
        ("9107", {"does not speak the versions of TLS that 127.0.0.1 offers: TLSv1.3"}, "ssl.enabled.protocols"),
        ("9108", {"offers: TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}, "ssl.cipher.suites"),
        (
            "9123",
            {"requires a certificate of 127.0.0.1, which sent none", "does not trust the certificate of 127.0.0.1"},
            "",
        ),
        ("9124", {"requires a certificate of 127.0.0.1, which sent none"}, "ssl.keystore.location"),
        ("9125", {"it expired on 2026-10-28", "it has expired, or is not valid yet"}, "ssl.keystore.location"),
        ("9126", {"it is for broker-9.test, and not for broker-1.test", "it is for other names"}, ""),
    ],
)
def test_why_handshakes_failed_is_what_was_wrong_with_them(
    dataset_of: Callable[..., Path], port: str, sentences: set[str], advice: str
) -> None:
    """What was wrong at each port is in fixtures/tls/README.md, and what the programs said in the truth beside it."""
    rows = [row for row in findings(dataset_of("handshakes", RULES), "tls_failed") if row["subject"].endswith(port)]
    told = " ".join(row["sentence"] for row in rows)
    assert all(sentence in told for sentence in sentences), told
    assert advice in " ".join(row["advice"] for row in rows)


def test_nobody_else_failed(dataset_of: Callable[..., Path]) -> None:
    rows = findings(dataset_of("handshakes", RULES), "tls_failed")
    assert not {row["subject"][-4:] for row in rows} & {"9109", "9121", "9122"}
    assert {row["severity"] for row in rows if row["subject"].endswith(("9101", "9123"))} == {
        "warning"
    }  # others worked


def test_certificates_that_expire_and_what_is_outdated(dataset_of: Callable[..., Path]) -> None:
    dataset = dataset_of("handshakes", RULES)
    expiring = {row["subject"]: row for row in findings(dataset, "tls_expiring")}
    assert {name: row["severity"] for name, row in expiring.items()} == {
        "CN=broker-2,O=Example": "error",
        "CN=broker-5,O=Example": "warning",
    }
    assert "expires on 2026-12-07, 9 days after the capture" in expiring["CN=broker-5,O=Example"]["sentence"]
    outdated = {(row["subject"][-4:], row["severity"]) for row in findings(dataset, "tls_outdated")}
    assert outdated == {("9121", "warning"), ("9121", "info"), ("9122", "warning")}
    told = " ".join(row["sentence"] for row in findings(dataset, "tls_outdated"))
    for what in ("speaks TLSv1,", "TLS_RSA_WITH_AES_128_CBC_SHA, which has no forward secrecy", "rsa of 1024 bits"):
        assert what in told
