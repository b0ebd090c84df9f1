"""JA4: a fingerprint of a client's TLS library and its settings, made from the client's hello.

Source: FoxIO's description of JA4 (technical_details/JA4.md, BSD 3-Clause). Other fingerprints of that family have
another licence, and are not made.
"""

from collections.abc import Iterable
from hashlib import sha256

from kafkascope_parsers.tls.hello import Hello
from kafkascope_parsers.tls.suite_names import GREASE

_VERSIONS = {0x0304: "13", 0x0303: "12", 0x0302: "11", 0x0301: "10", 0x0300: "s3", 0x0002: "s2"}
_SERVER_NAME, _ALPN = 0, 16
_MOST = 99
_HASH_LETTERS = 12
_OF_NOTHING = "0" * _HASH_LETTERS


def ja4(hello: Hello) -> str:
    """The fingerprint of a client's whole hello, as `t13d1516h2_8daaf6152771_e5627efa2ab1`."""
    suites, extensions = _without_grease(hello.suites), _without_grease(hello.extensions)
    version = max(_without_grease(hello.versions), default=hello.legacy_version)
    head = "".join(
        (
            "t",
            _VERSIONS.get(version, "00"),
            "d" if _SERVER_NAME in extensions else "i",
            f"{min(len(suites), _MOST):02}{min(len(extensions), _MOST):02}",
            _ends(hello.alpns[0] if hello.alpns else b""),
        )
    )
    counted = sorted(number for number in extensions if number not in (_SERVER_NAME, _ALPN))
    algorithms = _listed(_without_grease(hello.signature_algorithms))
    third = _listed(counted) + (f"_{algorithms}" if algorithms else "")
    return f"{head}_{_hash(_listed(sorted(suites)))}_{_hash(third) if counted else _OF_NOTHING}"


def suites_of(fingerprint: str) -> str:
    """The part of a fingerprint with the version and cipher suites that a client offers. It is the same for all
    connections of a client, while extensions differ if it resumes a session or requests a name."""
    head, suites, _ = fingerprint.split("_", 2)
    return f"{head[1:3]}{head[4:6]}_{suites}"


def _ends(alpn: bytes) -> str:
    """The first and the last letter of a protocol's name; of its hex digits where one of them is no letter or digit."""
    if not alpn:
        return "00"
    if all(chr(byte).isascii() and chr(byte).isalnum() for byte in (alpn[0], alpn[-1])):
        return chr(alpn[0]) + chr(alpn[-1])
    digits = alpn.hex()
    return digits[0] + digits[-1]


def _without_grease(numbers: Iterable[int]) -> list[int]:
    return [number for number in numbers if number not in GREASE]


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(f"{number:04x}" for number in numbers)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_HASH_LETTERS] if text else _OF_NOTHING
