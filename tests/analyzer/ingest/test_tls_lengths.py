"""Exchanges of TLS connections without keys: against the same captures with keys, and connections that are not Kafka's.

`others` has an HTTP server over TLS that answers in one record, in several, and with a body of three bytes, and psql
with PostgreSQL; none of their clients offers ALPN, and no port is one that is known for its protocol.
"""

import json
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from benchmarks.tls_lengths import compare, compare_jobs, judge

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.key_logs import key_log_places
from kafkascope_analyzer.report.page_model.request_columns import ENCRYPTED, NO_VERSION, load_requests, packed

TLS = Path(__file__).parents[3] / "fixtures" / "tls"
NAMES = ("kafka_tls12", "kafka_tls13")


@cache
def verdict_of(name):
    return judge(TLS / f"{name}.pcap.zst", (TLS / f"{name}.keys",))


def read(captures, out, **options):
    ingest(captures, out, IngestOptions(**{"jobs": 1, **options}))
    return out


def rows(place, table):
    return pq.read_table(place / table, partitioning=None).to_pylist()


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def without_keys(name, tmp_path_factory):
    return read([TLS / f"{name}.pcap.zst"], tmp_path_factory.mktemp("lengths") / "out.kscope")


@pytest.mark.parametrize("name", [*NAMES, "tls_frozen", pytest.param("tls_killed", marks=pytest.mark.slow)])
def test_exchanges_are_those_that_the_keys_show(name):
    verdict = verdict_of(name)
    assert verdict.n_keys > 60
    assert verdict.holds, verdict
    assert verdict.n_apis >= 30
    assert verdict.n_apis_right >= 0.95 * verdict.n_apis


def test_jobs_are_those_that_the_keys_show():
    verdict = verdict_of("tls_frozen")
    assert (verdict.n_jobs, verdict.n_jobs_right, verdict.n_jobs_wrong) == (5, 5, 0)


def test_sizes_are_those_that_the_keys_show_where_the_cipher_keeps_them():
    """TLS 1.3 does; the other capture has CBC, whose padding hides up to 15 bytes."""
    verdict = verdict_of("kafka_tls13")
    assert verdict.n_sizes >= 0.97 * verdict.n_right


def test_nothing_is_said_of_a_request_that_its_lengths_do_not_show(without_keys):
    found = rows(without_keys, "requests")
    assert {row["decoded_by"] for row in found} == {"tls_lengths"}
    shown = {"request_id", "conn_id", "cluster", "client_ip", "client_port", "server_ip", "server_port", "node_id"}
    shown |= {"ts", "ts_ns", "request_last_ns", "response_ns", "response_last_ns", "request_bytes", "response_bytes"}
    shown |= {"latency_us", "queued_us", "broker_us", "in_flight", "status", "capture_id", "decoded_by"}
    shown |= {"request_packet_no", "response_packet_no", "out_of_order", "claimed_api_key"}
    assert {column for row in found for column, value in row.items() if value is not None} <= shown
    assert {row["protocol"] for row in rows(without_keys, "connections")} == {"tls"}


def test_bytes_stay_undecoded(without_keys):
    ledger = json.loads((without_keys / "_dataset.json").read_text())["ledger"]
    assert ledger["decoded_bytes"] == 0
    assert ledger["undecoded_bytes"] == ledger["stream_bytes"] > 0


def test_buckets_change_nothing(name, without_keys, tmp_path, monkeypatch):
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    out = read([TLS / f"{name}.pcap.zst"], tmp_path / "out.kscope", jobs=3)
    key = ("conn_id", "ts_ns", "request_id")
    one, other = (sorted(rows(place, "requests"), key=lambda r: [r[k] for k in key]) for place in (without_keys, out))
    assert one == other


def test_jobs_are_claimed_where_lengths_and_times_speak_for_one(name, without_keys, tmp_path):
    with_keys = read(
        [TLS / f"{name}.pcap.zst"], tmp_path / "keys.kscope", key_logs=key_log_places([TLS / f"{name}.keys"])
    )
    apis = {}
    for row in rows(with_keys, "requests"):
        apis.setdefault(row["conn_id"], set()).add(row["api_name"])
    connections = rows(without_keys, "connections")
    claimed = {row["conn_id"]: row["claimed_job"] for row in connections if row["claimed_job"] is not None}
    assert len(claimed) >= 2
    api_of = {"fetch": "Fetch", "produce": "Produce", "coordinator": "Heartbeat"}
    assert all(api_of[job] in apis[conn_id] for conn_id, job in claimed.items())
    assert all((row["claimed_job"] is None) == (row["claimed_job_why"] is None) for row in connections)
    n_requests = len(rows(without_keys, "requests"))
    assert sum(row["claimed_requests"] for row in connections) == n_requests
    assert {row["claimed_requests"] for row in rows(with_keys, "connections") if row["tls_decrypted"]} == {None}


def test_other_protocols_stay_tls(tmp_path):
    out = read([TLS / "others.pcap.zst"], tmp_path / "out.kscope")
    connections = rows(out, "connections")
    assert sum(row["protocol"] == "tls" for row in connections) >= 4
    assert rows(out, "requests") == []
    assert {(row["claimed_requests"], row["claimed_job"]) for row in connections} == {(None, None)}


def test_what_is_counted_as_right():
    row = {
        "conn_id": "a",
        "api_key": 1,
        "claimed_api_key": None,
        "request_bytes": 50,
        "response_bytes": 60,
        "latency_us": 1000,
    }
    keys = [row | {"decoded_by": "tls_keys", "request_packet_no": n, "response_packet_no": n + 1} for n in range(100)]
    lengths = [key | {"decoded_by": "tls_lengths", "api_key": None} for key in keys]
    assert compare(keys, lengths).right == 1
    assert compare(keys, [*lengths, lengths[0] | {"request_packet_no": 500}]).right == pytest.approx(100 / 101)
    assert compare(keys, lengths[:-1]).right == 0.99
    assert not compare(keys, [each | {"latency_us": 1200} for each in lengths]).holds
    shifted = [each | {"response_packet_no": each["response_packet_no"] + 1} for each in lengths]
    assert compare(keys, shifted).n_right == 0


def test_a_handshake_is_known_where_all_of_its_connection_lies_in_one_block(without_keys):
    begun = [row for row in rows(without_keys, "connections") if row["syn_ns"] is not None and row["server_bytes"]]
    assert len(begun) > 3
    assert all(row["tls_version"] is not None for row in begun)


def test_what_is_counted_as_the_right_job():
    keys = [{"conn_id": "a", "api_key": 1, "api_name": "Fetch", "decoded_by": "tls_keys"} for _ in range(21)]
    assert compare_jobs(keys, {"a": "fetch"}) == {"right": 1}
    assert compare_jobs(keys, {"a": "produce"}) == {"wrong": 1}
    assert compare_jobs(keys, {}) == {"none": 1}
    assert compare_jobs(keys[:-1], {"a": "produce"}) == {}


def test_pages_call_such_requests_encrypted_and_of_no_version(without_keys):
    opened = Dataset.open(without_keys)
    conns = {row["conn_id"]: n for n, row in enumerate(rows(without_keys, "connections"))}
    start_ns, end_ns = opened.capture_span
    requests = load_requests(opened, conns, (start_ns, end_ns))
    assert requests.apis.listed[2:] == [ENCRYPTED]
    _, columns = packed(requests, start_ns, end_ns)
    assert set(columns["version"].tolist()) == {NO_VERSION}
