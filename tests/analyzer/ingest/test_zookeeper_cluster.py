"""Pieces of a cluster of Kafka 2.8 with ZooKeeper: what the controller sends, sessions, old clients. tshark and the
payloads that it prints are the oracle, and the lab's addresses: node 201 is 10.88.3.11, and so on.
"""

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pyarrow.dataset as ds
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.topology import topology_model
from kafkascope_analyzer.report.model.traffic import info_model
from kafkascope_analyzer.report.model.zookeeper_sessions import zookeeper_sessions
from kafkascope_analyzer.report.plain import plain

PIECES = Path(__file__).parents[3] / "fixtures" / "captures" / "pieces"
NODES = {"10.88.3.11": 201, "10.88.3.12": 202, "10.88.3.13": 203}
CONTROL_PLANE, ZOOKEEPER = 29104, 2181
CONCURRENT_TRANSACTIONS = 51

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


class Piece:
    """A piece as kafkascope and as tshark read it."""

    def __init__(self, name, directory, dataset):
        raw = (PIECES / f"{name}.pcap.zst").read_bytes()
        self.pcap = directory / f"{name}.pcap"
        self.pcap.write_bytes(zstandard.ZstdDecompressor().stream_reader(raw).read())
        self.dataset = dataset

    def rows(self, table, **only):
        rows = ds.dataset(self.dataset / table, format="parquet").to_table().to_pylist()
        return [row for row in rows if all(row[name] == value for name, value in only.items())]

    def tshark(self, only, *arguments):
        ports = [f for port in (29092, 29094, CONTROL_PLANE) for f in ("-d", f"tcp.port=={port},kafka")]
        command = ["tshark", "-r", self.pcap, *ports, "-Y", only, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def payloads(self, only):
        lines = self.tshark(only, "-T", "fields", "-e", "tcp.payload").split()
        return [bytes.fromhex(line) for line in lines]


@pytest.fixture(scope="module")
def piece(tmp_path_factory, ingested):
    return lambda name: Piece(name, tmp_path_factory.mktemp(name), ingested(PIECES / f"{name}.pcap.zst"))


@pytest.fixture(scope="module")
def brokers(piece):
    return piece("zk_brokers")


@pytest.fixture(scope="module")
def clients(piece):
    return piece("zk_clients")


@pytest.fixture(scope="module")
def transactions(piece):
    return piece("zk_transactions")


def test_leaders_and_epochs_are_those_that_the_controller_sends(brokers):
    text = brokers.tshark("kafka.api_key==4 || kafka.api_key==6", "-V")
    place = r"Topic Name: (\S+)\n\s+Partition ID: (\d+)\n\s+Controller Epoch: \d+\n\s+Leader ID: (-?\d+)\n\s+"
    sent = set(re.findall(place + r"Leader Epoch: (\d+)", text))
    named = {(t, int(p), int(leader), int(epoch)) for t, p, leader, epoch in sent if int(leader) >= 0}
    ours = {
        (r["topic"], r["partition"], r["node_id"], r["leader_epoch"]) for r in brokers.rows("topology", kind="leader")
    }
    assert len(named) > 100
    assert ours == named


def test_the_controller_and_its_epochs(brokers):
    text = brokers.tshark("kafka.api_key==4 || kafka.api_key==6 || kafka.api_key==5", "-V")
    sent = set(re.findall(r"Controller ID: (\d+)\n\s+Controller Epoch: (\d+)\n", text))
    ours = [(str(row["node_id"]), str(row["leader_epoch"])) for row in brokers.rows("topology", kind="controller")]
    assert len(ours) == 2
    assert set(ours) == sent


def test_every_connection_to_a_broker_has_its_node(brokers):
    rows = brokers.rows("connections", protocol="kafka")
    assert len(rows) == 9
    assert {(row["server_ip"], row["node_id"]) for row in rows} == set(NODES.items())
    assert not any("more than one broker" in row["node_id_why"] for row in rows)


@pytest.mark.slow
def test_a_frame_that_the_connection_ended_in_is_not_cut_by_the_captures_end(brokers):
    (row, *more) = brokers.rows("undecoded", reason="connection_end")
    assert len(more) == 2
    assert not brokers.rows("undecoded", reason="capture_end")
    conns = {c["conn_id"]: c for c in brokers.rows("connections")}
    for cut in (row, *more):
        conn = conns[cut["conn_id"]]
        ports = f"tcp.srcport=={conn['server_port']} && tcp.dstport=={conn['client_port']}"
        assert brokers.payloads(f"{ports} && frame.number=={cut['packet_no']}")
        ended = f"tcp.port=={conn['client_port']} && (tcp.flags.reset==1 || tcp.flags.fin==1)"
        assert brokers.tshark(ended, "-T", "fields", "-e", "frame.number").split()


def test_sessions_of_zookeeper_are_what_its_answers_say(brokers):
    granted = set()
    for raw in brokers.payloads(f"tcp.srcport=={ZOOKEEPER} && tcp.seq==1 && tcp.len==41"):
        size, version, timeout_ms, session, password = struct.unpack(">iiiqi", raw[:24])
        assert (size, version, password) == (37, 0, 16)
        granted.add((f"0x{session:x}", timeout_ms))
    ours = brokers.rows("connections", protocol="zookeeper")
    assert len(granted) == 3
    assert {(r["zookeeper_session"], r["zookeeper_timeout_ms"]) for r in ours if r["zookeeper_session"]} == granted
    assert {row["server_port"] for row in ours} == {ZOOKEEPER}
    assert not brokers.rows("connections", protocol="other")


def test_a_session_that_was_there_before_is_recognized_by_its_pings(clients):
    pings = [
        raw for raw in clients.payloads(f"tcp.dstport=={ZOOKEEPER}") if raw == bytes.fromhex("00000008fffffffe0000000b")
    ]
    assert pings
    rows = clients.rows("connections", protocol="zookeeper")
    assert {(row["client_ip"], row["server_port"]) for row in rows} == {(ip, ZOOKEEPER) for ip in NODES}
    assert {row["reason"] for row in clients.rows("undecoded") if row["conn_id"] in {r["conn_id"] for r in rows}} == {
        "zookeeper"
    }


def test_zeros_behind_a_request_are_passed_over_with_a_note(clients):
    (raw, *_) = clients.payloads("tcp.srcport==36332 && tcp.len > 0")
    name_length = struct.unpack(">h", raw[12:14])[0]
    assert raw[4:8] == bytes([0, 18, 0, 0])
    assert raw[14 + name_length :] == bytes(4)
    (request,) = clients.rows("requests", api_name="ApiVersions")
    assert (request["status"], request["error_name"]) == ("ok", "NONE")
    (note,) = clients.rows("undecoded", reason="trailing_zeros")
    assert (note["bytes"], note["stream_offset"]) == (4, 14 + name_length)
    assert note["detail"] == "ApiVersionsRequest v0: 4 zero bytes after its end"
    totals = info_model(Dataset.open(clients.dataset)).ledger.totals
    assert totals["stream_bytes"] == totals["decoded_bytes"] + totals["undecoded_bytes"]


def test_offsets_in_zookeeper_are_no_sign_of_a_coordinator(clients):
    offsets = [r for r in clients.rows("requests") if r["api_name"] in ("OffsetCommit", "OffsetFetch")]
    assert {row["api_version"] for row in offsets} == {0}
    assert "Error: Unknown Topic or Partition (3)" in clients.tshark("kafka.api_key==9 && kafka.error", "-V")
    assert {row["error_name"] for row in offsets} == {"NONE"}
    assert not clients.rows("errors")
    assert not clients.rows("roles", role="group_coordinator")


def test_the_error_of_a_request_is_one_that_only_its_partitions_have(transactions):
    fields = ("-T", "fields", "-e", "frame.number", "-e", "kafka.error")
    lines = transactions.tshark("kafka.api_key==24 && tcp.srcport==29092", *fields).splitlines()
    answers = {int(number): set(map(int, codes.split(","))) for number, codes in (line.split() for line in lines)}
    rows = transactions.rows("requests", api_name="AddPartitionsToTxn")
    ours = {row["response_packet_no"]: row["error_code"] for row in rows if row["response_packet_no"]}
    assert ours == {number: max(codes) for number, codes in answers.items()}
    assert CONCURRENT_TRANSACTIONS in ours.values()


def test_nothing_undecoded_is_no_failure_of_the_ledger(transactions):
    assert not transactions.rows("undecoded")
    assert info_model(Dataset.open(transactions.dataset)).ledger.reasons == ()


CLOSE_SESSION = struct.pack(">i", -11)
SESSION_TIMEOUT_NS, TICK_NS = 6_000_000_000, 2_000_000_000


@pytest.fixture(scope="module")
def killed(piece):
    return piece("zk_lost_session")


def test_brokers_that_stop_in_order_close_their_sessions(brokers):
    fields = ("-T", "fields", "-e", "ip.src", "-e", "tcp.payload")
    short = [line.split() for line in brokers.tshark(f"tcp.dstport=={ZOOKEEPER} && tcp.len==12", *fields).splitlines()]
    closing = {ip for ip, raw in short if bytes.fromhex(raw)[8:] == CLOSE_SESSION}
    assert closing == set(NODES)
    sessions = zookeeper_sessions(Dataset.open(brokers.dataset))
    assert [(s.client_ip in closing, s.is_closed, s.expired_ns) for s in sessions[:3]] == [(True, True, None)] * 3
    assert all(s.ended_ns is None and s.node_id == NODES[s.client_ip] for s in sessions[3:])


def test_the_session_of_a_killed_broker_is_lost_and_the_controller_acts_when_it_expires(killed):
    """Node 202 was killed: ZooKeeper waits for the session's timeout, and up to a tick. Then there is a new
    controller.
    """
    (lost,) = (s for s in zookeeper_sessions(Dataset.open(killed.dataset)) if s.expired_ns)
    assert (lost.client_ip, lost.is_closed, lost.timeout_ms) == ("10.88.3.12", False, 6_000)
    pings = f"ip.src==10.88.3.12 && tcp.dstport=={ZOOKEEPER} && tcp.len>0 && frame.time_epoch<{lost.ended_ns / 1e9}"
    heard = killed.tshark(pings, "-T", "fields", "-e", "frame.time_epoch").split()[-1]
    assert abs(lost.heard_ns - float(heard) * 1e9) < 1_000_000
    assert abs(lost.expired_ns - lost.heard_ns - SESSION_TIMEOUT_NS) < 1_000_000
    model = plain(topology_model(Dataset.open(killed.dataset)))
    (moved,) = (change for change in model["changes"] if change["kind"] == "controller")
    assert (moved["from"], moved["to"], moved["epochs"]) == (202, 203, [2])
    assert lost.expired_ns - TICK_NS < moved["ts_ns"] < lost.expired_ns + 2 * TICK_NS


def test_the_controller_of_a_zookeeper_cluster_by_what_it_sends(brokers):
    model = plain(topology_model(Dataset.open(brokers.dataset)))
    assert (model["controller"]["node_id"], model["controller"]["epoch"]) == (202, 3)
    assert model["mode"] == "ZooKeeper"
