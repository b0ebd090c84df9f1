"""JA4 of the hello by which FoxIO's description of it explains each step (technical_details/JA4.md)."""

import pytest

from kafkascope_parsers.tls.hello import Hello
from kafkascope_parsers.tls.ja4 import ja4


def numbers(text):
    return tuple(int(number, 16) for number in text.split(","))


SUITES = numbers("1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035")
EXTENSIONS = numbers("001b,0000,0033,0010,4469,0017,002d,000d,0005,0023,0012,002b,ff01,000b,000a,0015")
ALGORITHMS = numbers("0403,0804,0401,0503,0805,0501,0806,0601")


def hello(**changes):
    values = {
        "legacy_version": 0x0303,
        "versions": (0x0A0A, 0x0304, 0x0303),
        "suites": (0x3A3A, *SUITES),
        "extensions": (0xCACA, *EXTENSIONS, 0x5A5A),
        "signature_algorithms": ALGORITHMS,
        "alpns": (b"h2", b"http/1.1"),
    }
    return Hello(True, is_whole=True, **(values | changes))


def test_the_hello_of_the_description():
    assert ja4(hello()) == "t13d1516h2_8daaf6152771_e5627efa2ab1"


def test_without_signature_algorithms():
    assert ja4(hello(signature_algorithms=())).endswith("_6d807ffa2a79")


@pytest.mark.parametrize(
    ("alpn", "shown"),
    [
        (b"http/1.1", "h1"),
        (b"\xab", "ab"),
        (b"\xab\xcd", "ad"),
        (b"\x30\xab", "3b"),
        (b"\x30\x31\xab\xcd", "3d"),
        (b"\x30\xab\xcd\x31", "01"),
        (b"h", "hh"),
        (b"", "00"),
    ],
)
def test_first_and_last_letter_of_the_protocol(alpn, shown):
    assert ja4(hello(alpns=(alpn,)))[8:10] == shown


def test_what_is_not_there():
    assert ja4(hello(versions=(), suites=(), extensions=(), alpns=())) == "t12i000000_000000000000_000000000000"
    assert ja4(hello(versions=(), legacy_version=0x7777, suites=range(0x2000, 0x2100))).startswith("t00d9916h2_")
