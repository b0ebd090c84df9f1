"""A redacted dataset and its reports hold none of the names, addresses and passwords that READMEs and truths beside the
captures, and the tables themselves, have."""

import json
import re
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.page_islands import texts
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.redact import redaction
from kafkascope_analyzer.redact.columns import RedactedColumns
from kafkascope_analyzer.redact.pseudonyms import Pseudonyms
from kafkascope_analyzer.scan.record_detail import RecordDetail

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = {
    "sasl_users": ("captures/pieces", {"alice", "bob", "carol", "-secret"}),
    "dns_names": ("captures/pieces", {"kafka-1.lab", "kafka-2.lab"}),
    "limits": ("findings", {"throttled-12", "slowread-27"}),
    "handshakes": ("tls", {"broker-1", "broker-9.test", "orders-app", "Test Authority"}),
    "zk_brokers": ("captures/pieces", set()),
    "kafka_mtls": ("tls", {"invoice-writer", "invoice-reader", "billing"}),
}
"""Captures with names that their READMEs and truths give. Those with a key log are decrypted."""
NAME_COLUMNS = {
    "connections": (
        "conn_id",
        "client_ip",
        "server_ip",
        "cluster",
        "community_id",
        "advertised_host",
        "principal",
        "tls_sni",
        "tls_client_subject",
        "tls_server_subject",
        "tls_server_names",
    ),
    "dns": ("name",),
    "requests": ("client_id", "group_id", "member_id", "transactional_id", "coordinator_key", "group_instance_id"),
    "partitions": ("topic", "topic_id"),
    "topology": ("host", "rack", "topic"),
    "errors": ("message",),
    "records": ("key", "value"),
}
KEPT = re.compile(r"-?\d{1,5}|__.*|127\.0\.0\.1(:\d+)?|0\.0\.0\.0|.{0,4}|plain|A{20,22}.?.?", re.DOTALL)
"""Names that a redaction keeps (numbers, internal topics, addresses of no host), what is too short to find, and a
client id that is a word of reports, too."""


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    assert result.exit_code in (0, 5), result.output
    return result.output


def strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from strings_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings_of(each)


def texts_of(file: Path) -> Iterator[str]:
    """What a reader of an output can read: bytes that are compressed hold a short name by chance."""
    if file.suffix == ".parquet":
        table = pq.read_table(file, partitioning=None)
        yield str(table.schema.metadata)
        yield from strings_of(table.to_pylist())
    else:
        content = texts(file) if file.name == "report--html" else file.read_bytes()
        yield content.decode("utf-8", "replace")


def names_in(dataset: Path) -> set[str]:
    """What the columns of names of a dataset hold."""
    opened, found = Dataset.open(dataset), set()
    for table, columns in NAME_COLUMNS.items():
        if opened.has(table):
            for row in opened.read(table, list(columns)).to_pylist():
                found.update(text for text in strings_of(list(row.values())) if text)
    return {name for name in found if not KEPT.fullmatch(name)}


FIRST, *OTHERS = CAPTURES


@pytest.fixture(scope="module", params=[FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def redacted(request, ingested, tmp_path_factory):
    """A dataset, what it was redacted to, the names that must not be there, and the folder of all outputs."""
    folder, told = CAPTURES[request.param]
    capture = next((FIXTURES / folder).glob(f"{request.param}.pcap*.zst"))
    place, keys = tmp_path_factory.mktemp("redact"), FIXTURES / folder / f"{request.param}.keys"
    source = place / "decrypted.kscope"
    if keys.exists():
        run("ingest", capture, "-o", source, "--records", "--payloads", "--tls-keylog", keys, "-q")
    else:
        source = ingested(capture, RecordDetail.PAYLOADS)
    outputs, key = place / "outputs", place / "key"
    outputs.mkdir()
    out = outputs / "shown.kscope"
    (outputs / "said.txt").write_text(run("redact", source, "-o", out, "--key", key, "-q"))
    shown = run("info", out) + run("report", out, "--all") + run("topology", out) + run("sql", out, "from connections")
    (outputs / "shown.txt").write_text(shown)
    forms = [f"--{form}" for form in ("html", "markdown", "json", "perfetto")]
    run("report", out, *(word for form in forms for word in (form, outputs / f"report{form}")))
    return source, out, names_in(source) | told, outputs, key


def test_no_output_holds_a_name(redacted):
    source, _, names, outputs, _ = redacted
    names = names | {source.name}
    checked = 0
    for file in outputs.rglob("*"):
        if file.is_dir():
            assert not any(name in str(file.relative_to(outputs)) for name in names)
            continue
        text = "\n".join([str(file.relative_to(outputs)), *texts_of(file)])
        found = [name for name in names if name in text and re.search(rf"{re.escape(name)}(?![A-Za-z0-9])", text)]
        assert not found, (file, found[:5])
        checked += 1
    assert checked > 8


@pytest.mark.slow
def test_rows_are_as_many_and_joins_hold(redacted):
    source, out, _, _, _ = redacted
    before, after = Dataset.open(source), Dataset.open(out)
    for table in before.manifest.files:
        assert before.rows(table) == after.rows(table), table
    for column in ("client_ip", "server_ip", "conn_id", "client_ids", "principal"):
        old, new = (d.read("connections", [column])[column].to_pylist() for d in (before, after))
        assert len(set(map(str, old))) == len(set(map(str, new)))
    numbers = ["client_port", "server_port", "first_ns", "n_requests", "protocol", "roles", "node_id"]
    sort = [("first_ns", "ascending"), ("client_port", "ascending")]
    rows = [d.read("connections", numbers).sort_by(sort).to_pylist() for d in (before, after)]
    assert rows[0] == rows[1]
    addresses = after.read("connections", ["client_ip", "server_ip"]).to_pylist()
    assert all(ip_address(value) for row in addresses for value in row.values())


def test_pseudonyms_are_resolved_with_the_key_file(redacted):
    source, out, _, _, key = redacted
    addresses = {tuple(r.values()) for r in Dataset.open(source).read("connections", ["client_ip"]).to_pylist()}
    shown = sorted({r["client_ip"] for r in Dataset.open(out).read("connections", ["client_ip"]).to_pylist()})
    shown = [address for address in shown if address != "127.0.0.1"]
    if shown:
        lines = run("resolve", key, *shown).splitlines()
        assert {(line.partition("\t")[2],) for line in lines} <= addresses
        assert len(lines) == len(shown)
    result = CliRunner().invoke(app, ["resolve", str(key), "n-unknown"])
    assert result.exit_code == 2


def test_no_bytes_are_left(redacted):
    out = Dataset.open(redacted[1])
    for table, files in out.manifest.files.items():
        if table == "events":
            continue
        for file in files:
            rows = pq.read_table(Path(str(out)) / file.path, partitioning=None)
            for field in rows.schema:
                if pa.types.is_binary(field.type):
                    assert rows[field.name].null_count == len(rows)


def test_a_new_column_leaks_nothing():
    """What no list names is replaced, at any depth."""
    part = pa.struct([("secret", pa.string()), ("raw", pa.binary()), ("n", pa.int64())])
    kind = pa.struct([("anything", pa.list_(part))])
    rows = pa.table({"new": pa.array([{"anything": [{"secret": "acme", "raw": b"acme", "n": 7}]}, None], kind)})
    made = RedactedColumns("new_table", Pseudonyms(bytes(32), ())).rows(rows)
    assert made.schema == rows.schema
    (one, other) = made["new"].to_pylist()
    assert other is None
    (each,) = one["anything"]
    assert each["secret"].startswith("n-")
    assert (each["raw"], each["n"]) == (None, 7)


def test_certificates_keep_the_day(ingested, tmp_path):
    source = ingested(FIXTURES / "tls" / "handshakes.pcap.zst")
    run("redact", source, "-o", tmp_path / "out", "--key", tmp_path / "key", "-q")
    columns = ["tls_server_not_after_ns", "tls_server_not_after_ts"]
    old, new = (Dataset.open(place).read("connections", columns).to_pylist() for place in (source, tmp_path / "out"))
    days = {row[columns[0]] // (86_400 * 10**9) for row in old if row[columns[0]]}
    assert {row[columns[0]] % (86_400 * 10**9) for row in new if row[columns[0]]} == {0}
    assert {row[columns[0]] // (86_400 * 10**9) for row in new if row[columns[0]]} == days
    assert all(row[columns[1]].second == row[columns[1]].hour == 0 for row in new if row[columns[1]])


def test_the_manifest_leads_back_to_no_file(ingested, tmp_path):
    source = ingested(FIXTURES / "tls" / "handshakes.pcap.zst")
    run("redact", source, "-o", tmp_path / "out", "--key", tmp_path / "key", "-q")
    manifest = json.loads((tmp_path / "out" / "_dataset.json").read_text())
    (entry,) = manifest["inputs"]
    assert entry["path"].startswith("n-")
    assert entry["sha256_first_and_last_mib"] == ""
    assert set(redaction.declared_tables()) >= {"connections", "requests", "events"}
