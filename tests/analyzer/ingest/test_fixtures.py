"""Ingest of captures of real clusters, against what the lab knows: the kernel's sockets, the brokers' request log."""

import gzip
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.scan.record_detail import RecordDetail

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
WHOLE = ("healthy_basic", "named_brokers", "leader_move", "txn")
PARTIAL = ("mid_stream-ng", "mid_stream-any", "mid_stream-snap96")
LOG_LATE_NS = 60_000_000
"""A line of a log comes after the wire by this much at worst; the old leader may know of the new one before it."""
EDGE_NS = 1_000_000_000
ADD_PARTITIONS_TO_TXN = 24
"""The first and last second of a capture are left out: the log and the capture do not begin and end at one moment."""


class Dataset:
    def __init__(self, path, truth):
        self.path, self.truth = path, truth
        self.manifest = json.loads((path / "_dataset.json").read_text())
        self.rows = cache(lambda table: pq.read_table(path / table).to_pylist())


def truth_of(name):
    return json.loads((CAPTURES / f"{name}.truth.json").read_text())


def endpoint(text):
    ip, _, port = text.rpartition(":")
    return ip.strip("[]").removeprefix("::ffff:"), int(port)


def sockets(truth):
    """Sockets that have packets in the capture, as (client, server) endpoints."""
    everyone = (
        [s for c in truth["clients"] for s in c["sockets"]]
        + truth["broker_connections"]
        + truth.get("other_connections", [])
    )
    return {(*endpoint(s["local"]), *endpoint(s["remote"])): s for s in everyone if s.get("packets", 1)}


def connection_key(row):
    return row["client_ip"], row["client_port"], row["server_ip"], row["server_port"]


@pytest.fixture(scope="module")
def datasets(ingested):
    @cache
    def get(name):
        return Dataset(ingested(next(CAPTURES.glob(f"{name}.pcap*")), RecordDetail.BATCHES), truth_of(name))

    return get


@pytest.mark.parametrize("name", WHOLE)
def test_every_socket_is_a_connection_the_right_way_round(datasets, name):
    data = datasets(name)
    assert set(sockets(data.truth)) <= {connection_key(row) for row in data.rows("connections")}


@pytest.mark.parametrize("name", WHOLE + PARTIAL)
def test_every_kafka_connection_is_a_socket(datasets, name):
    data = datasets(name)
    kafka = {connection_key(row) for row in data.rows("connections") if row["protocol"] == "kafka"}
    assert kafka
    assert kafka <= set(sockets(data.truth))


@pytest.mark.parametrize("name", WHOLE)
def test_every_request_that_a_broker_logged_is_there(datasets, name):
    data = datasets(name)
    ours = {(*connection_key(r), r["correlation_id"], r["api_key"]): r for r in data.rows("requests")}
    seen = set(sockets(data.truth))
    start, end = data.truth["lab"]["capture_start_ns"], data.truth["lab"]["capture_end_ns"]
    n = 0
    for line in gzip.decompress((CAPTURES / f"{name}.requests.jsonl.gz").read_bytes()).splitlines():
        logged = json.loads(line)
        conn = (*endpoint(logged["remote"]), *endpoint(logged["local"]))
        inside = start + EDGE_NS < logged["ts_ms"] * 1_000_000 < end - EDGE_NS
        if logged.get("forwarded") or conn not in seen or not inside:
            continue
        row = ours[(*conn, logged["corr"], logged["key"])]
        assert row["api_version"] == logged["v"]
        assert row["client_id"] == logged["client_id"]
        errors = {code for code in logged["errors"] if code}
        if logged["key"] == ADD_PARTITIONS_TO_TXN:  # of its answers the log keeps no errors of partitions
            continue
        assert row["error_code"] in errors if errors else not row["error_code"]
        n += 1
    assert n > 1000


@pytest.mark.parametrize("name", WHOLE + PARTIAL)
def test_the_ledger_adds_up(datasets, name):
    data = datasets(name)
    ledger = data.manifest["ledger"]
    assert ledger["stream_bytes"] == ledger["decoded_bytes"] + ledger["undecoded_bytes"]
    assert ledger["undecoded_bytes"] == sum(row["bytes"] for row in data.rows("undecoded"))
    connections = data.rows("connections")
    assert ledger["stream_bytes"] == sum(row["client_bytes"] + row["server_bytes"] for row in connections)
    assert ledger["missing_bytes"] == sum(row["missing_bytes"] for row in connections)


@pytest.mark.parametrize("name", WHOLE)
def test_node_ids_are_the_brokers(datasets, name):
    data = datasets(name)
    truth = sockets(data.truth)
    said = Counter()
    for row in data.rows("connections"):
        socket = truth.get(connection_key(row))
        if socket and socket.get("remote_node") is not None and row["protocol"] == "kafka":
            said[row["node_id"] if row["node_id"] is None else row["node_id"] == socket["remote_node"]] += 1
    assert said[False] == 0
    assert said[True] >= 0.8 * said.total()


@pytest.mark.parametrize("name", WHOLE)
def test_confirmed_group_coordinators_are_the_brokers_that_coordinate(datasets, name):
    data = datasets(name)
    truth = sockets(data.truth)
    connections = {row["conn_id"]: connection_key(row) for row in data.rows("connections")}
    n = 0
    for role in data.rows("roles"):
        group = data.truth.get("groups", {}).get(role["subject"])
        if role["role"] != "group_coordinator" or role["verdict"] != "confirmed" or not group:
            continue
        nodes = {node for _, node in group.get("coordinators", [])} | {group.get("coordinator")}
        assert truth[connections[role["conn_id"]]]["remote_node"] in nodes
        n += 1
    assert n


def test_confirmed_transaction_coordinators_are_the_brokers_that_coordinate(datasets):
    data = datasets("txn")
    truth = sockets(data.truth)
    connections = {row["conn_id"]: connection_key(row) for row in data.rows("connections")}
    found = set()
    for role in data.rows("roles"):
        if role["role"] == "transaction_coordinator" and role["verdict"] == "confirmed":
            result = data.truth["transactional_ids"][role["subject"]]
            assert truth[connections[role["conn_id"]]]["remote_node"] in {node for _, node in result["coordinators"]}
            found.add(role["subject"])
    assert found == set(data.truth["transactional_ids"])


def elections(truth):
    """Who became leader of what in which epoch, as the brokers logged it: (topic-partition, epoch) -> (time, node)."""
    line = re.compile(r"\[Broker id=\d+\] Leader (\S+) with topic id .* starts at leader epoch (\d+) ")
    matches = [(line.match(entry["line"]), entry) for entry in truth["broker_log"]]
    return {(m[1], int(m[2])): (entry["ts_ns"], entry["node_id"]) for m, entry in matches if m}


def test_leaders_and_epochs_are_those_of_the_brokers_logs(datasets):
    data = datasets("leader_move")
    elected = elections(data.truth)
    result = [r for r in data.rows("topology") if r["kind"] == "leader" and r["leader_epoch"] is not None]
    known = [(elected.get((f"{r['topic']}-{r['partition']}", r["leader_epoch"])), r) for r in result]
    checked = [(log, row) for log, row in known if log is not None]
    assert {row["leader_epoch"] for _, row in checked} == {0, 1, 2, 3}
    assert all(row["node_id"] == node for (_, node), row in checked)
    assert all(row["ts_ns"] > at - LOG_LATE_NS for (at, _), row in checked)


def test_a_role_that_moves_ends_at_the_old_broker_and_begins_at_the_new_one(datasets):
    data = datasets("leader_move")
    elected = elections(data.truth)
    nodes = {row["conn_id"]: row["node_id"] for row in data.rows("connections")}
    topic = next(name.rpartition("-")[0] for (name, epoch) in elected if epoch == 1)
    for partition in range(6):
        place = f"{topic}-{partition}"
        terms = sorted((epoch, at, node) for (name, epoch), (at, node) in elected.items() if name == place)
        rows = [r for r in data.rows("roles") if r["subject"] == place and r["verdict"] == "confirmed"]
        assert {nodes[r["conn_id"]] for r in rows} == {node for _, _, node in terms}
        for row in rows:
            mine = [i for i, (_, _, node) in enumerate(terms) if node == nodes[row["conn_id"]]]
            began = [terms[i][1] for i in mine]
            ended = [terms[i + 1][1] if i + 1 < len(terms) else data.truth["lab"]["capture_end_ns"] for i in mine]
            slack = 600_000_000  # a long poll that began before the move and was answered by it
            assert any(
                a - LOG_LATE_NS < row["first_ns"] and row["last_ns"] < b + slack
                for a, b in zip(began, ended, strict=True)
            )


@pytest.mark.parametrize("name", WHOLE)
def test_evidence_of_a_role_is_requests_of_its_connection(datasets, name):
    data = datasets(name)
    requests = {row["request_id"]: row for row in data.rows("requests")}
    roles = data.rows("roles")
    assert any(role["evidence"] for role in roles)
    for role in roles:
        assert role["first_ns"] <= role["last_ns"]
        assert role["evidence"] or role["verdict"] == "claimed"
        assert all(requests[one]["conn_id"] == role["conn_id"] for one in role["evidence"])
        if role["role"] == "bootstrap":
            (one,) = role["evidence"]
            assert requests[one]["api_name"] in ("Metadata", "FindCoordinator", "DescribeCluster")
            assert requests[one]["ts_ns"] == role["first_ns"]


@pytest.mark.parametrize("name", WHOLE)
def test_requests_are_paired_but_for_the_edges(datasets, name):
    data = datasets(name)
    requests = data.rows("requests")
    statuses = Counter(row["status"] for row in requests)
    assert statuses["ok"] + statuses["no_response_expected"] >= 0.93 * statuses.total()
    cut = {(row["conn_id"], row["reason"]) for row in data.rows("undecoded")}
    closed = {row["conn_id"] for row in data.rows("connections") if row["close_kind"] != "open"}
    for row in requests:
        if row["status"] == "undecoded":
            end = "connection_end" if row["conn_id"] in closed else "capture_end"
            assert (row["conn_id"], end) in cut


def test_record_batches_hold_what_the_producer_sent(datasets):
    """One producer: what it says it sent, and had acknowledged, is what the batches of its requests count."""
    data = datasets("healthy_basic")
    (producer,) = [c for c in data.truth["clients"] if c["kind"] == "producer"]
    rows = [r for r in data.rows("record_batches") if r["topic"] in producer["topics"] and r["direction"] == "request"]
    assert sum(row["n_records"] for row in rows) == producer["closed"]["acked"]
    assert all(row["crc_ok"] and row["magic"] == 2 and row["codec"] == "none" for row in rows)


def test_record_batches_are_left_out_unless_asked_for(ingested):
    assert Dataset(ingested(CAPTURES / "healthy_basic.pcap.zst"), None).rows("record_batches") == []
