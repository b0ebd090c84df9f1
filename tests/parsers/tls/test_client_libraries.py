"""TLS libraries by the cipher suites of their hellos: of the ssl module, which makes them here, and of others by the
order that their sources have; hellos that were recorded are in test_tls_handshakes.py of ingest."""

import ssl

import pytest

from kafkascope_parsers.tls.client_libraries import tls_library
from kafkascope_parsers.tls.hello import read_hello


def numbers(text):
    return tuple(int(number, 16) for number in text.split())


GO = "c02b c02f c02c c030 cca9 cca8 c009 c013 c00a c014 1301 1302 1303"
GO_1_21 = "c02b c02f c02c c030 cca9 cca8 c009 c013 c00a c014 009c 009d 002f 0035 c012 000a 1301 1302 1303"
JDK_11 = "1301 1302 c02c c02b c030 009d c02e c032 009f 00a3 c02f 009c c02d c031 009e 00a2 c024 c028 00ff"
JDK_17 = "1302 1301 1303 c02c c02b cca9 c030 cca8 c02f 009f ccaa 00a3 009e 00a2 c024 c028 c023 c027 00ff"
RUSTLS = "1302 1301 1303 c02c c02b cca9 c030 c02f cca8 00ff"
OPENSSL = "1302 1303 1301 c02c c030 009f cca9 cca8 ccaa c02b c02f 009e c024 c028 006b c023 c027 0067 00ff"
PYTHON = "1302 1303 1301 c02c c030 c02b c02f cca9 cca8 c024 c028 c023 c027 009f 009e 006b 0067 00ff"
NODE = "1302 1303 1301 c02f c02b c030 c02c 009e c027 0067 c028 006b 00a3 009f cca9 cca8 ccaa 00ff"
CHROME = "0a0a 1301 1302 1303 c02b c02f c02c c030 cca9 cca8 c013 c014 009c 009d 002f 0035"
FIREFOX = "1301 1303 1302 c02b c02f cca9 cca8 c02c c030 c00a c009 c013 c014 009c 009d 002f 0035"
GNUTLS = "1302 1303 1301 1304 c02c cca9 c0ad c00a c02b c0ac c009 c030 cca8 c014 c02f c013 009d 00ff"
LIBRESSL = "1302 1303 1301 c030 c02c c028 c024 c014 c00a 009f 006b 0039 cca9 cca8 00ff"
SCHANNEL = "1302 1301 c02c c02b c030 c02f 009f 009e c024 c023 c028 c027 c00a c009 c014 c013"


@pytest.mark.parametrize(
    ("suites", "expected"),
    [
        (GO, "go"),
        (GO_1_21, "go"),
        (JDK_11, "jvm"),
        (JDK_17, "jvm"),
        (JDK_17.removeprefix("1302 1301 1303 "), "jvm"),
        (RUSTLS, "rustls"),
        (OPENSSL, "openssl"),
        (OPENSSL.removesuffix(" 00ff"), "openssl"),
        (PYTHON, "python"),
        (NODE, "nodejs"),
        *((text, None) for text in (CHROME, FIREFOX, GNUTLS, LIBRESSL, SCHANNEL)),
        ("1302 1303 1301", None),
        ("1301", None),
        ("c02b c02f 1301 1302 00ff", None),
        ("c0ac c02b 1301 1302", None),
        (f"{PYTHON} 1301", None),
    ],
)
def test_the_order_of_suites_is_that_of_one_library_or_of_none(suites, expected):
    assert tls_library(numbers(suites)) == expected


def test_a_hello_without_suites_shows_nothing():
    assert tls_library(()) is None


def test_every_single_change_of_an_order_is_the_same_library_or_none():
    """Two suites that change places never make one library of another."""
    for text, name in ((GO, "go"), (JDK_17, "jvm"), (RUSTLS, "rustls"), (OPENSSL, "openssl"), (PYTHON, "python")):
        suites = numbers(text)
        for at in range(len(suites) - 1):
            changed = (*suites[:at], suites[at + 1], suites[at], *suites[at + 2 :])
            assert tls_library(changed) in {name, None}


@pytest.mark.parametrize(("ciphers", "expected"), [(None, "python"), ("DEFAULT", "openssl"), ("AES128-SHA", None)])
def test_hellos_of_the_ssl_module(ciphers, expected):
    context = ssl.create_default_context()
    if ciphers is not None:
        context.set_ciphers(ciphers)
    out = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="broker").do_handshake()
    assert tls_library(read_hello(out.read()).suites) == expected
