"""Names that stand for brokers: a hosts file on the command line, DNS over TCP and without an answer."""

import io
import ipaddress
import json
import struct
from pathlib import Path

import dpkt
import pyarrow.parquet as pq
import zstandard
from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"


def test_a_hosts_file_names_the_brokers(tmp_path):
    truth = json.loads((CAPTURES / "named_brokers.truth.json").read_text())
    brokers = truth["cluster"]["brokers"]
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"{b['ip']} {b['host'].upper()}\n" for b in brokers))
    out = tmp_path / "named.kscope"
    command = ["ingest", str(CAPTURES / "named_brokers.pcap.zst"), "-q", "-o", str(out), "--hosts", str(hosts)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    nodes = {b["ip"]: b["node_id"] for b in brokers}
    rows = [r for r in pq.read_table(out / "connections").to_pylist() if "hosts file" in (r["node_id_why"] or "")]
    assert len(rows) > 10
    assert all(r["node_id"] == nodes[r["server_ip"]] for r in rows)


def block(kind, body):
    """A block of a little-endian pcapng file (draft-ietf-opsawg-pcapng, section 3.1)."""
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))


def as_pcapng(packets, names):
    """The packets of a microsecond or nanosecond pcap file behind a name resolution block (section 4.5)."""
    reader = dpkt.pcap.Reader(packets)
    records = [struct.pack("<HH", 1, len(r)) + r + b"\0" * (-len(r) % 4) for r in names]
    yield block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    yield block(1, struct.pack("<HHI", reader.datalink(), 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))
    yield block(4, b"".join(records) + struct.pack("<HH", 0, 0))
    for seconds, data in reader:
        ns = int(seconds * 10**9)
        yield block(6, struct.pack("<IIIII", 0, ns >> 32, ns & 0xFFFFFFFF, len(data), len(data)) + data)


def test_names_in_a_pcapng_file_name_the_brokers(tmp_path):
    brokers = json.loads((CAPTURES / "named_brokers.truth.json").read_text())["cluster"]["brokers"]
    names = [ipaddress.ip_address(b["ip"]).packed + b["host"].encode() + b"\0" for b in brokers]
    packets = zstandard.ZstdDecompressor().stream_reader((CAPTURES / "named_brokers.pcap.zst").read_bytes()).read()
    capture, out = tmp_path / "named.pcapng", tmp_path / "named.kscope"
    capture.write_bytes(b"".join(as_pcapng(io.BytesIO(packets), names)))
    ingest([capture], out)
    rows = [
        r for r in pq.read_table(out / "connections").to_pylist() if "in the capture file" in (r["node_id_why"] or "")
    ]
    nodes = {b["ip"]: b["node_id"] for b in brokers}
    assert len(rows) > 10
    assert all(r["node_id"] == nodes[r["server_ip"]] for r in rows)


def test_a_broken_hosts_file_ends_before_anything_is_written(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("kafka-1 10.0.0.1\n")
    out = tmp_path / "never.kscope"
    command = ["ingest", str(CAPTURES / "named_brokers.pcap.zst"), "-o", str(out), "--hosts", str(hosts)]
    assert CliRunner().invoke(app, command).exit_code == 2
    assert not out.exists()


def over_tcp(client_port, messages):
    """A connection to port 53 that carries messages with their lengths before them, in segments of 20 bytes."""
    here, there = IP(src="10.0.0.1", dst="10.0.0.53"), IP(src="10.0.0.53", dst="10.0.0.1")
    ports, back = {"sport": client_port, "dport": 53}, {"sport": 53, "dport": client_port}
    yield Ether() / here / TCP(**ports, flags="S", seq=99)
    yield Ether() / there / TCP(**back, flags="SA", seq=199, ack=100)
    at = {0: 100, 1: 200}
    for message in messages:
        side = message.qr
        raw = len(bytes(message)).to_bytes(2, "big") + bytes(message)
        for i in range(0, len(raw), 20):
            part = raw[i : i + 20]
            ip, tcp = (there, back) if side else (here, ports)
            yield Ether() / ip / TCP(**tcp, flags="PA", seq=at[side], ack=at[1 - side]) / Raw(part)
            at[side] += len(part)


def exchange(number, name, *records, rcode=0):
    question = DNSQR(qname=name)
    return DNS(id=number, qd=question), DNS(id=number, qr=1, rcode=rcode, qd=question, an=list(records))


def test_names_over_tcp_and_those_that_nobody_answered(tmp_path):
    one = exchange(7, "kafka-1.lab", DNSRR(rrname="kafka-1.lab", rdata="10.0.0.11"))
    two = exchange(8, "kafka-2.lab", rcode=3)
    lost = Ether() / IP(src="10.0.0.1", dst="10.0.0.53") / UDP(sport=999, dport=53) / DNS(id=9, qd=DNSQR(qname="lost"))
    again = lost.copy()
    noise = Ether() / IP(src="10.0.0.1", dst="10.0.0.53") / UDP(sport=999, dport=53) / b"no DNS at all"
    packets = [*over_tcp(40000, [*one, *two]), lost, noise, again]
    for i, packet in enumerate(packets):
        packet.time = 1_700_000_000 + i / 1000
    capture = tmp_path / "dns.pcap"
    wrpcap(str(capture), packets)
    ingest([capture], tmp_path / "dns.kscope", IngestOptions(jobs=1))
    rows = pq.read_table(tmp_path / "dns.kscope" / "dns").to_pylist()
    said = [(r["name"], r["transport"], r["rcode"], r["addresses"], r["latency_us"] is not None) for r in rows]
    assert sorted(said, key=str) == [
        ("kafka-1.lab", "tcp", "NOERROR", ["10.0.0.11"], True),
        ("kafka-2.lab", "tcp", "NXDOMAIN", [], True),
        ("lost", "udp", None, [], False),
    ]
    assert {(r["client_ip"], r["server_ip"], r["server_port"]) for r in rows} == {("10.0.0.1", "10.0.0.53", 53)}


def test_a_capture_of_names_alone_keeps_them(tmp_path):
    packet = Ether() / IP(src="10.0.0.1", dst="10.0.0.53") / UDP(sport=999, dport=53) / exchange(1, "kafka-1.lab")[0]
    capture = tmp_path / "only.pcap"
    wrpcap(str(capture), [packet])
    ingest([capture], tmp_path / "only.kscope", IngestOptions(jobs=1))
    assert [r["name"] for r in pq.read_table(tmp_path / "only.kscope" / "dns").to_pylist()] == ["kafka-1.lab"]
