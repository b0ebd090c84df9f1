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


def connection(*turns, port=40000):
    """Packets of a connection from that port to port 9092; turns: (1 for the server, bytes), one segment each."""
    ends = [{"src": "10.0.0.1", "dst": "10.0.0.9"}, {"src": "10.0.0.9", "dst": "10.0.0.1"}]
    ports = [{"sport": port, "dport": 9092}, {"sport": 9092, "dport": port}]
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


PROOF = b"c=biws,r=" + SECRET + b",p=" + SECRET
CHALLENGE, VERIFIED = b"r=" + SECRET + b",s=AAAA,i=4096", b"v=" + SECRET


@pytest.mark.parametrize(
    ("mechanism", "token", "answers", "user"),
    [
        (b"PLAIN", b"\0alice\0" + SECRET, [(1, b"")], "alice"),
        (b"PLAIN", b"\0alice\0" + SECRET, [], None),
        (b"PLAIN", b"\0alice\0" + SECRET, [(1, SECRET)], None),
        (b"PLAIN", b"alice\0" + SECRET + b"\0", [(1, b"")], None),
        (b"SCRAM-SHA-256", b"n,,n=al=2Cice,r=" + SECRET, [(1, CHALLENGE), (0, PROOF), (1, VERIFIED)], "al,ice"),
        (b"SCRAM-SHA-256", b"n,,n=al=2Cice,r=" + SECRET, [(1, CHALLENGE), (0, PROOF), (1, b"e=other-error")], None),
        (b"SCRAM-SHA-256", b"n,,n=al=2Cice,r=" + SECRET, [(1, CHALLENGE)], None),
        (b"GSSAPI", b"\0alice\0" + SECRET, [(1, b"")], None),
        (b"PLAIN", b"", [(1, b"")], None),
    ],
)
def test_the_token_of_a_login_that_succeeds_names_the_user_and_nothing_else_is_kept(
    tmp_path, mechanism, token, answers, user
):
    """On one connection the token is a segment, on the other it is cut into two."""
    sent = sized(token)
    metadata = sized(struct.pack(">hhi", 3, 0, 2) + text(b"old") + struct.pack(">i", 0))
    packets = []
    for port, pieces in enumerate(([sent], [piece for piece in (sent[:9], sent[9:]) if piece]), 40000):
        said = [*((0, piece) for piece in pieces), *((side, sized(raw)) for side, raw in answers), (0, metadata)]
        packets += connection(*log_in(mechanism, *said), port=port)
    wrpcap(str(tmp_path / "old.pcap"), packets)
    ingest([tmp_path / "old.pcap"], tmp_path / "out.kscope")
    rows = pq.read_table(tmp_path / "out.kscope" / "connections").to_pylist()
    assert [(row["sasl_mechanism"], row["principal"]) for row in rows] == [(mechanism.decode(), user)] * 2
    for file in (tmp_path / "out.kscope").rglob("*.parquet"):
        kept = repr(pq.read_table(file).to_pylist())
        assert SECRET.decode() not in kept
        assert SECRET.hex()[:8] not in kept


def login(*exchanges):
    """SaslHandshake v1, then SaslAuthenticate v0: (token, error code of its answer; None for no answer)."""
    handshake = sized(struct.pack(">hhi", 17, 1, 1) + text(b"new") + text(b"PLAIN"))
    turns = [(0, handshake), (1, sized(struct.pack(">ihi", 1, 0, 1) + text(b"PLAIN")))]
    for number, (token, code) in enumerate(exchanges, 2):
        turns.append((0, sized(struct.pack(">hhi", 36, 0, number) + text(b"new") + sized(token))))
        if code is not None:
            turns.append((1, sized(struct.pack(">ihh", number, code, -1) + sized(b""))))
    return turns


@pytest.mark.parametrize(
    ("exchanges", "user"),
    [
        ([(b"\0alice\0" + SECRET, 0)], "alice"),
        ([(b"\0alice\0" + SECRET, 58)], None),
        ([(b"\0alice\0" + SECRET, None)], None),
        ([(b"\0" + SECRET + b"\0", 0)], None),
        ([(b"alice\0" + SECRET + b"\0", 0)], None),
    ],
)
def test_only_a_well_formed_token_that_the_broker_takes_shows_its_user(tmp_path, exchanges, user):
    wrpcap(str(tmp_path / "new.pcap"), connection(*login(*exchanges)))
    ingest([tmp_path / "new.pcap"], tmp_path / "out.kscope")
    (row,) = pq.read_table(tmp_path / "out.kscope" / "connections").to_pylist()
    assert row["principal"] == user


def test_a_token_without_its_end_names_nobody(tmp_path):
    wrpcap(str(tmp_path / "cut.pcap"), connection(*log_in(b"PLAIN", (0, sized(b"\0alice\0" + SECRET)[:-4]))))
    ingest([tmp_path / "cut.pcap"], tmp_path / "out.kscope")
    (row,) = pq.read_table(tmp_path / "out.kscope" / "connections").to_pylist()
    assert row["principal"] is None
