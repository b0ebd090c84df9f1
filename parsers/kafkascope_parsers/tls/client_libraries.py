"""Guesses the TLS library of a client by the cipher suites of its hello and their order.

The result is claimed, never confirmed. Each library lists the suites that it offers by default in an order of its own,
which changes less from release to release than the suites do. A client whose settings name suites is not recognised.

Sources: `crypto/tls` of Go (handshake_client.go puts the suites of TLS 1.3 behind the others, cipher_suites.go has all
that it implements); sun.security.ssl.CipherSuite of the JDK; TLS_DEFAULT_CIPHERSUITES and the default order of OpenSSL
(by strength, and of equal ones ECDSA before RSA before DHE); PY_SSL_DEFAULT_CIPHER_STRING of CPython from 3.10 on;
DEFAULT_CIPHER_LIST of Node.js; ALL_CIPHER_SUITES of rustls.
"""

from collections.abc import Sequence

from kafkascope_parsers.tls.suite_names import GREASE

JVM, OPENSSL, PYTHON, NODEJS, GO, RUSTLS = "jvm", "openssl", "python", "nodejs", "go", "rustls"
TLS_LIBRARIES = (JVM, OPENSSL, PYTHON, NODEJS, GO, RUSTLS)

_AES_128, _AES_256, _CHACHA = 0x1301, 0x1302, 0x1303
_SUITES_13 = frozenset({_AES_128, _AES_256, _CHACHA})
_NO_RENEGOTIATION = 0x00FF
"""TLS_EMPTY_RENEGOTIATION_INFO_SCSV."""
_DHE_DSS = 0x00A3
"""TLS_DHE_DSS_WITH_AES_256_GCM_SHA384, which of these libraries only the JVM offers by default beside Node.js."""
_OF_GO = frozenset(
    {0x0005, 0x000A, 0x002F, 0x0035, 0x003C, 0x009C, 0x009D, 0xC007, 0xC009, 0xC00A, 0xC011, 0xC012, 0xC013, 0xC014}
    | {0xC023, 0xC027, 0xC02B, 0xC02C, 0xC02F, 0xC030, 0xCCA8, 0xCCA9}
)
"""The suites that Go implements besides those of TLS 1.3."""
_OF_RUSTLS = frozenset({0xC02C, 0xC02B, 0xCCA9, 0xC030, 0xC02F, 0xCCA8})
_AFTER_13 = {
    OPENSSL: (0xC02C, 0xC030, 0x009F, 0xCCA9, 0xCCA8),
    PYTHON: (0xC02C, 0xC030, 0xC02B, 0xC02F, 0xCCA9, 0xCCA8),
    NODEJS: (0xC02F, 0xC02B, 0xC030, 0xC02C, 0x009E),
}
"""The first suites of TLS 1.2 in the lists of programs with OpenSSL, by the program whose default it is."""


def tls_library(suites: Sequence[int]) -> str | None:
    """The library that offers the cipher suites of a hello by default, one of TLS_LIBRARIES; None if no known one does.
    suites: in the order of the hello."""
    offered = [number for number in suites if number not in GREASE]
    before = [number for number in offered if number not in _SUITES_13 and number != _NO_RENEGOTIATION]
    if not before or len(set(offered)) != len(offered):
        return None
    of_13 = tuple(number for number in offered if number in _SUITES_13)
    if of_13 and set(offered[-len(of_13) :]) == set(of_13):
        return GO if _OF_GO.issuperset(before) and _NO_RENEGOTIATION not in offered else None
    if tuple(offered[: len(of_13)]) != of_13:
        return None
    if of_13 == (_AES_256, _CHACHA, _AES_128):
        return next((name for name, first in _AFTER_13.items() if tuple(before[: len(first)]) == first), None)
    return _in_order_of_strength(offered, of_13, before)


def _in_order_of_strength(offered: list[int], of_13: tuple[int, ...], before: list[int]) -> str | None:
    """Recognizes the JVM and rustls, which list the suites of one kind of key by strength, and end with the one that
    means that they do not renegotiate."""
    if offered[-1] != _NO_RENEGOTIATION or tuple(before[:2]) != (0xC02C, 0xC02B):
        return None
    if of_13 == (_AES_256, _AES_128, _CHACHA) and _OF_RUSTLS.issuperset(before):
        return RUSTLS
    known = ((_AES_256, _AES_128, _CHACHA), (_AES_128, _AES_256, _CHACHA), (_AES_128, _AES_256), ())
    return JVM if of_13 in known and _DHE_DSS in before else None
