"""The user of a connection that logs in as Kafka 0.10 did: SaslHandshake v0, then tokens outside of requests."""

import struct

import pyarrow.parquet as pq
import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from kafkascope_analyzer.ingest.run import ingest

SECRET = b"s3cr3t-of-alice"


def sized(body):
    return struct.pack(">i", len(body)) + body


def text(value):
    return struct.pack(">h", len(value)) + value


def connection(*turns):
    """Packets of a connection to port 9092; turns: (1 for the server, bytes), one segment each."""
    ends = [{"src": "10.0.0.1", "dst": "10.0.0.9"}, {"src": "10.0.0.9", "dst": "10.0.0.1"}]
    ports = [{"sport": 40000, "dport": 9092}, {"sport": 9092, "dport": 40000}]
    at = [100, 500]
    yield Ether() / IP(**ends[0]) / TCP(**ports[0], flags="S", seq=99)
    yield Ether() / IP(**ends[1]) / TCP(**ports[1], flags="SA", seq=499, ack=100)
    for side, data in turns:
        yield Ether() / IP(**ends[side]) / TCP(**ports[side], flags="PA", seq=at[side], ack=at[1 - side]) / Raw(data)
        at[side] += len(data)


def log_in(mechanism, *tokens):
    handshake = sized(struct.pack(">hhi", 17, 0, 1) + text(b"old") + text(mechanism))
    answer = sized(struct.pack(">ihi", 1, 0, 1) + text(mechanism))
    return [(0, handshake), (1, answer), *tokens]


@pytest.mark.parametrize(
    ("mechanism", "token", "user"),
    [
        (b"PLAIN", b"\0alice\0" + SECRET, "alice"),
        (b"SCRAM-SHA-256", b"n,,n=al=2Cice,r=" + SECRET, "al,ice"),
        (b"GSSAPI", b"\0alice\0" + SECRET, None),
        (b"PLAIN", b"", None),
    ],
)
@pytest.mark.parametrize("cut", [0, 1, 9])
def test_the_first_token_names_the_user_and_nothing_else_is_kept(tmp_path, mechanism, token, user, cut):
    sent = sized(token)
    pieces = [(0, sent[:cut]), (0, sent[cut:])] if 0 < cut < len(sent) else [(0, sent)]
    metadata = sized(struct.pack(">hhi", 3, 0, 2) + text(b"old") + struct.pack(">i", 0))
    turns = log_in(mechanism, *pieces, (1, sized(b"")), (0, metadata))
    wrpcap(str(tmp_path / "old.pcap"), connection(*turns))
    ingest([tmp_path / "old.pcap"], tmp_path / "out.kscope")
    (row,) = pq.read_table(tmp_path / "out.kscope" / "connections").to_pylist()
    assert (row["sasl_mechanism"], row["principal"]) == (mechanism.decode(), user)
    for file in (tmp_path / "out.kscope").rglob("*.parquet"):
        kept = repr(pq.read_table(file).to_pylist())
        assert SECRET.decode() not in kept
        assert SECRET.hex()[:8] not in kept


def test_a_token_without_its_end_names_nobody(tmp_path):
    wrpcap(str(tmp_path / "cut.pcap"), connection(*log_in(b"PLAIN", (0, sized(b"\0alice\0" + SECRET)[:-4]))))
    ingest([tmp_path / "cut.pcap"], tmp_path / "out.kscope")
    (row,) = pq.read_table(tmp_path / "out.kscope" / "connections").to_pylist()
    assert row["principal"] is None
