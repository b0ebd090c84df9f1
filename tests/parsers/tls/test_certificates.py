"""Certificates made by OpenSSL through `cryptography`, and hostile bytes."""

import datetime
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.tls.certificates import NAME_LIMIT, TEXT_LIMIT, certificate_list, read_certificate

BEGIN = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
NS = 1_000_000_000


def made(key=None, subject="broker-1", names=("broker-1.test", "*.prod.test"), until=None):
    key = key or ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Example"),
            x509.NameAttribute(x509.NameOID.COMMON_NAME, subject),
        ]
    )
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test Authority")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(BEGIN)
    builder = builder.not_valid_after(until or BEGIN + datetime.timedelta(days=90))
    every = [*map(x509.DNSName, names), x509.IPAddress(ipaddress.ip_address("10.0.0.1"))]
    builder = builder.add_extension(x509.SubjectAlternativeName(every), critical=False)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.DER)


def message(*certificates, is_13=False):
    """A Certificate message of TLS 1.2, or of TLS 1.3 (with an extension of two bytes behind each)."""
    listed = b"".join(len(c).to_bytes(3, "big") + c + (b"\0\2xx" if is_13 else b"") for c in certificates)
    return (b"\0" if is_13 else b"") + len(listed).to_bytes(3, "big") + listed


def test_what_a_certificate_says():
    facts = read_certificate(made())
    assert facts.subject == "CN=broker-1,O=Example"
    assert facts.issuer == "CN=Test Authority"
    assert facts.names == ("broker-1.test", "*.prod.test", "10.0.0.1")
    assert facts.not_before_ns == int(BEGIN.timestamp()) * NS
    assert facts.not_after_ns == int((BEGIN + datetime.timedelta(days=90)).timestamp()) * NS
    assert (facts.key_type, facts.key_bits) == ("ec", 256)


def test_kinds_of_keys():
    for key, shown in (
        (rsa.generate_private_key(65537, 1024), ("rsa", 1024)),
        (ec.generate_private_key(ec.SECP384R1()), ("ec", 384)),
        (ed25519.Ed25519PrivateKey.generate(), ("ed25519", 256)),
    ):
        facts = read_certificate(made(key))
        assert (facts.key_type, facts.key_bits) == shown


def test_limits():
    without_end = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)
    names = [f"broker-{n}.test" for n in range(NAME_LIMIT + 20)]
    facts = read_certificate(made(names=names, subject="\x1b]0;title" + "x" * 50, until=without_end))
    assert facts.not_after_ns is None
    assert facts.names == tuple(names[:NAME_LIMIT])
    assert facts.subject.isprintable()
    assert len(facts.subject) <= TEXT_LIMIT
    assert read_certificate(made() + bytes(40_000)) is None


@pytest.mark.parametrize("is_13", [False, True])
def test_lists(is_13):
    one, two = made(), made()
    assert certificate_list(message(one, two, is_13=is_13), is_13=is_13) == [one, two]
    assert certificate_list(message(is_13=is_13), is_13=is_13) == []
    assert certificate_list(message(one, two, is_13=is_13)[:-50], is_13=is_13) == [one]


def test_what_is_not_allowed_makes_no_noise(recwarn):
    """A serial number of zero, which RFC 5280 forbids: DER of the integer 7 is 02 01 07."""
    raw = made()
    assert raw.count(b"\x02\x01\x07") == 1
    assert read_certificate(raw.replace(b"\x02\x01\x07", b"\x02\x01\x00")).subject == "CN=broker-1,O=Example"
    assert not recwarn.list


WHOLE = made()


@given(st.binary(max_size=20), st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE)), st.booleans())
def test_spoilt_ones_end(noise, at, keep, is_13):
    raw = bytearray(WHOLE)
    raw[at : at + len(noise)] = noise
    read_certificate(bytes(raw[:keep]))
    for found in certificate_list(bytes(raw[:keep]), is_13=is_13):
        assert found in bytes(raw)
