"""Class 14. Look-alikes that are not Kafka (TLS, HTTP, SMPP, thrift, ClickHouse, random length-prefixed data) and Kafka
on odd ports.
"""

import random
import struct

import pytest


def zookeeper(r, i, n):
    if i == 0:
        return struct.pack(">iqiqi", 0, 0, 30000, 0, 16) + bytes(16) + b"\0"
    path = b"/brokers/ids/%d" % r.randrange(9)
    return struct.pack(">iii", i, r.choice((3, 4, 8)), len(path)) + path + b"\0"


def smpp(r, i, n):
    body = b"smppclient1\0password\0\0\x34\0\0\0" if i == 0 else r.randbytes(n)
    return struct.pack(">III", 2 if i == 0 else r.choice((4, 0x15)), 0, i + 1) + body


def thrift(r, i, n):
    name = r.choice((b"get", b"ping", b"multiget_slice"))
    if r.random() < 0.5:
        return struct.pack(">i", len(name)) + name + struct.pack(">bi", 1, i) + b"\0"
    return b"\x80\x01\0\x01" + struct.pack(">i", len(name)) + name + struct.pack(">i", i) + b"\0"


def pulsar(r, i, n):
    return struct.pack(">i", n) + b"\x08\x02" + r.randbytes(n)


def bittorrent(r, i, n):
    return bytes([r.choice((4, 6, 7))]) + struct.pack(">ii", r.randrange(99), r.randrange(9) << 14) + bytes(n)


def rocketmq(r, i, n):
    head = b'{"code":310,"flag":0,"language":"JAVA","opaque":%d,"version":401}' % i
    return struct.pack(">i", len(head)) + head + r.randbytes(n)


def noise(r, i, n):
    return r.randbytes(n)


def zeros(r, i, n):
    return bytes(r.choice((n, 16, 20, 24, 8, 10)))


def small_numbers(r, i, n):
    return b"".join(struct.pack(r.choice((">h", ">i")), r.randrange(40)) for _ in range(n))


@pytest.mark.parametrize("syn", [True, False], ids=["from the start", "mid-stream"])
@pytest.mark.parametrize(
    "make",
    [zookeeper, smpp, thrift, pulsar, bittorrent, rocketmq, noise, zeros, small_numbers],
    ids=lambda f: f.__name__,
)
def test_length_prefixed_protocols(w, read, make, syn):
    r = random.Random(make.__name__)
    talks = []
    for port in range(8):
        c = w.Conversation(client_port=41000 + port, syn=syn)
        for i in range(0 if syn else 3, 40):
            for send in (c.from_client, c.from_server):
                body = make(r, i, r.randrange(4, 60))
                send(struct.pack(">i", len(body) + (4 if make is smpp else 0)) + body)
        talks.append(c)
    found = read(*talks)
    assert "kafka" not in found.protocols
    assert found.requests == {}


@pytest.mark.parametrize(
    ("first", "protocol"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), "tls"),
        (b"GET /topics HTTP/1.1\r\nHost: rest\r\n\r\n", "http"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http"),
        (b"PROXY TCP4 10.0.5.7 10.0.0.11 51012 9092\r\n", "proxy"),
        (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12), "proxy"),
        (b"\0\x0aClickHouse client\x15\x0b\xb4\xa9\x03", "other"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "other"),
    ],
)
def test_others_on_the_same_port_are_named(w, read, first, protocol):
    kafka = w.Conversation(client_port=40001).from_client(w.metadata(1)).from_server(w.metadata_answer(1))
    found = read(kafka, w.Conversation(client_port=40002).from_client(first).from_server(b"what comes back"))
    rows = {row["client_port"]: row for row in found.table("connections")}
    assert (rows[40001]["protocol"], rows[40002]["protocol"]) == ("kafka", protocol)
    assert rows[40002]["why"]


@pytest.mark.parametrize("port", [80, 443, 2181, 50001])
def test_kafka_on_odd_ports(w, read, port):
    c = w.Conversation(server_port=port).from_client(w.metadata(1)).from_server(w.metadata_answer(1))
    assert read(c).protocols == ["kafka"]


def test_kafka_that_a_tls_listener_refuses(w, read):
    """A client without TLS at a TLS port: what it asked is seen, and what it was told is no Kafka."""
    api_versions = w.request(18, 0, 0, client_id=b"plain-client")
    alert = bytes.fromhex("15030300020250")
    found = read(w.Conversation(server_port=9096).from_client(api_versions).from_server(alert))
    assert found.protocols == ["kafka"]
    assert found.requests == {0: "unanswered"}
    assert found.reasons == {"tls": len(alert)}
