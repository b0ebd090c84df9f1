"""What TLS handshakes show without keys, against tshark, and against what the programs at both ends said."""

import json
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

TLS = Path(__file__).parents[3] / "fixtures" / "tls"
CAPTURES = ("handshakes", "kafka_tls12", "kafka_tls13", "openssl")
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
NS = 1_000_000_000
DAY_NS = 86_400 * NS


@pytest.fixture(scope="module")
def connections(ingested):
    """The connections of a capture, by the port of the client."""

    def read(name):
        rows = pq.read_table(ingested(TLS / f"{name}.pcap.zst") / "connections", partitioning=None).to_pylist()
        return {row["client_port"]: row for row in rows}

    return read


def tshark(name, folder, where, *fields):
    """The lines of tshark: lists of each field."""
    raw = folder / f"{name}.pcap"
    raw.write_bytes(zstandard.ZstdDecompressor().stream_reader((TLS / f"{name}.pcap.zst").open("rb")).read())
    ports = subprocess.run(
        ["tshark", "-r", raw, "-Y", "tcp.flags.syn==1 && tcp.flags.ack==0", "-T", "fields", "-e", "tcp.dstport"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    command = ["tshark", "-r", raw, *(word for port in set(ports) for word in ("-d", f"tcp.port=={port},tls"))]
    command += ["-Y", where, "-T", "fields", *(word for field in fields for word in ("-e", field))]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [[field.split(",") if field else [] for field in line.split("\t")] for line in out.splitlines()]


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("name", CAPTURES)
def test_hellos_are_those_that_tshark_reads(name, connections, tmp_path):
    from kafkascope_parsers.tls.suite_names import suite_name

    rows = connections(name)
    fields = ("tcp.srcport", "tls.handshake.ciphersuite", "tls.handshake.extensions_server_name")
    asked = tshark(name, tmp_path, "tls.handshake.type==1", *fields, "tls.handshake.extensions_alpn_str")
    seen = set()
    for (port,), suites, sni, alpns in asked:
        if int(port) in seen:
            continue
        seen.add(int(port))
        row = rows[int(port)]
        assert row["tls_suites_offered"] == [suite_name(int(suite, 16)) for suite in suites]
        assert row["tls_sni"] == (sni[0] if sni else None)
        assert row["tls_alpns_offered"] == (alpns or None)
    assert len(seen) > 7
    answered = tshark(
        name,
        tmp_path,
        "tls.handshake.type==2",
        "tcp.dstport",
        "tls.handshake.ciphersuite",
        "tls.handshake.extension.type",
    )
    last = {int(port): (suite[0], extensions) for (port,), suite, extensions in answered}
    for port, (suite, extensions) in last.items():
        assert rows[port]["tls_suite"] == suite_name(int(suite, 16))
        assert (rows[port]["tls_server_extensions"] or [])[: len(extensions)] == extensions
    assert {port for port, row in rows.items() if row["tls_suite"]} == set(last)


@needs_tshark
@pytest.mark.parametrize("name", ["handshakes", "kafka_tls12", "openssl"])
def test_certificates_are_those_that_tshark_reads(name, connections, tmp_path):
    rows = connections(name)
    fields = ("tcp.srcport", "tcp.dstport", "x509ce.dNSName", "x509af.utcTime", "x509sat.uTF8String")
    lines = tshark(name, tmp_path, "tls.handshake.type==11 && x509af.utcTime", *fields)
    for (source,), (destination,), names, times, texts in lines:
        side = "client" if int(source) in rows else "server"
        row = rows[int(source if side == "client" else destination)]
        assert (row[f"tls_{side}_names"] or [])[: len(names)] == names
        shown = [
            row[f"tls_{side}_{what}_ts"].strftime("%Y-%m-%d %H:%M:%S (UTC)") for what in ("not_before", "not_after")
        ]
        assert times[:2] == shown
        assert all(text in row[f"tls_{side}_subject"] + row[f"tls_{side}_issuer"] for text in texts)
    assert len(lines) > 1
    n_certificates = sum(
        row[f"tls_{side}_subject"] is not None for row in rows.values() for side in ("client", "server")
    )
    assert n_certificates == len(lines)


def expected_of(case):
    """Of a handshake: who gave up (None: nobody), and the alerts that may say why, by what the programs said."""
    said, port = case["outcome"], case["server_port"]
    is_java_13 = case["client"] == "java" and case["version"] == "TLSv1.3"
    if "PKIX path building" in said or "self-signed" in said:
        return "client", {"encrypted"} if is_java_13 else {"certificate_unknown", "unknown_ca"}
    if "path validation" in said or "has expired" in said:
        return "client", {"encrypted"} if is_java_13 else {"certificate_expired"}
    if "No subject alternative" in said or "hostname mismatch" in said:
        return "client", {"encrypted"} if is_java_13 else {"certificate_unknown", "bad_certificate"}
    if port in (9105, 9123, 9124) and not said.startswith("ok"):
        hidden = case["version"] == "TLSv1.3"
        return "server", {"encrypted"} if hidden else {"bad_certificate", "handshake_failure", "unknown_ca"}
    if "protocol" in said or "handshake" in said:
        return "server", {"protocol_version"} if port in (9106, 9107) else {"handshake_failure"}
    assert said.startswith("ok")
    return None, set()


def test_who_gave_up_is_whom_the_programs_name(connections):
    rows, found = connections("handshakes"), {}
    for case in json.loads((TLS / "handshakes.truth.json").read_text()):
        row = rows[case["client_port"]]
        side, alerts = expected_of(case)
        if side is None:
            assert row["tls_client_alert"] is None
            assert row["tls_server_alert"] is None
        else:
            assert row[f"tls_{side}_alert"] in alerts, case
            assert row[f"tls_{'server' if side == 'client' else 'client'}_alert"] is None
        found[side] = found.get(side, 0) + 1
        if case["server_port"] in (9105, 9123, 9124):
            sent = {None: "missing", "user": "sent", "stranger": "missing" if case["client"] == "java" else "sent"}
            hidden = case["version"] == "TLSv1.3" and sent[case["certificate"]] == "sent"
            assert row["tls_client_certificate"] == (None if hidden else sent[case["certificate"]])
    assert found == {None: 11, "client": 12, "server": 13}


def test_what_certificates_say(connections):
    rows = {row["server_port"]: row for row in connections("handshakes").values() if row["tls_server_subject"]}
    assert rows[9103]["tls_server_subject"] == "CN=broker-3,O=Example"
    assert rows[9103]["tls_server_names"] == ["broker-9.test"]
    assert rows[9103]["tls_server_issuer"] == "CN=Test Authority,O=Example"
    assert (rows[9121]["tls_server_key_type"], rows[9121]["tls_server_key_bits"]) == ("rsa", 1024)
    assert (rows[9103]["tls_server_key_type"], rows[9103]["tls_server_key_bits"]) == ("ec", 256)
    assert (rows[9122]["tls_version"], rows[9122]["tls_versions_offered"]) == ("TLSv1", ["TLSv1"])
    assert rows[9102]["tls_server_not_after_ns"] < rows[9102]["first_ns"]
    assert 9 < (rows[9109]["tls_server_not_after_ns"] - rows[9109]["first_ns"]) / DAY_NS < 11


@pytest.mark.parametrize("name", ["kafka_tls12", "kafka_tls13"])
def test_parts_of_a_handshake_are_within_it(name, connections):
    rows = [row for row in connections(name).values() if row["tls_handshake_us"] is not None]
    assert len(rows) == 15
    for row in rows:
        assert 0 < row["tls_server_us"] + row["tls_client_us"] <= row["tls_handshake_us"]
        assert row["tls_handshake_us"] * 1000 <= row["last_ns"] - row["first_ns"]
