"""Known answers: RFC 8448 (TLS 1.3), the test vectors of the TLS 1.2 PRF, HKDF of the `cryptography` package."""

import os
import subprocess

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from kafkascope_parsers.tls.ciphers import Aead13
from kafkascope_parsers.tls.key_schedule import hkdf_expand_label, next_traffic_secret, prf, traffic_keys
from kafkascope_parsers.tls.secret import Secret
from kafkascope_parsers.tls.suites import SUITES_13

AES_128 = SUITES_13[0x1301]


def unhex(text):
    return bytes.fromhex(text)


RFC_8448 = {
    "server handshake": (
        "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38",
        "3fce516009c21727d0f2e4e86ee403bc",
        "5d313eb2671276ee13000b30",
    ),
    "client handshake": (
        "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21",
        "dbfaa693d1762c5b666af5d950258d01",
        "5bd3c71b836e0b76bb73265f",
    ),
    "client application": (
        "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
        "17422dda596ed5d9acd890e3c63f5051",
        "5b78923dee08579033e523d9",
    ),
    "server application": (
        "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643",
        "9f02283b6c9c07efc26bb9f2ac92e356",
        "cf782b88dd83549aadf1e984",
    ),
}
"""Section 3, simple 1-RTT handshake: traffic secret, key, IV."""


@pytest.mark.parametrize("name", RFC_8448)
def test_traffic_keys_are_those_of_rfc_8448(name):
    secret, key, iv = map(unhex, RFC_8448[name])
    keys = traffic_keys(AES_128, Secret(secret))
    assert (keys.key.reveal(), keys.iv.reveal()) == (key, iv)


def test_records_of_rfc_8448_open():
    cipher = Aead13(AES_128, traffic_keys(AES_128, Secret(unhex(RFC_8448["client application"][0]))))
    data = memoryview(
        unhex(
            "1703030043a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b395bd54a9a20441e2b62974e1f5a"
            "6292a2977014bd1e3deae63aeebb21694915e4"
        )
    )
    alert = memoryview(unhex("1703030013c9872760655666b74d7ff1153efd6db6d0b0e3"))
    room = memoryview(bytearray(len(data)))
    assert cipher.open(0, data, room) == (23, 50)
    assert bytes(room[:50]) == bytes(range(50))
    assert cipher.open(1, alert, room) == (21, 2)
    assert bytes(room[:2]) == b"\1\0"
    assert cipher.open(0, alert, room)[0] < 0
    assert (cipher.sequence_of(data, 0, 0), cipher.sequence_of(alert, 0, 0)) == (0, 1)


def test_the_prf_of_sha_256():
    secret, seed = unhex("9bbe436ba940f017b17652849a71db35"), unhex("a0ba9f936cda311827a6f796ffd5198c")
    expected = unhex(
        "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af0fa022f7077def17"
        "abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66"
    )
    assert prf("sha256", Secret(secret), b"test label", seed, 100) == expected


@pytest.mark.parametrize(("name", "digest"), [("sha256", "SHA2-256"), ("sha384", "SHA2-384")])
def test_the_prf_is_that_of_openssl(name, digest):
    secret, seed = os.urandom(48), os.urandom(64)
    options = (f"digest:{digest}", f"hexsecret:{secret.hex()}", f"hexseed:{(b'key expansion' + seed).hex()}")
    command = ["openssl", "kdf", "-keylen", "136", *(w for o in options for w in ("-kdfopt", o)), "TLS1-PRF"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert prf(name, Secret(secret), b"key expansion", seed, 136) == unhex(answer.strip().replace(":", ""))


@pytest.mark.parametrize(("name", "algorithm"), [("sha256", hashes.SHA256()), ("sha384", hashes.SHA384())])
@pytest.mark.parametrize("n_bytes", [12, 32, 48, 100])
def test_expansion_is_that_of_hkdf(name, algorithm, n_bytes):
    secret, label = os.urandom(48), b"traffic upd"
    info = n_bytes.to_bytes(2, "big") + bytes([len(b"tls13 " + label)]) + b"tls13 " + label + b"\0"
    made = hkdf_expand_label(name, Secret(secret), label, n_bytes)
    assert made.reveal() == HKDFExpand(algorithm, n_bytes, info).derive(secret)


def test_an_updated_secret_is_as_long_as_the_hash():
    for suite in SUITES_13.values():
        assert len(next_traffic_secret(suite, Secret(bytes(32)))) == {"sha256": 32, "sha384": 48}[suite.hash]
