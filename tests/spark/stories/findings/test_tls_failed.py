"""TLS that was given up, in handshakes of OpenSSL; tshark 4.0 reads the alerts of frames 8, 21, 32 (48, unknown CA),
43, 53 (70, protocol version) and 66 (40, handshake failure)."""

from collections.abc import Callable
from pathlib import Path

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
        "127.0.0.1 does not trust the certificate of 127.0.0.1:9093: what signed it is not in the truststore (TLS "
        "alert unknown_ca), 3 times, first at 00:00.000"
    )
    assert "other connections of the two worked" in found["127.0.0.1:9093"]["sentence"]
    assert "does not speak the versions of TLS that 127.0.0.1 offers" in found["127.0.0.1:9094"]["sentence"]
    assert "ssl.enabled.protocols" in found["127.0.0.1:9094"]["advice"]
    assert "wants a certificate of 127.0.0.1" in found["127.0.0.1:9095"]["sentence"]
