"""TLS hellos made by Python's own TLS library."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.tls.hello import read_hello


def client_hello(name, **more):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if "alpn" in more:
        context.set_alpn_protocols(more["alpn"])
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    out = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    return out.read()


def server_hello(version, *extensions):
    """As RFC 8446, section 4.1.3, writes it."""
    body = version + bytes(32) + b"\0" + b"\x13\x01" + b"\0"
    tail = b"".join(kind.to_bytes(2, "big") + len(c).to_bytes(2, "big") + c for kind, c in extensions)
    body += len(tail).to_bytes(2, "big") + tail
    message = b"\2" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\3" + len(message).to_bytes(2, "big") + message


def shown(data):
    """Who speaks, the version, the names."""
    hello = read_hello(data)
    return hello.is_client, hello.version, hello.sni, hello.alpn


def test_the_name_that_a_client_asks_for():
    assert shown(client_hello("kafka-1.example")) == (True, None, "kafka-1.example", None)
    assert shown(client_hello(None)) == (True, None, None, None)


def test_what_a_server_chose():
    assert shown(server_hello(b"\3\3", (43, b"\3\4"))) == (False, "TLSv1.3", None, None)
    assert shown(server_hello(b"\3\3", (16, b"\0\3\2h2"))) == (False, "TLSv1.2", None, "h2")
    assert shown(server_hello(b"\3\1")) == (False, "TLSv1", None, None)


def test_a_hello_in_two_records():
    whole = client_hello("kafka-1.example")
    message = whole[5:]
    cut = b"".join(b"\x16\3\1" + len(p).to_bytes(2, "big") + p for p in (message[:60], message[60:]))
    assert shown(cut) == (True, None, "kafka-1.example", None)


@given(st.binary(max_size=100), st.integers(0, 600), st.integers(0, 600))
def test_spoilt_hellos_end(noise, at, keep):
    raw = bytearray(server_hello(b"\3\3", (43, b"\3\4"), (16, b"\0\3\2h2")))
    raw[at : at + len(noise)] = noise
    hello = read_hello(bytes(raw[:keep]))
    assert hello is None or hello.sni is None or hello.sni.isprintable()


def test_other_bytes_are_none():
    assert read_hello(b"") is None
    assert read_hello(b"\0\0\0\x14\0\x12\0\3") is None
    assert read_hello(b"\x15\3\3\0\2\2\x46") is None  # an alert
