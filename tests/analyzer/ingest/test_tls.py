"""TLS captures with their key logs, against the brokers' own request log, tshark, and the same without TLS's help."""

import gzip
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.key_logs import key_log_places

TLS = Path(__file__).parents[3] / "fixtures" / "tls"
NAMES = ("kafka_tls12", "kafka_tls13")
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
needs_editcap = pytest.mark.skipif(not shutil.which("editcap"), reason="editcap is not installed")
_HEADER, _RECORD = 24, 16


def keys_of(name):
    return TLS / f"{name}.keys"


def unpacked(name, folder):
    raw = zstandard.ZstdDecompressor().stream_reader((TLS / f"{name}.pcap.zst").open("rb")).read()
    path = folder / f"{name}.pcap"
    path.write_bytes(raw)
    return path


def packets_of(raw):
    at, found = _HEADER, []
    while at < len(raw):
        end = at + _RECORD + int.from_bytes(raw[at + 8 : at + 12], "little")
        found.append(raw[at:end])
        at = end
    return found


def read(captures, out, **options):
    key_logs = key_log_places(options.pop("key_logs", ()))
    ingest(captures, out, IngestOptions(**{"jobs": 1, **options}, key_logs=key_logs))
    return out


def rows(place, table):
    return pq.read_table(place / table, partitioning=None).to_pylist()


def asked(place):
    """Client address, API, version and correlation id of each request."""
    found = [row for row in rows(place, "requests") if row["api_key"] is not None]
    return Counter(
        (f"{r['client_ip']}:{r['client_port']}", r["api_key"], r["api_version"], r["correlation_id"]) for r in found
    )


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def dataset(name, tmp_path_factory):
    out = tmp_path_factory.mktemp("tls") / "out.kscope"
    return read([TLS / f"{name}.pcap.zst"], out, key_logs=(keys_of(name),))


def test_requests_are_those_that_the_brokers_logged(name, dataset):
    with gzip.open(TLS / f"{name}.requests.jsonl.gz", "rt") as file:
        logged = Counter((r["remote"], r["key"], r["v"], r["corr"]) for r in map(json.loads, file))
    assert len(logged) > 60
    assert logged <= asked(dataset)


@needs_tshark
def test_requests_are_those_that_tshark_decrypts(name, dataset, tmp_path):
    ports = {row["server_port"] for row in rows(dataset, "connections")}
    command = ["tshark", "-r", unpacked(name, tmp_path), "-o", f"tls.keylog_file:{keys_of(name)}"]
    command += [word for port in ports for word in ("-d", f"tls.port=={port},kafka")]
    fields = ("ip.src", "tcp.srcport", "tcp.dstport", "kafka.api_key", "kafka.request.version", "kafka.correlation_id")
    command += ["-Y", "kafka", "-T", "fields", *(word for field in fields for word in ("-e", field))]
    found = Counter()
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        address, port, to, *lists = line.split("\t")
        if int(to) in ports:
            for key, version, correlation_id in zip(*(words.split(",") for words in lists), strict=False):
                found[f"{address}:{port}", int(key), int(version), int(correlation_id)] += 1
    assert asked(dataset) == found


def test_tables_say_that_it_was_decrypted(name, dataset):
    assert {row["decoded_by"] for row in rows(dataset, "requests")} == {"tls_keys"}
    connections = [row for row in rows(dataset, "connections") if row["n_requests"]]
    assert {(row["protocol"], row["tls_decrypted"]) for row in connections} == {("kafka", True)}
    assert {row["tls_version"] for row in connections} == {"TLSv1.2" if name == "kafka_tls12" else "TLSv1.3"}
    assert any(row["node_id"] is not None for row in connections)


def test_every_byte_is_counted(dataset):
    ledger = json.loads((dataset / "_dataset.json").read_text())["ledger"]
    undecoded = rows(dataset, "undecoded")
    assert ledger["stream_bytes"] == ledger["decoded_bytes"] + ledger["undecoded_bytes"]
    assert ledger["undecoded_bytes"] == sum(row["bytes"] for row in undecoded)
    overhead = sum(row["bytes"] for row in undecoded if row["reason"] == "tls_overhead")
    assert overhead == sum(row["tls_bytes"] or 0 for row in rows(dataset, "connections"))
    assert overhead > ledger["decoded_bytes"]  # small messages, and certificates


@pytest.mark.slow
def test_buckets_change_nothing(name, dataset, tmp_path, monkeypatch):
    """Sessions that are resumed on a connection of another bucket are known there, too."""
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    out = read([unpacked(name, tmp_path)], tmp_path / "out.kscope", jobs=3, key_logs=(keys_of(name),))
    assert json.loads((out / "_dataset.json").read_text())["options"]["buckets"] == 3
    for table in ("requests", "connections", "undecoded", "roles", "partitions"):
        assert sorted(map(repr, rows(out, table))) == sorted(map(repr, rows(dataset, table)))


@needs_editcap
@pytest.mark.parametrize("jobs", [1, 2])
def test_secrets_in_a_capture_are_used(name, dataset, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    out = tmp_path / "with_secrets.pcapng"
    subprocess.run(
        ["editcap", "--inject-secrets", f"tls,{keys_of(name)}", unpacked(name, tmp_path), out],
        check=True,
        capture_output=True,
    )
    assert asked(read([out], tmp_path / "out.kscope", jobs=jobs)) == asked(dataset)


@pytest.mark.slow
def test_captures_that_are_appended_give_the_same_requests(name, dataset, tmp_path):
    raw = unpacked(name, tmp_path).read_bytes()
    packets = packets_of(raw)
    out, half = tmp_path / "out.kscope", len(packets) // 2
    for number, part in enumerate((packets[:half], packets[half:])):
        capture = tmp_path / f"{number}.pcap"
        capture.write_bytes(raw[:_HEADER] + b"".join(part))
        words = ["ingest", capture, "-o", out, "--append", "-q", "--tls-keylog", keys_of(name)]
        assert CliRunner().invoke(app, list(map(str, words))).exit_code == 0
    assert Counter(map(str, Dataset.open(str(out)).read("requests").column("request_id").to_pylist())) == Counter(
        row["request_id"] for row in rows(dataset, "requests")
    )
    assert_no_secret(name, out)


def assert_no_secret(name, place):
    """No file of a dataset holds a secret of the key log, as it is or as hex."""
    lines = [line for line in keys_of(name).read_text().splitlines() if not line.startswith("#")]
    secrets = [line.split()[-1].rpartition(":")[2].lower() for line in lines]
    assert len(secrets) > 10
    for path in place.rglob("*"):
        if not path.is_file():
            continue
        texts = [path.read_bytes()]
        if path.suffix == ".parquet":
            texts.append(repr(pq.read_table(path, partitioning=None).to_pylist()).encode())
        for text in texts:
            for secret in secrets:
                assert secret.encode() not in text.lower()
                assert bytes.fromhex(secret) not in text


def test_no_secret_is_in_the_dataset(name, dataset):
    assert_no_secret(name, dataset)


def test_lost_packets_cost_what_was_in_them(name, dataset, tmp_path):
    raw = unpacked(name, tmp_path).read_bytes()
    kept = [packet for number, packet in enumerate(packets_of(raw)) if number % 40 != 39]
    capture = tmp_path / "lossy.pcap"
    capture.write_bytes(raw[:_HEADER] + b"".join(kept))
    out = read([capture], tmp_path / "out.kscope", key_logs=(keys_of(name),))
    found, whole = asked(out), asked(dataset)
    assert found <= whole
    assert found.total() > 0.7 * whole.total()


def test_a_capture_that_begins_later_is_decrypted_where_it_is_tls_13(dataset, name, tmp_path):
    raw = unpacked(name, tmp_path).read_bytes()
    packets = packets_of(raw)
    capture = tmp_path / "later.pcap"
    capture.write_bytes(raw[:_HEADER] + b"".join(packets[2 * len(packets) // 3 :]))
    out = read([capture], tmp_path / "out.kscope", key_logs=(keys_of(name),))
    late = [row for row in rows(out, "connections") if row["syn_ns"] is None]
    if name == "kafka_tls13":
        assert any(row["tls_decrypted"] and row["n_requests"] > 3 for row in late)
        assert asked(out) <= asked(dataset)
    else:
        assert not any(row["tls_decrypted"] for row in late)


def test_without_keys_nothing_is_decrypted(name, tmp_path):
    out = read([TLS / f"{name}.pcap.zst"], tmp_path / "out.kscope")
    assert {row["decoded_by"] for row in rows(out, "requests")} == {"tls_lengths"}
    assert {row["protocol"] for row in rows(out, "connections")} == {"tls"}
    assert {(row["reason"], row["detail"]) for row in rows(out, "undecoded")} == {("tls", None)}


def test_with_the_keys_of_others_it_says_why_not(name, tmp_path):
    out = read([TLS / f"{name}.pcap.zst"], tmp_path / "out.kscope", key_logs=(keys_of("openssl"),))
    assert {row["detail"] for row in rows(out, "undecoded")} == {"no secret of its session is in the key log"}


def test_alerts_say_why_a_side_gave_up(tmp_path):
    """Of OpenSSL: a client that does not know the CA, by TLS 1.3 (its alert is encrypted) and by 1.2 (in clear); a
    server without a suite for its client."""
    out = read([TLS / "openssl.pcap.zst"], tmp_path / "out.kscope", key_logs=(keys_of("openssl"),))
    found = [(row["tls_client_alert"], row["tls_server_alert"]) for row in rows(out, "connections")]
    assert Counter(found) == {
        (None, None): 5,
        ("unknown_ca", None): 2,
        (None, "handshake_failure"): 1,
    }


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_the_environment_names_a_key_log(name, dataset, tmp_path, monkeypatch):
    packed = tmp_path / "keys.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(keys_of(name).read_bytes() + b"half a li"))
    monkeypatch.setenv("SSLKEYLOGFILE", str(packed))
    result = run("ingest", TLS / f"{name}.pcap.zst", "-o", tmp_path / "out.kscope")
    assert result.exit_code == 0
    assert "in 1 key log; 1 line could not be read" in result.stderr
    assert "half a li" not in result.output
    assert asked(tmp_path / "out.kscope") == asked(dataset)


def test_a_directory_of_key_logs(name, dataset, tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    for each in (*NAMES, "openssl"):
        shutil.copy(keys_of(each), folder)
    result = run("ingest", TLS / f"{name}.pcap.zst", "-o", tmp_path / "out.kscope", "--tls-keylog", folder)
    assert "in 3 key logs" in result.stderr
    assert asked(tmp_path / "out.kscope") == asked(dataset)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tls-keylog", "missing.keys"), "the key log cannot be read"),
        (("--tls-keylog", "missing.keys", "--master", "spark://nowhere:7077"), "the key log cannot be read"),
        (("--tls-keylog", "-"), "a key log is read more than once"),
    ],
)
def test_key_logs_that_cannot_be_used(words, message, tmp_path):
    result = run("ingest", TLS / "openssl.pcap.zst", "-o", tmp_path / "out.kscope", *words)
    assert result.exit_code == 2
    assert message in result.stderr
