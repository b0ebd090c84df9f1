"""Reads certificates: subject, issuer, validity, and size of the key.

The bytes come from the network, so any of them may be wrong. X.509 is read by `cryptography`, which is loaded for the
first certificate. Sources: RFC 5280 (certificates), RFC 5246 and RFC 8446 (lists of them in handshakes).
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

CERTIFICATE_LIMIT = 32_768
"""Longest certificate that is read: usual ones have one to three kB, those with hundreds of names some ten."""
CHAIN_LIMIT = 16
"""Certificates of a list that are read; chains have two to four."""
NAME_LIMIT = 100
"""Names of a certificate that are kept: public authorities sign a hundred at most."""
TEXT_LIMIT = 512
"""Characters of a name that are kept."""
REMEMBERED = 256
"""Certificates whose facts are remembered, because brokers send the same ones on each connection."""
_LENGTH = 3
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """The facts of a certificate. subject, issuer: as RFC 4514 writes names; names: host names and addresses it is for
    (subjectAltName), in its order; not_before_ns, not_after_ns: since the epoch, None if they are before 1970 or after
    2099 (no end); key_type: rsa, ec, dsa, ed25519, ed448; key_bits: its size. None: not known.
    """

    subject: str | None
    issuer: str | None
    names: tuple[str, ...]
    not_before_ns: int | None
    not_after_ns: int | None
    key_type: str | None
    key_bits: int | None


def certificate_list(body: bytes, *, is_13: bool) -> list[bytes]:
    """The certificates (DER) of a Certificate message with that body, that of its sender first; empty if it sends none,
    or if the message is broken."""
    at = 1 + body[0] if is_13 and body else 0
    end = at + _LENGTH + int.from_bytes(body[at : at + _LENGTH], "big")
    return list(_certificates(body[:end], at + _LENGTH, 2 if is_13 else 0))


def _certificates(body: bytes, at: int, length_of_extensions: int) -> Iterator[bytes]:
    for _ in range(CHAIN_LIMIT):
        begin = at + _LENGTH
        at = begin + int.from_bytes(body[at:begin], "big")
        if begin >= len(body) or at > len(body):
            return
        yield body[begin:at]
        at += length_of_extensions + int.from_bytes(body[at : at + length_of_extensions], "big")


@lru_cache(maxsize=REMEMBERED)
def read_certificate(der: bytes) -> CertificateFacts | None:
    """The facts of a certificate; None if the bytes are not a certificate."""
    if len(der) > CERTIFICATE_LIMIT:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cryptography warns of certificates that violate RFC 5280
        return _read(der)


def _read(der: bytes) -> CertificateFacts | None:
    from cryptography import x509

    try:
        certificate = x509.load_der_x509_certificate(der)
        times = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    except (ValueError, x509.InvalidVersion):
        return None
    key_type, key_bits = _key(certificate)
    return CertificateFacts(
        _name(certificate, "subject"),
        _name(certificate, "issuer"),
        tuple(_names(certificate)),
        _ns(times[0]),
        _ns(times[1]),
        key_type,
        key_bits,
    )


def _name(certificate: "x509.Certificate", which: str) -> str | None:
    try:
        return _shown(getattr(certificate, which).rfc4514_string())
    except (ValueError, TypeError):
        return None


def _names(certificate: "x509.Certificate") -> list[str]:
    """The host names and addresses in a certificate."""
    from cryptography import x509

    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = extension.get_values_for_type(x509.DNSName)[:NAME_LIMIT]
        addresses = extension.get_values_for_type(x509.IPAddress)[:NAME_LIMIT]
    except (ValueError, TypeError, x509.DuplicateExtension, x509.ExtensionNotFound, x509.UnsupportedGeneralNameType):
        return []
    shown = dict.fromkeys(_shown(str(name)) for name in (*names, *addresses))
    return [name for name in shown if name][:NAME_LIMIT]


def _key(certificate: "x509.Certificate") -> tuple[str | None, int | None]:
    """The type of a certificate's key, and its size in bits."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa

    try:
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None, None
    for name, kind in (("rsa", rsa.RSAPublicKey), ("ec", ec.EllipticCurvePublicKey), ("dsa", dsa.DSAPublicKey)):
        if isinstance(key, kind):
            return name, key.key_size
    if isinstance(key, ed25519.Ed25519PublicKey):
        return "ed25519", 256
    return ("ed448", 456) if isinstance(key, ed448.Ed448PublicKey) else (None, None)


def _ns(time: datetime) -> int | None:
    """A time in nanoseconds since the epoch; None outside of the range of times."""
    return int(time.timestamp()) * 10**9 if _EARLIEST <= time < _LATEST else None


def _shown(text: str) -> str | None:
    """A text without characters that control a terminal, cut if it is long."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:TEXT_LIMIT]) or None
