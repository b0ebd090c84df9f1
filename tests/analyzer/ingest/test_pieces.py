"""What a connection shows once, names, and reads from followers, in pieces of captures, against the lab and tshark."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")

PIECES = Path(__file__).parents[3] / "fixtures" / "captures" / "pieces"


@pytest.fixture(scope="module")
def tables(ingested):
    return lambda name, table: pq.read_table(ingested(PIECES / f"{name}.pcap.zst") / table).to_pylist()


def truth_of(name):
    return json.loads((PIECES / f"{name}.truth.json").read_text())


def ends(row):
    return f"{row['client_ip']}:{row['client_port']}", f"{row['server_ip']}:{row['server_port']}"


def test_every_question_that_the_name_server_logged_is_a_row(tables):
    logged = truth_of("dns_names")["queries"]
    wanted = Counter((q["client"], q["name"], q["type"], q["rcode"], q["answers"]) for q in logged)
    rows = tables("dns_names", "dns")
    found = Counter((ends(r)[0], r["name"], r["type"], r["rcode"], len(r["addresses"] + r["aliases"])) for r in rows)
    assert len(logged) > 100
    assert found == wanted
    assert all(r["latency_us"] > 0 and r["transport"] == "udp" for r in rows)


def test_names_tell_which_broker_a_connection_goes_to(tables):
    nodes = {(s["local"], s["remote"]): s["node"] for s in truth_of("dns_names")["sockets"]}
    rows = [r for r in tables("dns_names", "connections") if r["protocol"] == "kafka"]
    by_name = [r for r in rows if "resolved by DNS" in (r["node_id_why"] or "")]
    assert len(by_name) > 10
    assert {r["advertised_host"] for r in by_name} == {"kafka-1.lab", "kafka-2.lab", "kafka-3.lab"}
    assert all(r["node_id"] == nodes[ends(r)] for r in by_name)


def test_the_user_and_mechanism_of_each_login_and_no_password(tables, ingested):
    truth = truth_of("sasl_users")
    client = {(s["local"], s["remote"]): s["client"] for s in truth["sockets"]}
    rows = [r for r in tables("sasl_users", "connections") if r["sasl_mechanism"] and client.get(ends(r))]
    refused = {r["conn_id"] for r in tables("sasl_users", "errors") if r["api_name"] == "SaslAuthenticate"}
    seen = Counter()
    for row in rows:
        result = truth["clients"][client[ends(row)]]
        assert row["sasl_mechanism"] == result["mechanism"]
        assert row["principal"] == (None if row["conn_id"] in refused else result["user"])
        seen[row["principal"], row["sasl_mechanism"].partition("-")[0]] += 1
    assert {("alice", "PLAIN"), ("bob", "SCRAM"), ("carol", "SCRAM")} <= set(seen)
    assert {r["session_lifetime_ms"] for r in rows} >= {6000}  # connections.max.reauth.ms of the listener
    for file in ingested(PIECES / "sasl_users.pcap.zst").rglob("*.parquet"):
        text = str(pq.read_table(file).to_pylist())
        assert "-secret" not in text


def test_versions_that_brokers_offer_are_those_of_their_release(tables):
    offers = {
        tuple(r["api_versions_offered"]) for r in tables("sasl_users", "connections") if r["api_versions_offered"]
    }
    assert len(offers) == 1  # three brokers of one release
    (offer,) = offers
    assert {"Produce:0-13", "Fetch:4-18", "Metadata:0-13"} - set(offer) == set()  # ApiMessageType of Kafka 4.3


@needs_tshark
def test_tls_hellos_are_those_that_tshark_reads(tables, tmp_path):
    plain = tmp_path / "hellos.pcap"
    plain.write_bytes(zstandard.ZstdDecompressor().stream_reader((PIECES / "tls_hellos.pcap.zst").open("rb")).read())
    fields = ["ip.dst", "tcp.dstport", "tls.handshake.extensions.supported_version"]
    command = ["tshark", "-r", str(plain), "-d", "tcp.port==9096,tls", "-Y", "tls.handshake.type==2", "-T", "fields"]
    out = subprocess.run(
        [*command, *(a for f in fields for a in ("-e", f))], capture_output=True, text=True, check=True
    )
    wanted = {(ip, int(port)): version for ip, port, version in map(str.split, out.stdout.splitlines())}
    rows = {(r["client_ip"], r["client_port"]): r for r in tables("tls_hellos", "connections") if r["tls_version"]}
    assert set(rows) == set(wanted)
    assert len(rows) > 2
    assert {r["tls_version"] for r in rows.values()} == {"TLSv1.3"}
    assert set(wanted.values()) == {"0x0304"}
    assert all(r["protocol"] == "tls" and r["tls_decrypted"] is False for r in rows.values())


def test_reads_from_a_follower_are_told_from_those_of_the_leader(tables):
    truth = truth_of("follower_fetch_start")
    chosen, client = truth["replica_selector"], {(s["local"], s["remote"]): s["client"] for s in truth["sockets"]}
    conns = {r["conn_id"]: r for r in tables("follower_fetch_start", "connections")}
    leads = {f"{chosen['topic']}-{p['partition']}": p for p in chosen["times"][0]["partitions"]}
    found = Counter()
    for row in tables("follower_fetch_start", "roles"):
        conn = conns[row["conn_id"]]
        if row["role"] not in ("partition_leader", "follower_fetch") or row["subject"] not in leads:
            continue
        name, place = client[ends(conn)], leads[row["subject"]]
        if row["role"] == "follower_fetch":
            assert row["verdict"] == "confirmed"
            assert row["n_requests"] > 0
            assert conn["node_id"] == place["by_rack"][chosen["client_racks"][name]] != place["leader"]
        else:
            assert row["verdict"] == "confirmed"
            assert conn["node_id"] == place["leader"]
        found[row["role"]] += 1
    assert found["follower_fetch"] == 4
    assert found["partition_leader"] >= 6
