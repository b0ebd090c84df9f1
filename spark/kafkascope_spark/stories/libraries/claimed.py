"""Guesses the software of an encrypted client from the TLS library of its hello and the lengths of its first requests.

The result is never confirmed: other programs than the known client libraries may use the same TLS library. A client
library is excluded if its first request, ApiVersions, would be longer than the first requests of all connections.
Lengths show no more than that, because client ids have any length, and several clients may count as one.
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
"""Bytes of an ApiVersions request up to version 2, and from version 3 on, without the client id and the software
names."""
_FLEXIBLE = 3
"""First version with the software name."""
_VERSION_BYTES = len("1.0.0")
_UNSURE_BYTES = 16
"""Largest error of lengths with cipher suites that pad."""


class ClaimedSoftware(NamedTuple):
    """Guessed software of a client, and the evidence."""

    software: str
    why: str


def claimed_software(connections: Iterable[Connection]) -> ClaimedSoftware | None:
    """Returns the software that the encrypted connections of a client show; None if nothing is known or they
    disagree."""
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
    """Returns the least length in bytes of the library's first request; 0 if that need not be ApiVersions."""
    if not library.profiles or any(profile.greets == NEVER or not profile.greetings for profile in library.profiles):
        return 0
    if min(min(profile.greetings) for profile in library.profiles) < _FLEXIBLE:
        return _PLAIN_BYTES
    return _FLEXIBLE_BYTES + min(map(len, library.software_names), default=0) + _VERSION_BYTES
