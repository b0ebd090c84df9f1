"""Mutual TLS: who a client is, against the principals that the broker's own request log names."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.key_logs import key_log_places

TLS = Path(__file__).parents[3] / "fixtures" / "tls"
TRUTH = json.loads((TLS / "kafka_mtls.truth.json").read_text())
PRINCIPALS = {int(port): name for port, name in TRUTH["principals"].items()}
REFUSED = {case["port"]: case for case in TRUTH["refused"]}


def connections(place):
    rows = pq.read_table(place / "connections", partitioning=None).to_pylist()
    return {row["client_port"]: row for row in rows if row["server_port"] == 19094 and row["tls_version"]}


@pytest.fixture(scope="module")
def decrypted(tmp_path_factory):
    out = tmp_path_factory.mktemp("mtls") / "out.kscope"
    keys = key_log_places([TLS / "kafka_mtls.keys"])
    ingest([TLS / "kafka_mtls.pcap.zst"], out, IngestOptions(jobs=1, key_logs=keys))
    return connections(out)


def test_with_keys_each_principal_is_that_of_the_broker(decrypted):
    assert len(PRINCIPALS) == 10
    assert {port: row["principal"] for port, row in decrypted.items() if row["principal"]} == PRINCIPALS


def test_without_keys_those_of_tls_12_are_known(ingested):
    found = connections(ingested(TLS / "kafka_mtls.pcap.zst"))
    in_clear = {port: name for port, name in PRINCIPALS.items() if found[port]["tls_version"] == "TLSv1.2"}
    assert len(in_clear) == 5
    assert {port: row["principal"] for port, row in found.items() if row["principal"]} == in_clear


def test_who_is_refused_is_no_principal_and_the_handshake_says_why(decrypted):
    assert len(REFUSED) == 12
    for port, case in REFUSED.items():
        row = decrypted[port]
        assert row["tls_server_alert"] in case["refused"].lower().replace(" ", "_")  # what OpenSSL reports
        assert row["tls_client_certificate"] == ("sent" if case["cert"] else "missing")
        assert row["tls_client_subject"] == ("CN=stranger" if case["cert"] else None)
