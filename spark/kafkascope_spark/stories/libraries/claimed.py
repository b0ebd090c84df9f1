"""What an encrypted client seems to run, by the TLS library of its hello and the lengths of its first requests.

It is claimed, never confirmed. Other programs may use a TLS library than the client libraries that are known to. One
of these is left out where ApiVersions, with which it begins, would be longer than the first requests of all
connections. As client ids are of any length, and several clients may be taken for one, lengths say no more than that.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafkascope_parsers.tls.client_libraries import GO, JVM, NODEJS, OPENSSL, PYTHON, RUSTLS
from kafkascope_spark.stories.libraries.library import NEVER, Library
from kafkascope_spark.stories.libraries.registry import LIBRARIES
from kafkascope_spark.stories.model import Connection

_TITLES = {
    JVM: "a JVM",
    OPENSSL: "OpenSSL",
    PYTHON: "Python",
    NODEJS: "Node.js",
    GO: "Go",
    RUSTLS: "rustls",
}
_PLAIN_BYTES, _FLEXIBLE_BYTES = 14, 18
"""Bytes of a request of ApiVersions up to version 2, and from 3 on, beside the client id and the names in it."""
_FLEXIBLE = 3
"""The first version that names the software."""
_VERSION_BYTES = len("1.0.0")
_UNSURE_BYTES = 16
"""Lengths may be wrong by so much where the cipher suite pads."""


class ClaimedSoftware(NamedTuple):
    """What a client seems to run, and the measure that speaks for it."""

    software: str
    why: str


def claimed_software(connections: Iterable[Connection]) -> ClaimedSoftware | None:
    """What the encrypted connections of a client show; None where nothing is known, or they do not agree."""
    encrypted = [each for each in connections if each.n_claimed is not None]
    found = {each.tls_claimed_library for each in encrypted}
    tls_library = next(iter(found)) if len(found) == 1 else None
    if tls_library is None:
        return None
    sizes = [each.claimed_first_bytes for each in encrypted if each.claimed_first_bytes]
    users = [each for each in LIBRARIES if each.tls_library == tls_library]
    fitting = [each for each in users if not sizes or _least_bytes(each) <= max(sizes) + _UNSURE_BYTES]
    others = [each for each in users if each not in fitting]
    return ClaimedSoftware(_words(tls_library, fitting), _why(tls_library, sizes, others))


def _words(tls_library: str, fitting: list[Library]) -> str:
    names = " or ".join(each.shown for each in fitting)
    return f"{_TITLES[tls_library]}{names and f' ({names})'}"


def _why(tls_library: str, sizes: list[int], others: list[Library]) -> str:
    why = f"its TLS hello lists cipher suites in the order of {_TITLES[tls_library]}"
    if not sizes:
        return why
    too_short = f", too few for ApiVersions of {' or '.join(each.shown for each in others)}" if others else ""
    return f"{why}, and the first requests of its connections have up to {max(sizes)} bytes{too_short}"


def _least_bytes(library: Library) -> int:
    """Bytes that its shortest first request has at least; 0 where that need not be ApiVersions."""
    if not library.profiles or any(profile.greets == NEVER or not profile.greetings for profile in library.profiles):
        return 0
    if min(min(profile.greetings) for profile in library.profiles) < _FLEXIBLE:
        return _PLAIN_BYTES
    return _FLEXIBLE_BYTES + min(map(len, library.software_names), default=0) + _VERSION_BYTES
